// Which attachment and trigger pods a VMI needs, and which have served: as steps. All volumes that can be mounted share one pod; another set
// needs another pod, and the old one stays until the VMI's status says that nothing of it is in use any more. Pure, called by decide.ts.
import { createHash } from 'node:crypto';
import { isDeleting, type Pod } from '../../api/index.js';
import { belongsTo, boundPlugs, currentAttachment, isAlive, isLate, isTrigger, type Plug, plugsOf, triggerOf } from './attachments.js';
import { isPodDown, isPodFinal, isPodReady } from './pod-state.js';
import { isFinal, isHandedOver, type Seen } from './seen.js';

export type HotplugStep =
  | { readonly do: 'createAttachment'; readonly name: string; readonly volumes: readonly string[] }
  | { readonly do: 'createTrigger'; readonly name: string; readonly volume: string }
  | { readonly do: 'deleteAttachment'; readonly pod: Pod };

const remove = (pods: readonly Pod[]): HotplugStep[] =>
  pods.filter((pod) => !isDeleting(pod)).map((pod) => ({ do: 'deleteAttachment', pod }));

export function decideHotplug(seen: Seen): HotplugStep[] {
  const { vmi, pod, attachments } = seen;
  if (isFinal(vmi) || !pod || isPodDown(pod)) return remove(attachments);
  const stray = attachments.filter((each) => !belongsTo(each, pod));
  // A guest that goes keeps what it has until it has gone.
  return isDeleting(vmi) ? remove(stray) : [...attach(seen), ...trigger(seen), ...remove([...stray, ...retired(seen)])];
}

/** The node agent has told what the pods need to know, and the launcher can take volumes. */
const canTake = ({ vmi, pod }: Seen): boolean => isHandedOver(vmi) && vmi.status?.selinuxContext !== undefined && isPodReady(pod);

function attach(seen: Seen): HotplugStep[] {
  const volumes = boundPlugs(seen);
  if (volumes.length === 0 || !canTake(seen) || currentAttachment(seen)) return [];
  return [{ do: 'createAttachment', name: nameOf(seen, volumes), volumes: volumes.map(({ name }) => name) }];
}

function trigger(seen: Seen): HotplugStep[] {
  if (!canTake(seen)) return [];
  const waiting = plugsOf(seen).filter((plug) => isLate(seen, seen.pvcs.get(plug.claim)) && !triggerOf(seen, plug));
  return waiting.map((plug) => ({ do: 'createTrigger', name: nameOf(seen, [plug]), volume: plug.name }));
}

/**
 * Follows from what is plugged and from the pods that are there: however often a creation is repeated, there is one pod; and a set that
 * comes back while its old pod still goes gets another.
 */
function nameOf({ pod, attachments, pvcs }: Seen, volumes: readonly Plug[]): string {
  const parts = [
    pod?.metadata.uid,
    ...volumes.map(({ name, claim }) => `${name}=${claim}/${pvcs.get(claim)?.metadata.uid}`),
    ...attachments.map(({ metadata }) => metadata.uid ?? '').sort(),
  ];
  return `hp-volume-${createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 10)}`;
}

function retired(seen: Seen): Pod[] {
  const current = currentAttachment(seen);
  return seen.attachments.filter((pod) => {
    if (!belongsTo(pod, seen.pod) || pod === current) return false;
    if (isTrigger(pod)) return !plugsOf(seen).some((plug) => triggerOf(seen, plug) === pod && isLate(seen, seen.pvcs.get(plug.claim)));
    return isPodFinal(pod) || (isAlive(pod) && !isHeld(seen, pod));
  });
}

/** Something that it brought is still mounted in the launcher, or on its way there. */
const isHeld = ({ vmi }: Seen, pod: Pod): boolean =>
  (vmi.status?.volumeStatus ?? []).some(
    ({ hotplugVolume, phase }) => hotplugVolume?.attachPodUID === pod.metadata.uid && phase !== 'UnMountedFromPod',
  );
