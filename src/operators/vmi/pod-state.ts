// What a launcher pod says about itself: ready for the node agent, ended, or stuck and why. Pure.
import {
  controllerOf,
  DEVICE,
  isDeleting,
  isFinalPhase,
  LABEL,
  LAUNCHER_POD,
  type Pod,
  type VirtualMachineInstance,
} from '../../api/index.js';
import { isFinal, isHandedOver } from './seen.js';
import { text } from './text.js';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

export const COMPUTE = 'compute';
/** Containers that only have to run, not to be ready. */
const RUNNING_IS_ENOUGH = new Set([COMPUTE, 'istio-proxy']);

export const isLauncherOf = (pod: Pod, vmi: VirtualMachineInstance): boolean =>
  pod.metadata.labels?.[LABEL.app] === LAUNCHER_POD && controllerOf(pod)?.uid === vmi.metadata.uid;

const statusesOf = (pod: Pod): readonly ContainerStatus[] => pod.status?.containerStatuses ?? [];

const isContainerReady = (c: ContainerStatus): boolean => (RUNNING_IS_ENOUGH.has(c.name) ? c.state?.running !== undefined : c.ready);

/** The pod can be handed to the node agent. */
export function isPodReady(pod: Pod | undefined): boolean {
  if (!pod || isDeleting(pod) || pod.status?.phase !== 'Running') return false;
  const statuses = statusesOf(pod);
  return statuses.length > 0 && statuses.every(isContainerReady);
}

export const isPodFinal = (pod: Pod): boolean => isFinalPhase(pod.status?.phase);

/** No guest can run in it any more. */
export const isPodDown = (pod: Pod): boolean =>
  isPodFinal(pod) || statusesOf(pod).some((c) => c.name === COMPUTE && c.state?.terminated !== undefined);

export interface PodProblem {
  readonly reason: string;
  readonly message: string;
}

const IMAGE_REASONS: Readonly<Record<string, string>> = {
  ErrImagePull: 'ErrImagePull',
  ImagePullBackOff: 'ImagePullBackOff',
  InvalidImageName: 'ErrImagePull',
  ErrImageNeverPull: 'ErrImagePull',
  ImageInspectError: 'ErrImagePull',
  RegistryUnavailable: 'ErrImagePull',
};
/** Waiting states of a healthy start. */
const STARTING = new Set(['ContainerCreating', 'PodInitializing']);

/** Why a container does not start; undefined while nothing is wrong. */
export function containerProblem(pod: Pod): PodProblem | undefined {
  for (const status of [...(pod.status?.initContainerStatuses ?? []), ...statusesOf(pod)]) {
    const waiting = status.state?.waiting;
    if (!waiting?.reason || STARTING.has(waiting.reason)) continue;
    const why = waiting.message ?? waiting.reason;
    const image = IMAGE_REASONS[waiting.reason];
    if (image) return { reason: image, message: text.image(`pod ${pod.metadata.name}, container ${status.name}`, why) };
    return { reason: waiting.reason, message: text.waiting(status.name, why) };
  }
  return undefined;
}

export interface Scheduling {
  readonly reason?: string;
  readonly message?: string;
}

/** The scheduler's refusal, if there is one, with what to do about the usual cause. */
export function schedulingProblem(pod: Pod): Scheduling | undefined {
  const condition = pod.status?.conditions?.find((c) => c.type === 'PodScheduled');
  if (condition?.status !== 'False') return undefined;
  const message = condition.message ?? '';
  const device = [DEVICE.kvm, DEVICE.mshv].find((name) => message.includes(name));
  const hint = device ? `${message}; ${text.noHypervisor(device)}` : message;
  return { ...(condition.reason ? { reason: condition.reason } : {}), ...(hint ? { message: hint } : {}) };
}

const FILESYSTEM = 'virtiofs-';

/** A daemon that shows a volume as a directory serves one QEMU only: after a failed start there is none for the next. */
export function endedDaemon(pod: Pod): PodProblem | undefined {
  const ended = statusesOf(pod).find(({ name, state }) => name.startsWith(FILESYSTEM) && state?.terminated !== undefined);
  if (!ended) return undefined;
  return { reason: 'FilesystemDaemonEnded', message: text.daemonEnded(pod.metadata.name ?? '', ended.name.slice(FILESYSTEM.length)) };
}

/** The pod that carries the guest: the newest of the VMI's pods on its node (or anywhere, before it has one). */
export function currentPod(pods: readonly Pod[], vmi: VirtualMachineInstance): Pod | undefined {
  // Before the hand-over the VMI is on no node, whatever the status says that it was created with.
  const node = isHandedOver(vmi) || isFinal(vmi) ? vmi.status?.nodeName : undefined;
  const here = pods.filter((p) => !node || p.spec?.nodeName === node);
  return [...here].sort(newestFirst)[0];
}

function newestFirst(a: Pod, b: Pod): number {
  return (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? '');
}

export const computeImage = (pod: Pod): string | undefined => pod.spec?.containers.find((c) => c.name === COMPUTE)?.image;

export function activePods(pods: readonly Pod[]): Record<string, string> {
  return Object.fromEntries(pods.map((p) => [p.metadata.uid ?? '', p.spec?.nodeName ?? '']));
}
