// A VMI whose volumes CDI still fills: it waits for them before it gets its pod, and brings those that are only bound on demand on their way by a
// pod that ends at once. Pure; decide.ts asks, status.ts shows it.
import { ANNOTATION, type ConditionValue, isDeleting, type Pod, type VirtualMachineInstance } from '../../api/index.js';
import {
  awaitsConsumer,
  type DataVolume,
  dataVolumeNameOf,
  exceedsQuota,
  hasFailed,
  isBroken,
  isPopulated,
  stateOf,
} from '../data-volumes.js';
import { isHotplugged } from '../pod-template/index.js';
import { isPodFinal } from './pod-state.js';
import type { Failure, Seen } from './seen.js';
import { text } from './text.js';

export type DataVolumeStep = { readonly do: 'createTemporaryPod' } | { readonly do: 'deletePod'; readonly pod: Pod };

/** Like the launcher's, and there only to be scheduled. */
export const isTemporary = (pod: Pod): boolean => pod.metadata.annotations?.[ANNOTATION.ephemeralProvisioning] === 'true';

const temporaryPods = ({ pods }: Pick<Seen, 'pods'>): Pod[] => pods.filter((pod) => isTemporary(pod) && !isDeleting(pod));

const namesOf = (vmi: VirtualMachineInstance): string[] =>
  (vmi.spec.volumes ?? []).filter((volume) => !isHotplugged(vmi, volume)).flatMap((volume) => dataVolumeNameOf(volume) ?? []);

/** Those that the guest starts with. */
const ownVolumes = ({ vmi, dataVolumes }: Seen): DataVolume[] => namesOf(vmi).flatMap((name) => dataVolumes.get(name) ?? []);

const unfilled = (seen: Seen): DataVolume[] => ownVolumes(seen).filter((volume) => !isPopulated(volume));

/** undefined: nothing to wait for. */
export function awaitDataVolumes(seen: Seen): readonly DataVolumeStep[] | undefined {
  const waiting = unfilled(seen);
  if (waiting.length === 0) return undefined;
  const needsPod = waiting.some(awaitsConsumer) && temporaryPods(seen).length === 0;
  return needsPod ? [{ do: 'createTemporaryPod' }] : [];
}

/** What keeps them from being filled, and will until somebody does something. */
export function fillingFailure(seen: Seen): Failure | undefined {
  const stuck = unfilled(seen).find((volume) => exceedsQuota(volume) || isBroken(volume));
  if (!stuck) return undefined;
  const { name = '', namespace = '' } = stuck.metadata;
  const what = exceedsQuota(stuck) ? text.importExceedsQuota(name, namespace) : text.importFailed(name);
  return { reason: 'FailedDataVolumeImport', message: `${what} (${stateOf(stuck)})` };
}

/** They have served once nothing waits for a consumer any more. */
export const retireTemporaryPods = (seen: Seen): readonly DataVolumeStep[] =>
  unfilled(seen).some(awaitsConsumer) ? [] : temporaryPods(seen).map((pod) => ({ do: 'deletePod', pod }));

/** No retry of ours can help. */
export function failedProvisioning(seen: Seen): Failure | undefined {
  const failed = ownVolumes(seen).find(hasFailed);
  if (failed) return { reason: 'FailedDataVolumeImport', message: text.importFailed(failed.metadata.name ?? '') };
  const pod = temporaryPods(seen).find((each) => each.status?.phase === 'Failed');
  return pod && { reason: 'ProvisioningFailed', message: text.provisioningFailed(pod.metadata.name ?? '', pod.status?.message) };
}

/** The pod whose scheduling is the VMI's for now. */
export const provisioningPod = (seen: Seen): Pod | undefined => temporaryPods(seen).find((pod) => !isPodFinal(pod));

export function dataVolumesReady(seen: Seen): ConditionValue | undefined {
  if (ownVolumes(seen).length === 0) return undefined;
  const waiting = unfilled(seen);
  return waiting.length === 0
    ? { status: 'True', reason: 'AllDVsReady', message: text.dataVolumesReady }
    : { status: 'False', reason: 'NotAllDVsReady', message: text.dataVolumesNotReady(waiting.map(stateOf).join('; ')) };
}
