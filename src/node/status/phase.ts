// The phase of a VMI from the state of its domain. Pure; the phase of the VMI moves only here once the VMI was handed to the node.
import type { DomainReport, DomainState } from '../../api/domain-report.js';
import { isDeleting, isFinalPhase, POD_TERMINATING, type VirtualMachineInstance, type VmiPhase } from '../../api/index.js';
import { text } from '../text.js';
import { isLeaving } from './migration.js';

/** What is known about the launcher of a VMI. */
export type LauncherState =
  /** No answer yet; there is still time. */
  | 'starting'
  /** Its process is known, its libvirt is not up yet. */
  | 'initialising'
  /** It answers, and its domain is known. */
  | 'ready'
  /** It never came, or no longer answers. */
  | 'unresponsive';

export interface PhaseFacts {
  readonly vmi: VirtualMachineInstance;
  readonly domain: DomainReport | undefined;
  readonly launcher: LauncherState;
  readonly node: string;
}

export interface PhaseDecision {
  readonly phase: VmiPhase;
  /** CamelCase, with a sentence: only when the phase says that something went wrong. */
  readonly failure?: { readonly reason: string; readonly message: string };
}

const failed = (reason: string, message: string): PhaseDecision => ({ phase: 'Failed', failure: { reason, message } });

type ByState = (facts: PhaseFacts, domain: DomainReport, current: VmiPhase) => PhaseDecision;

const runs: ByState = () => ({ phase: 'Running' });
const unchanged: ByState = (_facts, _domain, phase) => ({ phase });

const BY_STATE: Readonly<Record<DomainState, ByState>> = {
  Running: runs,
  Blocked: runs,
  PMSuspended: runs,
  Paused: (_facts, { status }) =>
    status.reason === 'PostcopyFailed' ? failed('PostCopyFailed', text.postCopyFailed) : { phase: 'Running' },
  Shutoff: afterEnd,
  Crashed: afterEnd,
  ShuttingDown: unchanged,
  NoState: unchanged,
  Unknown: unchanged,
};

export function decidePhase(facts: PhaseFacts): PhaseDecision {
  const current = (facts.vmi.status?.phase ?? '') as VmiPhase;
  if (isFinalPhase(current)) return { phase: current };
  const { domain, vmi, node } = facts;
  // Its domain and its launcher here go because it goes on elsewhere.
  if (isLeaving(vmi, node) && !isAlive(domain) && !hasEndedHere(domain)) return { phase: current };
  return domain === undefined ? withoutDomain(facts, current) : BY_STATE[domain.status.status](facts, domain, current);
}

/** It came to an end instead of arriving elsewhere. */
const hasEndedHere = (domain: DomainReport | undefined): boolean => domain !== undefined && domain.status.reason !== 'Migrated';

function withoutDomain({ vmi, launcher, node }: PhaseFacts, current: VmiPhase): PhaseDecision {
  const isHandedOver = current === 'Scheduled' || current === 'Running';
  if (launcher === 'unresponsive' && isHandedOver) {
    if (current === 'Running') return failed('LauncherUnresponsive', text.launcherUnresponsive(node));
    const why = vmi.metadata.deletionTimestamp === undefined ? text.launcherNeverStarted(node) : text.deletedBeforeStart;
    return failed('LauncherNotStarted', why);
  }
  // libvirt was asked and knows no such domain: a guest that ran is lost, and starting another in its place would hide that.
  if (launcher === 'ready' && current === 'Running') return failed('GuestVanished', text.domainVanished);
  return { phase: current };
}

function afterEnd(facts: PhaseFacts, domain: DomainReport, current: VmiPhase): PhaseDecision {
  const { vmi, launcher } = facts;
  switch (domain.status.reason) {
    case 'Crashed':
    case 'Daemon':
      return failed('GuestCrashed', text.guestCrashed);
    case 'Panicked':
      return failed('GuestPanicked', text.guestPanicked);
    case 'Destroyed':
      return expectsGracefulEnd(vmi, domain) ? failed('GuestKilled', text.guestKilled) : endOf(vmi, domain);
    case 'Shutdown':
      return endOf(vmi, domain);
    case 'Saved':
    case 'FromSnapshot':
      return { phase: 'Succeeded' };
    default:
      // Not an end by itself; without a launcher nothing can come of it.
      return launcher === 'unresponsive' ? withoutDomain(facts, current) : { phase: current };
  }
}

/**
 * A guest that went because its pod was told to go, which nobody had deleted: the kubelet evicted it, or its node shuts down. That is no end
 * that anybody wanted; virt-controller adds the kubelet's words when the pod has ended.
 */
function endOf(vmi: VirtualMachineInstance, { spec }: DomainReport): PhaseDecision {
  const ready = vmi.status?.conditions?.find(({ type }) => type === 'Ready');
  const isWanted = spec.markedForGracefulShutdown !== true || isDeleting(vmi) || ready?.reason === POD_TERMINATING;
  return isWanted ? { phase: 'Succeeded' } : failed('PodStopped', text.podStopped);
}

/** A guest with ACPI and a grace period should have ended by itself. */
function expectsGracefulEnd(vmi: VirtualMachineInstance, domain: DomainReport): boolean {
  const grace = vmi.spec.terminationGracePeriodSeconds ?? domain.spec.gracePeriodSeconds ?? 0;
  return grace > 0 && vmi.spec.domain.features?.acpi?.enabled !== false;
}

/** True while there is a guest that can be asked to shut down. */
export function isAlive(domain: DomainReport | undefined): boolean {
  const state = domain?.status.status;
  return state !== undefined && state !== 'Shutoff' && state !== 'Crashed' && state !== 'NoState';
}
