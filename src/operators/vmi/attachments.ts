// The pods that bring volumes to a running launcher, as far as the VMI controller reads them: which volumes there are to plug, which pod
// carries which of them, and whether it is up. Pure; hotplug.ts decides what becomes of the pods, volume-status.ts what the VMI says.
import {
  ANNOTATION,
  controllerOf,
  HOTPLUG_POD,
  isDeleting,
  LABEL,
  type ObjectKey,
  type PersistentVolumeClaim,
  type Pod,
  type VirtualMachineInstance,
  type Volume,
} from '../../api/index.js';
import { isPopulated } from '../data-volumes.js';
import { isHotplugged, OWNER_NAME, OWNER_UID } from '../pod-template/index.js';
import { containerProblem, isPodFinal, schedulingProblem } from './pod-state.js';
import type { Failure, Seen } from './seen.js';
import { text } from './text.js';

export function claimOf(volume: Volume): string | undefined {
  return (
    volume.persistentVolumeClaim?.claimName ??
    volume.dataVolume?.name ??
    volume.ephemeral?.persistentVolumeClaim?.claimName ??
    volume.memoryDump?.claimName
  );
}

/** Every claim that the VMI names. */
export const claimsOf = ({ spec }: VirtualMachineInstance): string[] =>
  [...(spec.volumes ?? []).map(claimOf), ...(spec.utilityVolumes ?? []).map(({ claimName }) => claimName)].filter(
    (name) => name !== undefined,
  );

/** A volume that comes to the running launcher by an attachment pod. */
export interface Plug {
  readonly name: string;
  readonly claim: string;
  readonly isDump: boolean;
}

/** By name. What the launcher pod mounts itself is none, whatever its volume says. */
export function plugsOf({ vmi, pod }: Pick<Seen, 'vmi' | 'pod'>): Plug[] {
  const mounted = new Set((pod?.spec?.volumes ?? []).map(({ name }) => name));
  const volumes = (vmi.spec.volumes ?? []).flatMap((volume): Plug[] => {
    const claim = claimOf(volume);
    const isPlug = claim !== undefined && isHotplugged(vmi, volume);
    return isPlug ? [{ name: volume.name, claim, isDump: volume.memoryDump !== undefined }] : [];
  });
  const utility = (vmi.spec.utilityVolumes ?? []).map(({ name, claimName }): Plug => ({ name, claim: claimName, isDump: false }));
  return [...volumes, ...utility].filter(({ name }) => !mounted.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const isAttachment = (pod: Pod): boolean => pod.metadata.labels?.[LABEL.app] === HOTPLUG_POD;

/** There only to make a claim that waits for its first consumer be bound. */
export const isTrigger = (pod: Pod): boolean => pod.metadata.annotations?.[ANNOTATION.ephemeralProvisioning] === 'true';

/** Key of the VMI that an attachment pod works for. */
export function vmiKeyOfAttachment(pod: Pod): ObjectKey | undefined {
  const name = pod.metadata.annotations?.[OWNER_NAME];
  return isAttachment(pod) && name !== undefined ? `${pod.metadata.namespace}/${name}` : undefined;
}

export const worksFor = (pod: Pod, vmi: VirtualMachineInstance): boolean => pod.metadata.annotations?.[OWNER_UID] === vmi.metadata.uid;

/** Claims by the name of the volume that the pod brings. */
function carriedBy(pod: Pod): Map<string, string> {
  const claims = (pod.spec?.volumes ?? []).map(({ name, persistentVolumeClaim: claim }) => [name, claim?.claimName] as const);
  return new Map(claims.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** Usable, now or soon. */
export const isAlive = (pod: Pod): boolean => !isDeleting(pod) && !isPodFinal(pod);

export const belongsTo = (pod: Pod, launcher: Pod | undefined): boolean =>
  launcher !== undefined && controllerOf(pod)?.uid === launcher.metadata.uid;

export const isClaimBound = (pvc: PersistentVolumeClaim | undefined): boolean => pvc?.status?.phase === 'Bound';

/** Bound, and nobody fills it at the moment. */
export function isUsable({ pvcs, dataVolumes }: Pick<Seen, 'pvcs' | 'dataVolumes'>, { claim }: Plug): boolean {
  const volume = dataVolumes.get(claim);
  return isClaimBound(pvcs.get(claim)) && (volume === undefined || isPopulated(volume));
}

/** What can be mounted now: all of it shares one pod. */
export const boundPlugs = (seen: Seen): Plug[] => plugsOf(seen).filter((plug) => isUsable(seen, plug));

/** The pod that carries exactly what can be mounted now. */
export function currentAttachment(seen: Seen): Pod | undefined {
  const wanted = boundPlugs(seen);
  return seen.attachments.find((pod) => {
    if (!isAlive(pod) || isTrigger(pod) || !belongsTo(pod, seen.pod)) return false;
    const carried = carriedBy(pod);
    return carried.size === wanted.length && wanted.every(({ name, claim }) => carried.get(name) === claim);
  });
}

/** Its container holds the volumes: the node agent finds them there. */
export const isAttachmentUp = (pod: Pod | undefined): pod is Pod =>
  pod !== undefined && pod.status?.containerStatuses?.length === 1 && pod.status.containerStatuses.every(({ ready }) => ready);

export const triggerOf = ({ attachments, pod: launcher }: Seen, { name, claim }: Plug): Pod | undefined =>
  attachments.find((pod) => isTrigger(pod) && isAlive(pod) && belongsTo(pod, launcher) && carriedBy(pod).get(name) === claim);

/** A claim that nobody binds before a pod asks for it. */
export const isLate = ({ lateClasses }: Pick<Seen, 'lateClasses'>, pvc: PersistentVolumeClaim | undefined): boolean =>
  pvc !== undefined && !isClaimBound(pvc) && pvc.status?.phase !== 'Lost' && lateClasses.has(pvc.spec?.storageClassName ?? '');

/** Why the pod is not up, beyond taking its time. */
export function attachmentProblem(pod: Pod): Failure | undefined {
  const scheduling = schedulingProblem(pod);
  if (scheduling?.message)
    return { reason: scheduling.reason ?? 'Unschedulable', message: text.attachmentWaits(pod.metadata.name ?? '', scheduling.message) };
  const problem = containerProblem(pod);
  return problem && { reason: problem.reason, message: text.attachmentWaits(pod.metadata.name ?? '', problem.message) };
}
