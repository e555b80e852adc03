// The admission webhooks of virt-api as HTTP routes: one row a path. Reads the facts a decision needs, lets pure functions decide, answers
// with a review. A failure of ours denies with code 500 and a log line; nothing here writes to the cluster.
import type { KubeObject, VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { type Clock, metaTime } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import type { Handler, HttpRequest, HttpResponse, Route } from '../http/index.js';
import type { KubeClient } from '../runtime/types.js';
import { type AdmissionFacts, createFacts } from './facts.js';
import { dataSourcesOf, mutateVm } from './mutate/vm.js';
import { mutateVmiCreate, mutateVmiUpdate } from './mutate/vmi.js';
import {
  type AdmissionRequest,
  type AdmissionResponse,
  faultAnswer,
  mutationResponse,
  parseReview,
  responseOf,
  reviewAnswer,
} from './review.js';
import { isNodeAgent, isOwnAccount } from './service-accounts.js';
import { createStructuralCheck, type StructuralCheck } from './structural.js';
import { admitVm, admitVmStatus, type VmRequest } from './validate/vm/admit.js';
import { admitVmiCreate, admitVmiUpdate } from './validate/vmi/admit.js';
import { refuse, structuralVerdict } from './verdict.js';

export interface WebhookDeps {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly installNamespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly randomUuid: () => string;
}

interface Context extends WebhookDeps {
  readonly facts: AdmissionFacts;
  readonly structural: StructuralCheck;
}

type Admitter = (request: AdmissionRequest, context: Context) => Promise<AdmissionResponse> | AdmissionResponse;

const VM = { resource: 'virtualmachines', kind: 'VirtualMachine' } as const;
const VMI = { resource: 'virtualmachineinstances', kind: 'VirtualMachineInstance' } as const;
const VERSIONS = ['v1', 'v1alpha3'];
const NODE_NAME_EXTRA = 'authentication.kubernetes.io/node-name';

const own = (request: AdmissionRequest, context: Context): boolean => isOwnAccount(request.userInfo.username, context.installNamespace);

/** Only for requests about the given kind; the object's structure is checked and its required scalars filled in. */
function about(
  kind: typeof VM | typeof VMI,
  decide: (object: KubeObject, request: AdmissionRequest, context: Context) => Promise<AdmissionResponse> | AdmissionResponse,
): Admitter {
  return (request, context) => {
    const { group, version, resource } = request.resource;
    if (group !== 'kubevirt.io' || resource !== kind.resource || !VERSIONS.includes(version)) {
      return responseOf(refuse(`expect resource to be '${kind.resource}'`));
    }
    const { object } = request;
    if (!object) return responseOf(refuse(`the ${request.operation} request carries no object`));
    const structure = structuralVerdict(context.structural.problems(kind.kind, object));
    if (!structure.allowed) return responseOf(structure);
    return decide(context.structural.completed(kind.kind, object), request, context);
  };
}

const oldOf = <T extends KubeObject>(request: AdmissionRequest): T | undefined =>
  request.operation === 'UPDATE' ? (request.oldObject as T | undefined) : undefined;

async function vmRequest(vm: VirtualMachine, request: AdmissionRequest, context: Context): Promise<VmRequest> {
  const namespace = vm.metadata.namespace ?? request.namespace ?? '';
  const asked = vm.status?.ready === true && (vm.status.volumeRequests ?? []).length > 0;
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
  const old = request.oldObject as VirtualMachineInstance | undefined;
  if (!old) return responseOf(refuse('the UPDATE request carries no old object'));
  const nodeName = request.userInfo.extra?.[NODE_NAME_EXTRA]?.[0];
  const who = { isOwnAccount: own(request, context), isNodeAgent: isNodeAgent(request.userInfo.username, context.installNamespace) };
  const update = { vmi: object as VirtualMachineInstance, old, ...who, ...(nodeName ? { nodeName } : {}) };
  return responseOf(admitVmiUpdate(update, context.config()));
});

const mutateMachine = about(VM, async (object, request, context) => {
  const vm = object as VirtualMachine;
  const namespace = vm.metadata.namespace ?? request.namespace ?? '';
  const labels = await context.facts.dataSourceLabels(dataSourcesOf(vm, namespace)).catch((err: unknown) => {
    // The architecture then is the cluster's default, as for a template without DataSources.
    context.log.warn({ kind: 'VirtualMachine', namespace, name: vm.metadata.name, err: messageOf(err) }, 'Cannot read DataSources');
    return new Map<string, Readonly<Record<string, string>>>();
  });
  const mutation = mutateVm(vm, context.config(), {
    creating: request.operation === 'CREATE',
    namespace,
    randomUuid: context.randomUuid,
    labelsOf: (ns, name) => labels.get(`${ns}/${name}`),
  });
  return mutationResponse(mutation, request.object ?? vm);
});

const mutateInstance = about(VMI, async (object, request, context) => {
  const vmi = object as VirtualMachineInstance;
  const before = request.object ?? vmi;
  const old = oldOf<VirtualMachineInstance>(request);
  if (old) return mutationResponse(mutateVmiUpdate(before as VirtualMachineInstance, old, own(request, context)), before);
  if (request.operation !== 'CREATE') return { allowed: true };
  const mutation = mutateVmiCreate(vmi, context.config(), {
    presets: await context.facts.presets(vmi.metadata.namespace ?? request.namespace ?? ''),
    now: metaTime(context.clock.now()),
    randomUuid: context.randomUuid,
  });
  return mutationResponse(mutation, before);
});

const validateStatus: Admitter = async (request, context) => {
  if (!request.object) return responseOf(refuse('the request carries no object'));
  if (request.resource.resource !== VM.resource) return { allowed: true };
  return responseOf(admitVmStatus(await vmRequest(request.object as VirtualMachine, request, context), context.config()));
};

const ADMITTERS: Readonly<Record<string, Admitter>> = {
  '/virtualmachines-mutate': mutateMachine,
  '/virtualmachineinstances-mutate': mutateInstance,
  '/virtualmachines-validate': validateVm,
  '/virtualmachineinstances-validate-create': validateVmiCreate,
  '/virtualmachineinstances-validate-update': validateVmiUpdate,
  '/status-validate': validateStatus,
};

/** Serves one admitter whatever arrives; shared with virt-operator's own webhooks. */
export function reviewHandler(
  admit: (request: AdmissionRequest) => Promise<AdmissionResponse> | AdmissionResponse,
  log: Logger,
): Pick<Route, 'handler' | 'onBodyFault'> {
  const handler: Handler = async (http: HttpRequest): Promise<HttpResponse> => {
    const parsed = parseReview(http);
    if (!parsed.ok) {
      log.warn({ path: http.path, reason: parsed.error.message }, 'Refusing a malformed admission review');
      return faultAnswer(parsed.error);
    }
    const request = parsed.value;
    try {
      return reviewAnswer(request.uid, await admit(request));
    } catch (err) {
      const { namespace, name } = request;
      log.error({ err, path: http.path, namespace, name }, 'Admission failed');
      return faultAnswer({
        uid: request.uid,
        message: `admission of ${namespace ?? ''}/${name ?? ''} failed: ${messageOf(err)}`,
        code: 500,
      });
    }
  };
  return { handler, onBodyFault: ({ status, message }) => faultAnswer({ uid: '', message, code: status }) };
}

export function webhookRoutes(deps: WebhookDeps): Route[] {
  const context: Context = { ...deps, facts: createFacts(deps.client, deps.clock, deps.log), structural: createStructuralCheck() };
  return Object.entries(ADMITTERS).map(([path, admitter]) => ({
    method: 'POST',
    path,
    ...reviewHandler((request) => admitter(request, context), deps.log),
  }));
}
