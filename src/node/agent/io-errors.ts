// When a guest that a failing disk paused is let run on: a few seconds later, and ever less often while the disk goes on failing. Pure; the agent
// keeps the answer with the launcher, and a sync is what lets the guest go.
import type { DomainReport } from '../../api/domain-report.js';

export interface IoErrorRetry {
  /** Tries so far in this row of failures. */
  readonly tries: number;
  readonly nextAt: number;
}

export interface IoErrorDecision {
  /** undefined: no disk fails, and none has lately. */
  readonly retry: IoErrorRetry | undefined;
  /** Let the guest run on now. */
  readonly isDue: boolean;
  /** Look again then. */
  readonly afterMs?: number;
}

const FIRST_MS = 5_000;
const LONGEST_MS = 3 * 60_000;
/** A guest that ran for so long has recovered: its next failure is a new one. */
const RECOVERED_MS = 60_000;

const delayMs = (tries: number): number => Math.min(LONGEST_MS, FIRST_MS * 2 ** tries);

const isPausedByDisk = (domain: DomainReport | undefined): boolean =>
  domain?.status.status === 'Paused' && domain.status.reason === 'IOError';

export function decideIoErrorRetry(domain: DomainReport | undefined, before: IoErrorRetry | undefined, now: number): IoErrorDecision {
  if (!isPausedByDisk(domain)) {
    const isOver = before !== undefined && now - before.nextAt > RECOVERED_MS;
    return { retry: isOver ? undefined : before, isDue: false };
  }
  const { tries, nextAt } = before ?? { tries: 0, nextAt: now + delayMs(0) };
  if (now < nextAt) return { retry: { tries, nextAt }, isDue: false, afterMs: nextAt - now };
  const after = delayMs(tries + 1);
  return { retry: { tries: tries + 1, nextAt: now + after }, isDue: true, afterMs: after };
}
