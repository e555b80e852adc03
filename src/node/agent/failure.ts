// What an error of a step means for the VMI: shown on it, only retried, or the end of it. Pure.
import type { Condition } from '../../api/conditions.js';
import { findCondition } from '../../api/conditions.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { hasCode, isKvError, messageOf } from '../../base/errors.js';
import { STUCK } from '../../base/steps.js';
import type { Failure } from '../status/conditions.js';
import type { PhaseDecision } from '../status/phase.js';
import { text } from '../text.js';

/** Pods beside the launcher that are not up yet are no news while it is this young. */
const SETTLE_MS: Readonly<Record<string, number>> = { ContainerDiskNotReady: 60_000, HotplugVolumesNotReady: 15_000 };
const MAX_MESSAGE = 4096;
const NO_FIRMWARE = 'EFI OVMF rom missing';

/** undefined: nothing that a user should see; a failure shown before stays until a step succeeds. */
export function failureOf(err: unknown, vmi: VirtualMachineInstance, ageMs: number): Failure | undefined {
  if (err === undefined) return undefined;
  if (isPassing(err, ageMs)) return shownBefore(vmi);
  return { reason: (isKvError(err) && err.reason) || text.syncFailedReason, message: sentenceOf(err) };
}

/**
 * What is another at every try (times of QEMU's messages, numbers of open files) would be a new condition and a new event each. A launcher is not
 * trusted: its words must not fill the VMI, which then could not be written any more.
 */
function sentenceOf(err: unknown): string {
  const message = messageOf(err).slice(0, MAX_MESSAGE);
  return message.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z /g, '').replaceAll(/\/proc\/self\/fd\/\d+/g, '');
}

/** Lost races and silent launchers settle by themselves or are noticed by the watchdog. Where a launcher is stuck only its user can mend. */
function isPassing(err: unknown, ageMs: number): boolean {
  if (isKvError(err) && err.reason === STUCK) return false;
  if (hasCode(err, 'Conflict', 'LauncherUnreachable', 'Timeout')) return true;
  return isKvError(err) && ageMs < (SETTLE_MS[err.reason ?? ''] ?? 0);
}

function shownBefore(vmi: VirtualMachineInstance): Failure | undefined {
  const shown = findCondition(vmi.status?.conditions as Condition[] | undefined, 'Synchronized');
  return shown?.status === 'False' ? { reason: shown.reason ?? text.syncFailedReason, message: shown.message ?? '' } : undefined;
}

/** Errors after which no retry in this pod can succeed. */
export function fatalPhase(err: unknown): PhaseDecision | undefined {
  const isFatal = hasCode(err, 'CriticalNetwork') || (isKvError(err) && err.message.includes(NO_FIRMWARE));
  if (!isFatal) return undefined;
  return { phase: 'Failed', failure: { reason: err.reason ?? text.syncFailedReason, message: sentenceOf(err) } };
}
