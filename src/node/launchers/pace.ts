// How often one launcher may speak. A launcher stands next to its guest and is not trusted: each of its notifications costs a reconcile and may
// end in a write to the cluster, each of its events is one. Beyond a burst it is slowed down, and turned away when it goes on regardless.
// The state behind it: a bucket that fills at a steady rate.
import { type Clock, sleep } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';

export interface PaceLimits {
  readonly burst: number;
  readonly perSecond: number;
  /** As many may wait for their turn. */
  readonly waiting: number;
}

export class Pace {
  readonly #clock: Clock;
  readonly #limits: PaceLimits;
  #tokens: number;
  #at: number;
  #waiting = 0;

  constructor(clock: Clock, limits: PaceLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#at = clock.now();
  }

  #refill(): void {
    const { burst, perSecond } = this.#limits;
    const now = this.#clock.now();
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * perSecond);
    this.#at = now;
  }

  /** True when one more is within the limits; never waits. */
  take(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Resolves when it is the caller's turn. */
  async turn(): Promise<void> {
    if (this.#waiting === 0 && this.take()) return;
    if (this.#waiting >= this.#limits.waiting) {
      throw new KvError('Unavailable', 'this launcher sends more notifications than anybody needs; it is not listened to for a while');
    }
    this.#waiting++;
    try {
      this.#refill();
      // Turns are reserved in advance: the bucket goes below zero.
      this.#tokens -= 1;
      await sleep(this.#clock, Math.max(0, (-this.#tokens / this.#limits.perSecond) * 1000));
    } finally {
      this.#waiting--;
    }
  }
}
