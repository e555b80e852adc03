// A clock that only moves when a test says so. Between two timers every pending promise gets its turn, so whole controllers run in
// virtual minutes without waiting.
import type { Clock } from '../../src/base/clock.js';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
}

const REAL_PAUSE_MS = 5;

export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<Timer>();
  readonly #held = new Set<Promise<unknown>>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, fn: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fn };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Work in real time (cryptography, files): the clock stands still until it is done. */
  hold<T>(work: Promise<T>): Promise<T> {
    this.#held.add(work);
    const done = (): void => void this.#held.delete(work);
    work.then(done, done);
    return work;
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    do {
      await Promise.allSettled(this.#held);
      for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    } while (this.#held.size > 0);
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      await this.settle();
    }
    this.#now = until;
    await this.settle();
  }

  /** Moves on in steps until the check passes; throws what it threw last when `withinMs` are over. */
  async eventually<T>(check: () => T | Promise<T>, withinMs = 60_000, stepMs = 100): Promise<T> {
    const deadline = this.#now + withinMs;
    for (;;) {
      await this.settle();
      try {
        return await check();
      } catch (err) {
        if (this.#now >= deadline) throw err;
        // What reads files or sockets needs real time too: without it virtual seconds pass before a read on a busy machine has ended.
        await new Promise<void>((resolve) => setTimeout(resolve, REAL_PAUSE_MS));
        await this.advance(stepMs);
      }
    }
  }

  #next(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > until) continue;
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer;
    }
    return first;
  }
}
