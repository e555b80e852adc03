// The next VMI object: phase, conditions, labels and finalizers from one snapshot. Pure. Before the hand-over to the node the whole
// object is written; after it only the guarded patches of `handedOverPatch`.
import {
  ANNOTATION,
  type Condition,
  type ConditionValue,
  FINALIZER,
  findCondition,
  isConditionTrue,
  isDeleting,
  isFinalPhase,
  LABEL,
  OBSERVED_API_VERSION,
  POD_TERMINATING,
  type Pod,
  type VirtualMachineInstance,
  type VirtualMachineInstanceStatus,
  type VmiPhase,
  withConditions,
} from '../../api/index.js';
import { metaTime } from '../../base/clock.js';
import { guarded, mapOps, testUid } from '../../runtime/patch.js';
import type { JsonPatchOperation } from '../../runtime/types.js';
import { dataVolumesReady, isTemporary, provisioningPod } from './data-volumes.js';
import { nextInterfaces } from './networks.js';
import { nextPhase, type PhaseDecision } from './phase.js';
import { activePods, computeImage, containerProblem, isPodDown, schedulingProblem } from './pod-state.js';
import { type Failure, isFinal, isHandedOver, phaseOf, type Seen } from './seen.js';
import { mountProblem } from './slow-mount.js';
import { text } from './text.js';
import { type At, isFresh, nextVolumeStatus } from './volumes.js';
import { vsockCidOf } from './vsock-cid.js';

function readyOf({ pod }: Seen, phase: VmiPhase): ConditionValue {
  const no = (reason: string, message: string): ConditionValue => ({ status: 'False', reason, message });
  if (!pod) return no('PodNotExists', text.notScheduledYet);
  if (isPodDown(pod) || isDeleting(pod)) return no(POD_TERMINATING, text.podTerminating);
  if (phase !== 'Running') return no('GuestNotRunning', text.guestNotRunning);
  const ready = pod.status?.conditions?.find((c) => c.type === 'Ready');
  if (!ready) return no('PodConditionMissing', text.podConditionMissing);
  return {
    status: ready.status === 'True' ? 'True' : 'False',
    ...(ready.reason ? { reason: ready.reason } : {}),
    ...(ready.message ? { message: ready.message } : {}),
  };
}

function scheduledOf(pod: Pod | undefined): ConditionValue | undefined {
  const problem = pod && schedulingProblem(pod);
  return problem ? { status: 'False', ...problem } : undefined;
}

/** The one thing that keeps the VMI from going on, if any. */
function problemOf({ pod }: Seen, failure: Failure | undefined, now: number): Failure | undefined {
  return failure ?? (pod && !isPodDown(pod) && !isDeleting(pod) ? (containerProblem(pod) ?? mountProblem(pod, now)) : undefined);
}

function conditionsOf(seen: Seen, failure: Failure | undefined, decision: PhaseDecision, now: number): Condition[] {
  const problem = problemOf(seen, failure ?? decision.loss, now);
  const old = seen.vmi.status?.conditions as Condition[] | undefined;
  // From the hand-over on the condition belongs to the node agent, whose words stay after the end unless there are better ones.
  const isOurs = decision.loss !== undefined || (!isHandedOver(seen.vmi) && !isFinal(seen.vmi));
  return withConditions(
    old,
    {
      Ready: readyOf(seen, decision.phase),
      PodScheduled: scheduledOf(seen.pod ?? provisioningPod(seen)),
      DataVolumesReady: dataVolumesReady(seen),
      Provisioning: !seen.pod && provisioningPod(seen) ? { status: 'True' } : undefined,
      ...(isOurs ? { Synchronized: problem ? { status: 'False' as const, ...problem } : undefined } : {}),
    },
    now,
  );
}

function handOver(pod: Pod, status: VirtualMachineInstanceStatus, { vmi, takenCids }: Seen): void {
  status.nodeName = pod.spec?.nodeName ?? '';
  if (pod.metadata.annotations?.[ANNOTATION.migrationTransportUnix] === 'true') status.migrationTransport = 'Unix';
  if (takenCids) status.VSOCKCID ??= vsockCidOf(vmi, takenCids);
}

/** From the hand-over until the guest goes; nothing before and nothing now must compare as equal. */
function devicesOf(seen: Seen, decision: PhaseDecision, at: At): Pick<VirtualMachineInstanceStatus, 'volumeStatus' | 'interfaces'> {
  const { vmi, pod } = seen;
  if (!pod || isDeleting(vmi) || (decision.phase !== 'Scheduled' && decision.phase !== 'Running')) return {};
  const volumeStatus = nextVolumeStatus(seen, at);
  const interfaces = nextInterfaces(vmi, pod);
  const hasVolumes = volumeStatus.length > 0 || !isHandedOver(vmi) || vmi.status?.volumeStatus !== undefined;
  return {
    ...(hasVolumes ? { volumeStatus } : {}),
    ...(interfaces.length > 0 || vmi.status?.interfaces !== undefined ? { interfaces } : {}),
  };
}

function phaseStatus(status: VirtualMachineInstanceStatus, decision: PhaseDecision, { pod }: Seen, now: number): void {
  if (decision.loss && decision.phase === 'Failed') status.reason = decision.loss.reason;
  if (status.phase === decision.phase) return;
  const skipped = passedScheduling(status, decision)
    ? [{ phase: 'Scheduling' as const, phaseTransitionTimestamp: pod?.metadata.creationTimestamp ?? metaTime(now) }]
    : [];
  status.phase = decision.phase;
  status.phaseTransitionTimestamps = [
    ...(status.phaseTransitionTimestamps ?? []),
    ...skipped,
    { phase: decision.phase, phaseTransitionTimestamp: metaTime(now) },
  ];
}

/** The phase between was true since the pod exists, and is recorded although nobody was told. */
const passedScheduling = (status: VirtualMachineInstanceStatus, decision: PhaseDecision): boolean =>
  decision.phase === 'Scheduled' && status.phase !== 'Scheduling';

function labelsOf(seen: Seen, decision: PhaseDecision): Record<string, string> {
  const { [LABEL.outdatedLauncherImage]: _, ...labels } = seen.vmi.metadata.labels ?? {};
  const image = seen.pod && computeImage(seen.pod);
  const isOutdated = image !== undefined && image !== seen.launcherImage && !isFinal(seen.vmi);
  const node = decision.phase === 'Scheduled' ? seen.pod?.spec?.nodeName : undefined;
  return { ...labels, ...(isOutdated ? { [LABEL.outdatedLauncherImage]: '' } : {}), ...(node ? { [LABEL.nodeName]: node } : {}) };
}

/** A finished VMI lets go once no pod is left; without a VM that would do it, of the VM controller's finalizer too. */
export function finalizersOf(seen: Seen, phase: VmiPhase): string[] {
  const finalizers = seen.vmi.metadata.finalizers ?? [];
  const isOver = isFinalPhase(phase) && seen.pods.length === 0 && seen.attachments.length === 0;
  if (!isOver) return finalizers;
  return finalizers.filter((f) => f !== FINALIZER.vmi && (seen.hasOwner || f !== FINALIZER.vmController));
}

export interface NextVmi {
  readonly vmi: VirtualMachineInstance;
  readonly decision: PhaseDecision;
}

export function nextVmi(seen: Seen, failure: Failure | undefined, now: number): NextVmi {
  const decision = nextPhase(seen);
  const status: VirtualMachineInstanceStatus = structuredClone(seen.vmi.status ?? {});
  const { pod } = seen;
  if (pod) {
    status.activePods = activePods(seen.pods.filter((each) => !isTemporary(each)));
    const image = computeImage(pod);
    if (image) status.launcherContainerImageVersion = image;
    if (pod.status?.qosClass) status.qosClass = pod.status.qosClass;
  }
  if (pod && decision.phase === 'Scheduled' && !isHandedOver(seen.vmi)) handOver(pod, status, seen);
  Object.assign(status, devicesOf(seen, decision, { failure, now }));
  phaseStatus(status, decision, seen, now);
  status.conditions = conditionsOf(seen, failure, decision, now) as NonNullable<VirtualMachineInstanceStatus['conditions']>;
  const finalizers = finalizersOf(seen, decision.phase);
  const vmi: VirtualMachineInstance = {
    ...seen.vmi,
    metadata: {
      ...seen.vmi.metadata,
      labels: labelsOf(seen, decision),
      finalizers,
      annotations: {
        ...seen.vmi.metadata.annotations,
        ...OBSERVED_API_VERSION,
      },
    },
    status,
  };
  return { vmi, decision };
}

/**
 * True when writing `next` would tell nobody anything: pods and QoS travel with the next real change, and a VMI that is being
 * deleted need not say that it is no longer ready.
 */
export function isQuiet(old: VirtualMachineInstance, next: VirtualMachineInstance, equal: (a: unknown, b: unknown) => boolean): boolean {
  const essence = (vmi: VirtualMachineInstance) => {
    const { activePods: _a, qosClass: _q, launcherContainerImageVersion: _l, conditions = [], ...rest } = vmi.status ?? {};
    const { labels, finalizers } = vmi.metadata;
    const status = { ...rest, conditions: isDeleting(vmi) ? conditions.filter((c) => c.type !== 'Ready') : conditions };
    return { status, labels: labels ?? {}, finalizers: finalizers ?? [] };
  };
  return equal(essence(old), essence(next));
}

/** How long a pod may take until its VMI says that it is being scheduled. */
export const QUICK_START_MS = 1500;

/** All there is to say is that the pod exists: for the first moment of a VMI the next news, that it is ready, is worth waiting for. */
export function canWait(old: VirtualMachineInstance, next: VirtualMachineInstance, now: number): boolean {
  const waits = (next.status?.conditions ?? []).every((c) => c.type === 'Ready');
  const age = now - Date.parse(old.metadata.creationTimestamp ?? '');
  return phaseOf(old) === 'Pending' && phaseOf(next) === 'Scheduling' && waits && !isDeleting(old) && age < QUICK_START_MS;
}

const PATCHED = [
  'volumeStatus',
  'interfaces',
  'phase',
  'reason',
  'conditions',
  'activePods',
  'launcherContainerImageVersion',
  'phaseTransitionTimestamps',
] as const;

/** Guarded patch of the few paths that the controller may touch after the hand-over. */
export function handedOverPatch(old: VirtualMachineInstance, next: VirtualMachineInstance): JsonPatchOperation[] {
  const ops = PATCHED.flatMap((field) => guarded(`/status/${field}`, old.status?.[field], next.status?.[field]));
  const outdated = next.metadata.labels?.[LABEL.outdatedLauncherImage];
  const labels = mapOps('/metadata/labels', old.metadata.labels, { [LABEL.outdatedLauncherImage]: outdated });
  const all = [...ops, ...labels];
  return all.length === 0 ? [] : [...testUid(old), ...all];
}

export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Reasons that upstream reports as Normal: the object waits, nothing failed. */
const WAITING = new Set(['FailedPvcNotFound']);
/** Steps of a volume on its way, and what it waits for. */
const PLUGGING = new Set([...WAITING, 'PVCNotReady', 'SuccessfulCreate']);
const EXPLAINED = ['PodScheduled', 'Synchronized'] as const;

/** What the controller sees of plugged volumes; the rest of their way the node agent tells. */
function plugEvents(old: VirtualMachineInstance, next: VirtualMachineInstance): Transition[] {
  if (!isHandedOver(next)) return [];
  const [before, after] = [old, next].map((vmi) => new Map((vmi.status?.volumeStatus ?? []).map((entry) => [entry.name, entry])));
  const gone = [...(before?.values() ?? [])].filter(({ name, hotplugVolume }) => hotplugVolume && !after?.has(name));
  const told = [...(after?.values() ?? [])].filter((entry) => {
    const was = before?.get(entry.name);
    return entry.hotplugVolume && entry.reason !== undefined && entry.reason !== was?.reason && (isFresh(entry) || isFresh(was ?? {}));
  });
  return [
    ...gone.map(({ name }): Transition => ({ type: 'Normal', reason: 'VolumeUnplugged', message: text.unplugged(name) })),
    ...told.map(({ reason = '', message = '' }): Transition => ({ type: PLUGGING.has(reason) ? 'Normal' : 'Warning', reason, message })),
  ];
}

/** One event for each new reason why the guest does not run, and for each step of a plugged volume. */
export function transitionEvents(old: VirtualMachineInstance, next: VirtualMachineInstance): Transition[] {
  const problem = (vmi: VirtualMachineInstance, type: string) => {
    const condition = findCondition(vmi.status?.conditions as Condition[] | undefined, type);
    return condition?.status === 'False' ? condition : undefined;
  };
  const guest = EXPLAINED.flatMap((type): Transition[] => {
    const now = problem(next, type);
    if (!now?.reason || now.reason === problem(old, type)?.reason) return [];
    return [{ type: WAITING.has(now.reason) ? 'Normal' : 'Warning', reason: now.reason, message: now.message ?? '' }];
  });
  return [...guest, ...plugEvents(old, next)];
}

/** The readiness gate of the launcher pod: a paused guest serves nobody. undefined while there is nothing to say. */
export function unpausedGate(vmi: VirtualMachineInstance): ConditionValue {
  return isConditionTrue(vmi.status?.conditions as Condition[] | undefined, 'Paused')
    ? { status: 'False', reason: 'Paused', message: text.paused }
    : { status: 'True', reason: 'NotPaused', message: text.notPaused };
}
