// The phase machine of a VMI as far as the controller moves it. From Scheduled on the node agent moves it, and the
// controller only notices that the pod is gone. Pure.
import { isDeleting, type VmiPhase } from '../../api/index.js';
import { failedProvisioning } from './data-volumes.js';
import { launcherFailure, podLoss } from './pod-loss.js';
import { endedDaemon, isPodDown, isPodReady } from './pod-state.js';
import { type Failure, phaseOf, type Seen } from './seen.js';
import { text } from './text.js';

export interface PhaseDecision {
  readonly phase: VmiPhase;
  /** Why the guest is lost; goes into status.reason and one event. */
  readonly loss?: Failure;
}

const failed = (loss?: Failure): PhaseDecision => ({ phase: 'Failed', ...(loss ? { loss } : {}) });

function whilePending(seen: Seen): PhaseDecision {
  const { vmi, pod } = seen;
  if (isDeleting(vmi)) return failed();
  const loss = pod ? undefined : failedProvisioning(seen);
  if (loss) return failed(loss);
  return { phase: pod ? 'Scheduling' : 'Pending' };
}

/** A pod that is ready at the first look needs no write that says it is being scheduled. */
function beforeScheduling(seen: Seen): PhaseDecision {
  const decision = whilePending(seen);
  return decision.phase === 'Scheduling' ? whileScheduling(seen) : decision;
}

function whileScheduling({ vmi, pod }: Seen): PhaseDecision {
  if (!pod) return failed(isDeleting(vmi) ? undefined : { reason: 'PodGone', message: text.launcherGone('of this VMI') });
  if (isPodDown(pod)) return failed(launcherFailure(pod, vmi));
  if (isDeleting(pod)) return failed();
  return { phase: isPodReady(pod) && !isDeleting(vmi) ? 'Scheduled' : 'Scheduling' };
}

/** Scheduled or Running: the node agent reports the end of a guest; a pod that vanished or crashed cannot be reported by it. */
function whileHandedOver(seen: Seen): PhaseDecision {
  const phase = phaseOf(seen.vmi);
  if (!seen.pod) return failed(isDeleting(seen.vmi) ? undefined : { reason: 'PodGone', message: text.launcherGone('of this VMI') });
  const daemon = phase === 'Scheduled' && !isDeleting(seen.vmi) ? endedDaemon(seen.pod) : undefined;
  if (daemon) return failed(daemon);
  const loss = launcherFailure(seen.pod, seen.vmi);
  return isPodDown(seen.pod) && loss ? failed(loss) : { phase };
}

/** The node agent tells the end of a guest before the kubelet tells why it ended the pod. */
function afterFailure({ vmi, pod }: Seen): PhaseDecision {
  return failed(pod && podLoss(pod, vmi));
}

export function nextPhase(seen: Seen): PhaseDecision {
  switch (phaseOf(seen.vmi)) {
    case '':
    case 'Pending':
      return beforeScheduling(seen);
    case 'Scheduling':
      return whileScheduling(seen);
    case 'Scheduled':
    case 'Running':
      return whileHandedOver(seen);
    case 'Failed':
      return afterFailure(seen);
    default:
      return { phase: phaseOf(seen.vmi) };
  }
}
