// Why a launcher pod ended that should not have: what the kubelet did to it, what the kernel did to its processes, or how its launcher failed.
// Pure; phase.ts asks when a guest's pod is down, and once more when the guest has been given up and the pod's own words come late.
import { isDeleting, type Pod, TOLD_TO_END, type VirtualMachineInstance, type Volume } from '../../api/index.js';
import { COMPUTE, type PodProblem } from './pod-state.js';
import { text } from './text.js';

const EVICTED = 'Evicted';
const OUT_OF_MEMORY = 'OOMKilled';

const endOf = (pod: Pod) => pod.status?.containerStatuses?.find(({ name }) => name === COMPUTE)?.state?.terminated;
const nameOf = (pod: Pod): string => pod.metadata.name ?? '';

/** What the kubelet gives for the launcher's words where it has taken the log away with the pod before it read them. */
const UNREAD = 'Error on reading termination message';

/** The launcher's sentence, if it had time for one. */
function lastWords(pod: Pod): string {
  const last = (endOf(pod)?.message ?? '').trim().split('\n').at(-1) ?? '';
  return last.startsWith(UNREAD) ? '' : last;
}

function kindInPod({ containerDisk, emptyDisk, ephemeral }: Volume): string | undefined {
  if (emptyDisk) return `emptyDisk of ${emptyDisk.capacity}`;
  if (containerDisk) return 'containerDisk';
  return ephemeral ? 'ephemeral' : undefined;
}

/** Disks that grow in the pod's own storage as the guest writes. */
function disksInPod({ spec }: VirtualMachineInstance): string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    const kind = kindInPod(volume);
    return kind === undefined ? [] : [text.diskInPod(volume.name, kind)];
  });
}

const sentences = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('; ');

function eviction(pod: Pod, vmi: VirtualMachineInstance): string {
  const why = (pod.status?.message ?? '').trim().replace(/\.$/, '');
  const disks = disksInPod(vmi);
  const isStorage = /storage|emptydir/i.test(why) && disks.length > 0;
  const told = endOf(pod)?.exitCode === TOLD_TO_END ? lastWords(pod) : '';
  return sentences(text.evicted(nameOf(pod), why), ...(isStorage ? [told, text.storageOfPod(disks.join(', '))] : []));
}

/** What the kubelet or the kernel did; undefined when the launcher ended by itself, or its pod was deleted. */
export function podLoss(pod: Pod, vmi: VirtualMachineInstance): PodProblem | undefined {
  const { reason, message = '' } = pod.status ?? {};
  if (pod.status?.phase === 'Failed' && reason) {
    const words = reason === EVICTED ? eviction(pod, vmi) : text.endedByKubelet(nameOf(pod), sentences(message.trim(), lastWords(pod)));
    return { reason, message: words };
  }
  if (endOf(pod)?.reason !== OUT_OF_MEMORY) return undefined;
  return { reason: OUT_OF_MEMORY, message: text.outOfMemory(nameOf(pod), lastWords(pod)) };
}

/** The same, or exit code and last line of a launcher that ended badly. */
export function launcherFailure(pod: Pod, vmi: VirtualMachineInstance): PodProblem | undefined {
  const loss = podLoss(pod, vmi);
  if (loss) return loss;
  const ended = endOf(pod);
  if (pod.status?.phase !== 'Failed' && (ended === undefined || ended.exitCode === 0)) return undefined;
  // Whoever deleted it wanted its end, and the node agent tells how the guest took it.
  if (isDeleting(pod) && ended?.exitCode === TOLD_TO_END) return undefined;
  const line = lastWords(pod) || (pod.status?.message ?? '');
  return { reason: 'LauncherFailed', message: text.launcherEnded(nameOf(pod), ended?.exitCode, line) };
}
