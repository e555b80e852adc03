// What to do next with one VM on this node: from the VMI, its domain and its launcher to one action. Pure; agent.ts carries it out and
// writes the status afterwards. Never decides the phase (status/phase.ts), but waits for it: a guest's end is written down before its domain goes.
import type { DomainReport } from '../../api/domain-report.js';
import { isFinalPhase, type VirtualMachineInstance } from '../../api/index.js';
import { isLeaving } from '../status/migration.js';
import { decidePhase, isAlive, type LauncherState } from '../status/phase.js';

export interface Seen {
  /** The object that the launcher belongs to; undefined when it vanished. */
  readonly vmi: VirtualMachineInstance | undefined;
  readonly domain: DomainReport | undefined;
  readonly launcher: LauncherState;
  readonly node: string;
  readonly now: number;
}

export type Action =
  | { readonly kind: 'nothing'; readonly why: string }
  | { readonly kind: 'wait'; readonly afterMs: number; readonly why: string }
  /** Network, disks, devices: as soon as the launcher's process is known. */
  | { readonly kind: 'prepare' }
  /** Prepare and let the launcher start the guest. */
  | { readonly kind: 'start' }
  /** Tell the launcher about a changed spec. */
  | { readonly kind: 'update' }
  /** Press the power button; look again after `recheckMs`. */
  | { readonly kind: 'shutdown'; readonly recheckMs: number }
  | { readonly kind: 'kill' }
  /** Remove the definition of a guest that has ended. */
  | { readonly kind: 'delete' }
  /** Nothing is left to manage: unmount, forget. */
  | { readonly kind: 'cleanup' };

const POLL_MS = 5_000;
const SOCKET_POLL_MS = 1_000;
/** As long may a defined guest stay shut off before it counts as one that did not start. */
const START_GRACE_MS = 5 * 60_000;
const DEFAULT_GRACE_S = 30;

const nothing = (why: string): Action => ({ kind: 'nothing', why });
const wait = (afterMs: number, why: string): Action => ({ kind: 'wait', afterMs, why });

export function decide(seen: Seen): Action {
  const { vmi, domain } = seen;
  if (domain?.status.status === 'Unknown') return wait(POLL_MS, 'libvirt does not know the state of the domain');
  if (vmi === undefined) return remove(seen);
  if (isFinalPhase(vmi.status?.phase)) return afterFinal(seen);
  if (isEnding(seen, vmi)) return shutdownStep(seen);
  if (changesPhase(seen, vmi)) return nothing('the phase changes first');
  if (vmi.metadata.deletionTimestamp !== undefined) return remove(seen);
  if (domain !== undefined && !isAlive(domain)) return notRunning(seen, vmi, domain);
  return goOn(seen, vmi);
}

/** The guest is alive and is to go: the VMI is being deleted, or the kubelet told the pod to end. */
function isEnding({ domain }: Seen, vmi: VirtualMachineInstance): boolean {
  if (!isAlive(domain)) return false;
  const isMarked = domain?.spec.markedForGracefulShutdown === true && vmi.status?.phase === 'Running';
  return isMarked || vmi.metadata.deletionTimestamp !== undefined;
}

function changesPhase(seen: Seen, vmi: VirtualMachineInstance): boolean {
  return decidePhase({ vmi, domain: seen.domain, launcher: seen.launcher, node: seen.node }).phase !== vmi.status?.phase;
}

/** Nobody wants the guest any more, or its object is gone. */
function remove(seen: Seen): Action {
  const { domain, launcher } = seen;
  if (launcher === 'unresponsive') return { kind: 'cleanup' };
  if (isAlive(domain)) return shutdownStep(seen);
  if (domain !== undefined) return { kind: 'delete' };
  if (launcher === 'starting') return wait(SOCKET_POLL_MS, 'the launcher has not been reached yet');
  return { kind: 'cleanup' };
}

/** A VMI that counts as ended has no guest: whatever still runs is killed. */
function afterFinal({ domain, launcher }: Seen): Action {
  if (launcher === 'unresponsive') return { kind: 'cleanup' };
  if (isAlive(domain)) return { kind: 'kill' };
  if (domain !== undefined) return { kind: 'delete' };
  return launcher === 'starting' ? wait(SOCKET_POLL_MS, 'the launcher has not been reached yet') : { kind: 'cleanup' };
}

function shutdownStep({ vmi, domain, now }: Seen): Action {
  const graceMs = (vmi?.spec.terminationGracePeriodSeconds ?? domain?.spec.gracePeriodSeconds ?? DEFAULT_GRACE_S) * 1000;
  if (graceMs <= 0) return { kind: 'kill' };
  const startedAt = domain?.spec.gracePeriodStartedAt;
  const remainingMs = (startedAt === undefined ? now : Date.parse(startedAt)) + graceMs - now;
  // A guest that boots overlooks the button, so it is pressed again at every look.
  return remainingMs <= 0 ? { kind: 'kill' } : { kind: 'shutdown', recheckMs: Math.min(POLL_MS, remainingMs) };
}

/** Defined, not running, and no reason that would end the VMI. */
function notRunning({ now }: Seen, vmi: VirtualMachineInstance, domain: DomainReport): Action {
  const reason = domain.status.reason ?? '';
  const isBeingStarted = vmi.status?.phase === 'Scheduled' && (reason === '' || reason === 'Unknown');
  if (isBeingStarted && now - scheduledAt(vmi, now) < START_GRACE_MS) return wait(POLL_MS, 'the domain is defined and not started yet');
  return { kind: 'delete' };
}

function scheduledAt(vmi: VirtualMachineInstance, now: number): number {
  const transition = vmi.status?.phaseTransitionTimestamps?.findLast((entry) => entry.phase === 'Scheduled');
  return transition?.phaseTransitionTimestamp === undefined ? now : Date.parse(transition.phaseTransitionTimestamp);
}

function goOn({ launcher, node }: Seen, vmi: VirtualMachineInstance): Action {
  if (isLeaving(vmi, node)) return nothing('the guest is moving to another node');
  const phase = vmi.status?.phase;
  if (phase !== 'Scheduled' && phase !== 'Running') return nothing(`phase ${phase ?? 'none'} is not the node's to handle`);
  if (launcher === 'starting') return wait(SOCKET_POLL_MS, 'the launcher has not opened its socket yet');
  if (phase === 'Running') return { kind: 'update' };
  if (launcher === 'initialising') return { kind: 'prepare' };
  return awaitsSession(vmi) ? nothing('its owner has not set up the SEV session yet') : { kind: 'start' };
}

/** A guest that is to be attested starts with the keys of its owner, which come by sev/setupsession. */
function awaitsSession({ spec }: VirtualMachineInstance): boolean {
  const sev = spec.domain.launchSecurity?.sev;
  return sev?.attestation !== undefined && (!sev.session || !sev.dhCert);
}
