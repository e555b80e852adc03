// Volumes of a VMI as its status shows them, and the claims that must exist before a pod makes sense. Plugged volumes are followed up to
// AttachedToNode; from there the node agent goes on, and its words stay. Pure.
import type { PersistentVolumeClaim, PersistentVolumeClaimInfo, Pod, VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import { DEFAULT_FS_OVERHEAD } from '../../core/storage/filesystem-overhead.js';
import { isPopulated, stateOf } from '../data-volumes.js';
import { isHotplugged } from '../pod-template/index.js';
import {
  attachmentProblem,
  claimOf,
  currentAttachment,
  isAttachmentUp,
  isClaimBound,
  isUsable,
  type Plug,
  plugsOf,
  triggerOf,
} from './attachments.js';
import { type Failure, isHandedOver, type Seen } from './seen.js';
import { text } from './text.js';

/** Claims that the launcher pod mounts and that are not there. */
export function missingClaims(vmi: VirtualMachineInstance, pvcs: ReadonlyMap<string, PersistentVolumeClaim>): string[] {
  return (vmi.spec.volumes ?? [])
    .filter((v) => !isHotplugged(vmi, v))
    .map(claimOf)
    .filter((name) => name !== undefined)
    .filter((name) => !pvcs.has(name));
}

function claimInfo(name: string, pvc: PersistentVolumeClaim): PersistentVolumeClaimInfo {
  const { spec, status } = pvc;
  return {
    claimName: name,
    ...(spec?.accessModes ? { accessModes: spec.accessModes } : {}),
    ...(status?.capacity ? { capacity: status.capacity } : {}),
    ...(spec?.resources?.requests ? { requests: spec.resources.requests } : {}),
    volumeMode: spec?.volumeMode ?? 'Filesystem',
    ...(spec?.volumeMode === 'Block' ? {} : { filesystemOverhead: String(DEFAULT_FS_OVERHEAD) }),
  };
}

function entryOf(seen: Seen, name: string, claim: string | undefined): VolumeStatus {
  const pvc = claim === undefined ? undefined : seen.pvcs.get(claim);
  const known = seen.vmi.status?.volumeStatus?.find((entry) => entry.name === name);
  return {
    target: '',
    ...known,
    name,
    ...(claim !== undefined && pvc ? { persistentVolumeClaimInfo: claimInfo(claim, pvc) } : {}),
  };
}

/** Not in the spec, but as much a part of the VM as its volumes: it has to be there wherever the guest goes. */
function stateEntry({ vmi }: Seen, claim: PersistentVolumeClaim): VolumeStatus {
  const { name = '' } = claim.metadata;
  const known = vmi.status?.volumeStatus?.find((entry) => entry.name === name);
  return { target: '', ...known, name, persistentVolumeClaimInfo: claimInfo(name, claim) };
}

/** Phases of a volume that no pod has brought yet, or no more. */
const FRESH: ReadonlySet<string> = new Set(['', 'Pending', 'Bound', 'UnMountedFromPod']);

export const isFresh = ({ phase = '' }: Pick<VolumeStatus, 'phase'>): boolean => FRESH.has(phase);

export interface At {
  readonly now: number;
  /** What kept this pass from going on. */
  readonly failure: Failure | undefined;
}

interface Waiting extends Failure {
  readonly phase: 'Pending' | 'Bound';
  /** On its way: the next moment brings news. */
  readonly isMoving?: boolean;
}

/** As long may a pod take to come up before the VMI says so. */
export const QUICK_ATTACH_MS = 4_000;

/** Why a volume is not attached yet, and what it waits for. */
function waitingOf(seen: Seen, plug: Plug, at: At): Waiting {
  const pvc = seen.pvcs.get(plug.claim);
  const claim = `${seen.vmi.metadata.namespace}/${plug.claim}`;
  if (!pvc) return { phase: 'Pending', reason: 'FailedPvcNotFound', message: text.pvcMissing(claim) };
  return isClaimBound(pvc) ? waitingForAttachment(seen, plug, at) : waitingForBinding(seen, plug, at);
}

function waitingForAttachment(seen: Seen, { claim }: Plug, at: At): Waiting {
  const volume = seen.dataVolumes.get(claim);
  if (volume && !isPopulated(volume)) return { phase: 'Bound', reason: 'PVCNotReady', message: text.fillingClaim(stateOf(volume)) };
  const message = text.attachmentLater(`${seen.vmi.metadata.namespace}/${claim}`);
  return { phase: 'Bound', ...waitingForPods(seen, currentAttachment(seen), message, at) };
}

function waitingForBinding(seen: Seen, plug: Plug, at: At): Waiting {
  const phase = seen.pvcs.get(plug.claim)?.status?.phase ?? 'Pending';
  const message = text.pvcPhase(`${seen.vmi.metadata.namespace}/${plug.claim}`, phase);
  return { phase: 'Pending', ...waitingForPods(seen, triggerOf(seen, plug), message, at) };
}

function waitingForPods({ vmi }: Seen, pod: Pod | undefined, message: string, at: At): Omit<Waiting, 'phase'> {
  if (pod) return waitingForPod(pod, at);
  return at.failure && isHandedOver(vmi) ? at.failure : { reason: 'PVCNotReady', message };
}

function waitingForPod(pod: Pod, { now }: At): Omit<Waiting, 'phase'> {
  const problem = attachmentProblem(pod);
  if (problem) return problem;
  const { name = '', creationTimestamp = '' } = pod.metadata;
  const isMoving = now - Date.parse(creationTimestamp) < QUICK_ATTACH_MS;
  return { reason: 'PVCNotReady', message: text.attachmentStarts(name), isMoving };
}

/** undefined: nothing is said about it yet. */
function pluggedEntry(seen: Seen, plug: Plug, at: At): VolumeStatus | undefined {
  const known = entryOf(seen, plug.name, plug.claim);
  const dump = plug.isDump && !known.memoryDumpVolume ? { memoryDumpVolume: { claimName: plug.claim } } : {};
  const entry: VolumeStatus = { ...known, ...dump };
  const pod = currentAttachment(seen);
  if (isAttachmentUp(pod) && isUsable(seen, plug)) return carried(entry, pod);
  return isFresh(entry) ? waitingEntry(entry, waitingOf(seen, plug, at), isHandedOver(seen.vmi)) : { hotplugVolume: {}, ...entry };
}

function carried(entry: VolumeStatus, { metadata }: Pod): VolumeStatus {
  const { name = '', uid = '' } = metadata;
  const there = { ...entry, hotplugVolume: { attachPodName: name, attachPodUID: uid } };
  if (!isFresh(entry)) return there;
  return { ...there, phase: 'AttachedToNode', reason: 'SuccessfulCreate', message: text.attached(name, entry.name) };
}

/** While it moves nothing new is said. */
function waitingEntry(entry: VolumeStatus, { isMoving, ...waiting }: Waiting, isOptional: boolean): VolumeStatus | undefined {
  const isKnown = entry.phase === 'Pending' || entry.phase === 'Bound';
  if (isMoving && isKnown) return { ...entry, hotplugVolume: {} };
  return isMoving && isOptional && !entry.phase ? undefined : { ...entry, hotplugVolume: {}, ...waiting };
}

/** Unplugged, and the node agent has not let go of it yet. */
function isLeaving(entry: VolumeStatus): boolean {
  return entry.hotplugVolume !== undefined && !isFresh(entry) && entry.hotplugVolume.attachPodUID !== undefined;
}

/** One entry a volume, sorted by name; what the node agent wrote (target, size, phase) stays. */
export function nextVolumeStatus(seen: Seen, at: At): VolumeStatus[] {
  const { vmi } = seen;
  const plugs = plugsOf(seen);
  const plugged = new Set(plugs.map(({ name }) => name));
  const wanted = new Set([...plugged, ...(vmi.spec.volumes ?? []).map(({ name }) => name)]);
  const own = (vmi.spec.volumes ?? [])
    .filter(({ name }) => !plugged.has(name))
    .map((volume) => entryOf(seen, volume.name, claimOf(volume)));
  const leaving = (vmi.status?.volumeStatus ?? []).filter((entry) => !wanted.has(entry.name) && isLeaving(entry));
  const state = seen.stateClaim ? [stateEntry(seen, seen.stateClaim)] : [];
  const entries = [...own, ...state, ...plugs.map((plug) => pluggedEntry(seen, plug, at)), ...leaving].filter(
    (entry) => entry !== undefined,
  );
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Something is under way of which the status does not speak yet. */
export const isAttaching = (seen: Seen, next: VirtualMachineInstance): boolean =>
  plugsOf(seen).some(({ name }) => !next.status?.volumeStatus?.some((entry) => entry.name === name));
