// The queue between informers and workers: a key is in it once, is worked on by one worker at a time, and comes back later when
// asked or when its work failed (exponential, per key, under a common limit). Carries keys only; what happened is read from state.
import { type Clock, ticks } from '../base/clock.js';
import type { QueueMetrics } from '../base/metrics.js';
import { RateLimiter } from './rate-limiter.js';

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly metrics?: QueueMetrics;
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
}

// A burst of conflicts is normal when many VMs start together; a lasting storm is slowed to this rate.
const RETRY_LIMIT = { qps: 50, burst: 500 };

export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #limiter: RateLimiter;
  /** Waiting, in order, with the time of arrival. */
  readonly #ready = new Map<K, number>();
  /** Being worked on, with the time of start. */
  readonly #active = new Map<K, number>();
  /** Asked for again while being worked on. */
  readonly #again = new Set<K>();
  readonly #delayed = new Map<K, { readonly at: number; readonly cancel: () => void }>();
  readonly #failures = new Map<K, number>();
  readonly #waiters: ((key: K | undefined) => void)[] = [];
  #idle: (() => void)[] = [];
  #stopped = false;

  constructor({ clock, metrics, baseDelayMs = 5, maxDelayMs = 1_000_000 }: WorkQueueOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    this.#limiter = new RateLimiter(RETRY_LIMIT, clock);
  }

  get size(): number {
    return this.#ready.size;
  }

  /** Seconds for which each unfinished key is being worked on. */
  running(): number[] {
    const now = ticks(this.#clock);
    return [...this.#active.values()].map((since) => (now - since) / 1000);
  }

  add(key: K): void {
    if (this.#stopped || this.#ready.has(key) || this.#again.has(key)) return;
    this.#metrics?.added();
    if (this.#active.has(key)) this.#again.add(key);
    else this.#offer(key);
  }

  /** The earliest wish wins; a key that is already waiting for sooner stays there. */
  addAfter(key: K, ms: number): void {
    if (this.#stopped) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const at = ticks(this.#clock) + ms;
    const waiting = this.#delayed.get(key);
    if (waiting && waiting.at <= at) return;
    waiting?.cancel();
    const cancel = this.#clock.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { at, cancel });
  }

  /** After a failure: later each time. Returns the delay in ms. */
  retry(key: K): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const own = Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** Math.min(failures, 30));
    const ms = Math.max(own, this.#limiter.reserve());
    this.#metrics?.retried();
    this.addAfter(key, ms);
    return ms;
  }

  /** After a success: the next failure starts at the shortest delay again. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, or undefined when the queue was stopped. done(key) must follow. */
  next(): Promise<K | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const first = this.#ready.entries().next();
    if (first.done) return new Promise((resolve) => this.#waiters.push(resolve));
    const [key, since] = first.value;
    this.#ready.delete(key);
    this.#metrics?.depth(this.#ready.size);
    this.#start(key, since);
    return Promise.resolve(key);
  }

  done(key: K): void {
    const since = this.#active.get(key);
    if (since !== undefined) this.#metrics?.finished((ticks(this.#clock) - since) / 1000);
    this.#active.delete(key);
    if (this.#again.delete(key) && !this.#stopped) this.#offer(key);
    if (this.#active.size === 0) this.#tellIdle();
  }

  /** No new work; workers get undefined. What is being worked on goes on. */
  stop(): void {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#again.clear();
    this.#metrics?.depth(0);
    for (const resolve of this.#waiters.splice(0)) resolve(undefined);
  }

  /** Resolves when nothing is being worked on. */
  idle(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #offer(key: K): void {
    const waiter = this.#waiters.shift();
    if (waiter) {
      this.#start(key, ticks(this.#clock));
      waiter(key);
      return;
    }
    this.#ready.set(key, ticks(this.#clock));
    this.#metrics?.depth(this.#ready.size);
  }

  #start(key: K, since: number): void {
    const now = ticks(this.#clock);
    this.#active.set(key, now);
    this.#metrics?.started((now - since) / 1000);
  }

  #tellIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
