// Handlers of memorydump and removememorydump: they record the wish in the VM's status; the controllers carry it out.
import { hasCode } from '../base/errors.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { fsOverhead } from '../core/storage/filesystem-overhead.js';
import { empty, type Handler, type HttpRequest, type HttpResponse } from '../http/index.js';
import { PERSISTENT_VOLUME_CLAIMS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { type ApplyDeps, applySteps } from './apply-steps.js';
import { decideMemoryDump, decideRemoveMemoryDump, dumpClaim, dumpClaimRefusal, dumpVmiRefusal } from './decide-memory-dump.js';
import type { Decision } from './decide-vm.js';
import { gateRefusal } from './decide-volumes.js';
import { answering, keyOf, nameOf } from './handling.js';
import { MEMORY_DUMP_FIELDS, parseOptions } from './options.js';
import { badRequest, notFound, type StatusError, statusAnswer } from './status.js';

export interface MemoryDumpDeps extends ApplyDeps {
  readonly config: () => ClusterConfig;
}

const CDI_CONFIG_PATH = '/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config';

/** Clusters without CDI have no such object, and often no right to read it. */
async function cdiConfig(client: KubeClient): Promise<unknown> {
  try {
    return await client.raw('GET', CDI_CONFIG_PATH);
  } catch (err) {
    if (hasCode(err, 'NotFound', 'Forbidden')) return undefined;
    throw err;
  }
}

async function claimRefusal({ client }: MemoryDumpDeps, request: HttpRequest, claimName: string): Promise<StatusError | undefined> {
  const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
  if (!vmi) return notFound('virtualmachineinstance', nameOf(request));
  const notRunning = dumpVmiRefusal(vmi);
  if (notRunning) return notRunning;
  const pvc = await client.find(PERSISTENT_VOLUME_CLAIMS, `${request.params.ns}/${claimName}`);
  if (!pvc) return notFound('persistentvolumeclaim', claimName);
  return dumpClaimRefusal(vmi, pvc, fsOverhead(await cdiConfig(client), pvc.spec?.storageClassName));
}

async function carryOut(deps: MemoryDumpDeps, request: HttpRequest, decision: Decision): Promise<HttpResponse> {
  if ('refusal' in decision) return statusAnswer(decision.refusal);
  const failure = await applySteps(deps, request, decision.steps, { dryRun: false, invalidPasses: true });
  return failure ? statusAnswer(failure) : empty(202);
}

const memoryDump =
  (deps: MemoryDumpDeps): Handler =>
  async (request) => {
    const off = gateRefusal(deps.config());
    if (off) return statusAnswer(off);
    if (request.body.length === 0) return statusAnswer(badRequest('Request with no body'));
    const options = parseOptions<{ claimName?: string }>(request.body, MEMORY_DUMP_FIELDS);
    if (!options.ok) return statusAnswer(options.error);
    const vm = await deps.client.find(VIRTUAL_MACHINES, keyOf(request));
    if (!vm) return statusAnswer(notFound('virtualmachine', nameOf(request)));
    const claim = dumpClaim(vm, options.value);
    if (!claim.ok) return statusAnswer(claim.error);
    const refusal = await claimRefusal(deps, request, claim.value);
    return refusal ? statusAnswer(refusal) : await carryOut(deps, request, decideMemoryDump(vm, claim.value));
  };

const removeMemoryDump =
  (deps: MemoryDumpDeps): Handler =>
  async (request) => {
    const vm = await deps.client.find(VIRTUAL_MACHINES, keyOf(request));
    return vm ? await carryOut(deps, request, decideRemoveMemoryDump(vm)) : statusAnswer(notFound('virtualmachine', nameOf(request)));
  };

export const memoryDumpHandlers = (deps: MemoryDumpDeps): Readonly<Record<string, Handler>> => ({
  memorydump: answering(memoryDump(deps), deps.log),
  removememorydump: answering(removeMemoryDump(deps), deps.log),
});
