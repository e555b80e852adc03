// The handler of pod evictions: reads the pod and the VMI whose guest it holds, and marks the VMI when it has to leave the node. The mark
// is the one thing that a webhook here writes. A pod that cannot be read may go: its node must not be held by our own failure.
import type { KubeObject, Pod, VirtualMachineInstance } from '../../api/index.js';
import { messageOf } from '../../base/errors.js';
import { PODS, VIRTUAL_MACHINE_INSTANCES } from '../../runtime/resources.js';
import { type AdmissionRequest, type AdmissionResponse, responseOf } from '../review.js';
import {
  decideHotplugEviction,
  decideLauncherEviction,
  type Eviction,
  type EvictionDecision,
  guestOf,
  isDryRun,
  ownerOfHotplugPod,
} from '../validate/eviction/decide.js';
import { refuse } from '../verdict.js';
import type { Admitter, Context } from './context.js';

const TOO_MANY_REQUESTS = 429;
const PASS: AdmissionResponse = { allowed: true };
const denied = (message: string): AdmissionResponse => responseOf(refuse(message, TOO_MANY_REQUESTS));

async function hotplug(pod: Pod, owner: string, { client, facts }: Context): Promise<EvictionDecision> {
  const namespace = pod.metadata.namespace ?? '';
  const guest = guestOf(await client.find(PODS, `${namespace}/${owner}`));
  return decideHotplugEviction(pod, guest === undefined ? undefined : await facts.vmi(namespace, guest));
}

async function mark(
  vmi: VirtualMachineInstance,
  decision: EvictionDecision & { do: 'mark' },
  dryRun: boolean,
  context: Context,
): Promise<void> {
  const { namespace, name } = vmi.metadata;
  await context.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, `${namespace}/${name}`, decision.operations, dryRun ? { dryRun } : {});
  context.log.info({ namespace, name, dryRun }, 'Marked the VMI for evacuation');
}

async function launcher(pod: Pod, guest: string, request: AdmissionRequest, context: Context): Promise<AdmissionResponse> {
  const vmi = await context.facts.vmi(pod.metadata.namespace ?? '', guest);
  if (!vmi)
    return denied(`the VMI ${guest} of pod ${pod.metadata.name} was not found: try again, or delete the pod if the VMI is gone for good`);
  const eviction = (request.object ?? {}) as KubeObject & Eviction;
  const decision = decideLauncherEviction(pod, vmi, eviction, context.config());
  if (decision.do === 'pass') return PASS;
  if (decision.do === 'mark') await mark(vmi, decision, isDryRun(request.dryRun, eviction), context);
  return denied(decision.message);
}

/** A failure after the pod is known holds the pod: a guest might be lost. */
async function admit(pod: Pod, request: AdmissionRequest, context: Context): Promise<AdmissionResponse> {
  try {
    const owner = ownerOfHotplugPod(pod);
    if (owner !== undefined) {
      const decision = await hotplug(pod, owner, context);
      return decision.do === 'pass' ? PASS : denied(decision.message);
    }
    const guest = guestOf(pod);
    return guest === undefined ? PASS : await launcher(pod, guest, request, context);
  } catch (err) {
    context.log.warn(
      { namespace: request.namespace, name: request.name, err: messageOf(err) },
      'Holding a pod whose eviction cannot be judged',
    );
    return denied(`cannot judge the eviction of pod ${request.name}: ${messageOf(err)}. Try again`);
  }
}

const evict: Admitter = async (request, context) => {
  const { namespace = '', name = '' } = request;
  const pod = await context.client.find(PODS, `${namespace}/${name}`).catch((err: unknown) => {
    context.log.warn({ namespace, name, err: messageOf(err) }, 'Letting a pod go that cannot be read');
    return undefined;
  });
  return pod ? await admit(pod, request, context) : PASS;
};

export const EVICTIONS: Readonly<Record<string, Admitter>> = { '/pod-eviction-validate': evict };
