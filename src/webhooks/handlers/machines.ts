// The handlers of the two kinds that everything is about: VirtualMachine and VirtualMachineInstance, mutation and validation.
import { FINALIZER, isDeleting, OBSERVED_API_VERSION, type VirtualMachine, type VirtualMachineInstance } from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { ok, type Result } from '../../base/result.js';
import { matcherCauses } from '../mutate/matchers.js';
import { dataSourcesOf, mutateVm } from '../mutate/vm.js';
import { mutateVmiCreate, mutateVmiUpdate } from '../mutate/vmi.js';
import { type AdmissionRequest, mutationResponse, responseOf } from '../review.js';
import { isNodeAgent } from '../service-accounts.js';
import { admitVm, admitVmStatus, type VmRequest } from '../validate/vm/admit.js';
import { admitVmiCreate, admitVmiUpdate } from '../validate/vmi/admit.js';
import { refuse, structuralVerdict } from '../verdict.js';
import { type Admitter, about, type Context, type Kind, namespaceOf, oldOf, own, storedFault } from './context.js';

const CORE = { group: 'kubevirt.io', versions: ['v1', 'v1alpha3'] } as const;
const VM: Kind = { ...CORE, resource: 'virtualmachines', kind: 'VirtualMachine' };
const VMI: Kind = { ...CORE, resource: 'virtualmachineinstances', kind: 'VirtualMachineInstance' };
const NODE_NAME_EXTRA = 'authentication.kubernetes.io/node-name';

const asksForVolumes = (vm: VirtualMachine): boolean => (vm.status?.volumeRequests ?? []).length > 0;

async function vmRequest(vm: VirtualMachine, request: AdmissionRequest, context: Context): Promise<VmRequest> {
  const namespace = namespaceOf(vm, request);
  const asked = vm.status?.ready === true && asksForVolumes(vm);
  const vmi = asked ? await context.facts.vmi(namespace, vm.metadata.name ?? '') : undefined;
  const old = oldOf<VirtualMachine>(request);
  return { vm, ...(old ? { old } : {}), ...(vmi ? { vmi } : {}), namespace, isOwnAccount: own(request, context) };
}

const validateVm = about(VM, async (object, request, context) => {
  const asked = await vmRequest(object as VirtualMachine, request, context);
  const chosen = await context.facts.chosen(asked.vm, asked.namespace);
  return responseOf(admitVm({ ...asked, chosen }, context.config()));
});

const validateVmiCreate = about(VMI, (object, request, context) =>
  responseOf(admitVmiCreate(object as VirtualMachineInstance, context.config(), own(request, context))),
);

const validateVmiUpdate = about(VMI, (object, request, context) => {
  const old = oldOf<VirtualMachineInstance>(request);
  if (!old) return responseOf(refuse(`${request.operation} requests are not judged here: only UPDATE`));
  const nodeName = request.userInfo.extra?.[NODE_NAME_EXTRA]?.[0];
  const who = { isOwnAccount: own(request, context), isNodeAgent: isNodeAgent(request.userInfo.username, context.installNamespace) };
  const update = { vmi: object as VirtualMachineInstance, old, ...who, ...(nodeName ? { nodeName } : {}) };
  return responseOf(admitVmiUpdate(update, context.config()));
});

/** With the status that will count: a mutating webhook sees what the client sent, which the API server drops. */
function asStored({ status: _, ...vm }: VirtualMachine, old: VirtualMachine | undefined): VirtualMachine {
  return old?.status ? { ...vm, status: old.status } : vm;
}

/** References that are not sound are refused later, together with what else is wrong with them. */
async function withInferred(vm: VirtualMachine, request: AdmissionRequest, context: Context): Promise<Result<VirtualMachine, string>> {
  if (isDeleting(vm) || matcherCauses(vm, oldOf<VirtualMachine>(request)).length > 0) return ok(vm);
  return context.facts.inferred(vm, namespaceOf(vm, request));
}

/**
 * What the VM controller would write as the first thing: from its first moment a VM then holds its guest's end, and one write and one round
 * are saved. The controller still does it where this webhook was not asked.
 */
function marked(vm: VirtualMachine): VirtualMachine {
  const { finalizers = [], annotations } = vm.metadata;
  const metadata = {
    finalizers: [...new Set([...finalizers, FINALIZER.vmController])],
    annotations: { ...annotations, ...OBSERVED_API_VERSION },
  };
  return { ...vm, metadata: { ...vm.metadata, ...metadata } };
}

const mutateMachine = about(VM, async (object, request, context) => {
  const given = await withInferred(object as VirtualMachine, request, context);
  if (!given.ok) return responseOf(refuse(given.error));
  const vm = given.value;
  const namespace = namespaceOf(vm, request);
  const labels = await context.facts.dataSourceLabels(dataSourcesOf(vm, namespace)).catch((err: unknown) => {
    // The architecture then is the cluster's default, as for a template without DataSources.
    context.log.warn({ kind: 'VirtualMachine', namespace, name: vm.metadata.name, err: messageOf(err) }, 'Cannot read DataSources');
    return new Map<string, Readonly<Record<string, string>>>();
  });
  const old = oldOf<VirtualMachine>(request);
  const preference = vm.spec.preference ? await context.facts.preference(asStored(vm, old), namespace) : undefined;
  const mutation = mutateVm(vm, context.config(), {
    ...(old ? { old } : {}),
    ...(preference ? { preference } : {}),
    creating: request.operation === 'CREATE',
    namespace,
    randomUuid: context.randomUuid,
    labelsOf: (ns, name) => labels.get(`${ns}/${name}`),
  });
  const isNew = 'object' in mutation && request.operation === 'CREATE';
  return mutationResponse(isNew ? { ...mutation, object: marked(mutation.object) } : mutation, request.object ?? vm);
});

/** A status is what KubeVirt's components say; a user who sends one, as a backup restored by hand does, starts without. */
function withoutStatus({ status: _, ...vmi }: VirtualMachineInstance): VirtualMachineInstance {
  return vmi;
}

const mutateInstance = about(VMI, async (object, request, context) => {
  const vmi = object as VirtualMachineInstance;
  const before = request.object ?? vmi;
  const old = oldOf<VirtualMachineInstance>(request);
  if (old) return mutationResponse(mutateVmiUpdate(before as VirtualMachineInstance, old, own(request, context)), before);
  if (request.operation !== 'CREATE') return { allowed: true };
  const mutation = mutateVmiCreate(own(request, context) ? vmi : withoutStatus(vmi), context.config(), {
    presets: await context.facts.presets(namespaceOf(vmi, request)),
    now: metaTime(context.clock.now()),
    randomUuid: context.randomUuid,
  });
  return mutationResponse(mutation, before);
});

/** Kinds whose status is checked when it is written by itself. */
const WITH_STATUS: Readonly<Record<string, string>> = {
  virtualmachines: VM.kind,
  virtualmachineinstancereplicasets: 'VirtualMachineInstanceReplicaSet',
  virtualmachineinstancemigrations: 'VirtualMachineInstanceMigration',
};

/** The spec is not part of the request, unless volumes shall be added to it: a VM that is not sound any more must still be able to say so. */
const validateStatus: Admitter = async (request, context) => {
  const { object, operation } = request;
  const kind = WITH_STATUS[request.resource.resource];
  if (request.resource.group !== CORE.group || !kind)
    return responseOf(refuse(`the status of ${request.resource.resource} is not checked here`));
  if (!object) return responseOf(refuse(`the ${operation} request carries no object`));
  const types = structuralVerdict(context.structural.storedProblems(kind, object));
  if (!types.allowed || kind !== VM.kind) return responseOf(types);
  const structure = asksForVolumes(object as VirtualMachine) ? structuralVerdict(context.structural.problems(kind, object)) : types;
  if (!structure.allowed) return responseOf(structure);
  const stored = operation === 'UPDATE' ? storedFault(kind, request, context) : undefined;
  if (stored) return responseOf(stored);
  const vm = context.structural.completed(kind, object) as VirtualMachine;
  return responseOf(admitVmStatus(await vmRequest(vm, request, context), context.config()));
};

export const MACHINES: Readonly<Record<string, Admitter>> = {
  '/virtualmachines-mutate': mutateMachine,
  '/virtualmachineinstances-mutate': mutateInstance,
  '/virtualmachines-validate': validateVm,
  '/virtualmachineinstances-validate-create': validateVmiCreate,
  '/virtualmachineinstances-validate-update': validateVmiUpdate,
  '/status-validate': validateStatus,
};
