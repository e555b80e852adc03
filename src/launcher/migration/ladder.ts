// What to do with a migration that does not end by itself: wait, slow its end, switch over, pause the guest, or give up. One look at a time, from
// libvirt's figures; carries nothing out and knows no clock. Used by source.ts, unless the stall detector is asked for (stall-detector.ts).
import type { MigrationMode } from '../../api/domain-report.js';
import type { MigrationOptions } from '../../core/migration/options.js';

/** One look at the job. */
export interface Look {
  readonly elapsedMs: number;
  readonly mode: MigrationMode;
  readonly remainingBytes?: number;
  /** How often memory was gone through. */
  readonly iteration?: number;
  readonly bytesPerSecond?: number;
  /** libvirt has just begun to go through memory once more: only then `remainingBytes` is all that is left. */
  readonly isIteration?: boolean;
}

export type Action =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'post-copy' }
  | { readonly kind: 'pause' }
  /** Lets QEMU stop the guest for so long. `isEnd`: the guest stands from now on. */
  | { readonly kind: 'downtime'; readonly ms: number; readonly isEnd: boolean }
  | { readonly kind: 'abort'; readonly reason: string };

export interface Watch {
  look(look: Look): Action;
}

export interface Migrating {
  readonly options: MigrationOptions;
  /** What travels, for the time it may take. */
  readonly bytes: bigint;
  /** The guest has devices of the host, whose state QEMU reads only when it stands; pausing the vCPUs would not make them. */
  readonly hasHostDevices: boolean;
}

/** QEMU takes no longer one. */
export const MAX_DOWNTIME_MS = 2_000_000;
const GIGA = 1_000_000_000n;
const SECOND = 1000;

export const NOTHING: Action = { kind: 'nothing' };

export const text = {
  stuck: (ms: number): string => `Live migration stuck for ${Math.floor(ms / SECOND)} seconds and has been aborted`,
  late: (ms: number): string => `Live migration is not completed after ${Math.floor(ms / SECOND)} seconds and has been aborted`,
} as const;

/** 0 for no limit. Sizes count as begun gigabytes. */
export const completionMs = ({ options, bytes }: Pick<Migrating, 'options' | 'bytes'>): number =>
  options.completionMsPerGiB * Number((bytes + GIGA - 1n) / GIGA);

/** The end that a guest may be put to for the sake of the migration. */
export function assistance({ options, hasHostDevices }: Migrating, standMs: number): Action {
  if (options.postCopy && !hasHostDevices) return { kind: 'post-copy' };
  return hasHostDevices ? { kind: 'downtime', ms: Math.min(standMs, MAX_DOWNTIME_MS), isEnd: true } : { kind: 'pause' };
}

export class Ladder implements Watch {
  readonly #migrating: Migrating;
  #deadlineMs: number;
  #lastBytes = 0;
  #progressAtMs = 0;

  constructor(migrating: Migrating) {
    this.#migrating = migrating;
    this.#deadlineMs = completionMs(migrating);
  }

  look({ elapsedMs, mode, remainingBytes = this.#lastBytes }: Look): Action {
    if (this.#lastBytes === 0 || remainingBytes < this.#lastBytes) this.#progressAtMs = elapsedMs;
    this.#lastBytes = remainingBytes;
    // The guest runs on the target by now; to end this would end it.
    if (mode === 'PostCopy') return NOTHING;
    const isLate = this.#deadlineMs > 0 && elapsedMs > this.#deadlineMs;
    if (isLate && this.#migrating.options.mayDisrupt && mode !== 'Paused') return this.#assist();
    // Most likely the network; pausing the guest would not help it.
    if (this.#isStuck(elapsedMs)) return { kind: 'abort', reason: text.stuck(elapsedMs - this.#progressAtMs) };
    return isLate ? { kind: 'abort', reason: text.late(this.#deadlineMs) } : NOTHING;
  }

  #isStuck(elapsedMs: number): boolean {
    const { progressTimeoutMs } = this.#migrating.options;
    return progressTimeoutMs > 0 && elapsedMs - this.#progressAtMs > progressTimeoutMs;
  }

  #assist(): Action {
    const action = assistance(this.#migrating, this.#deadlineMs * 2);
    // A standing guest writes nothing: as much time again is enough.
    if (action.kind !== 'post-copy') this.#deadlineMs *= 2;
    return action;
  }
}
