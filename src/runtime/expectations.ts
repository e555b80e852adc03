// What we have asked for and not yet seen in the cache. While something is outstanding a controller must not decide on counts
// (it would create a second pod). Forgotten after five minutes: an event that never comes must not stop a VM for ever.
import type { ObjectKey } from '../api/index.js';
import { type Clock, ticks } from '../base/clock.js';
import type { Expectations } from './types.js';

const EXPIRE_MS = 5 * 60_000;
/** When a key with something outstanding must be looked at again: the event that would bring it may have been missed for good. */
export const EXPECTATION_RECHECK_MS = EXPIRE_MS + 1_000;

interface Pending {
  readonly creations: Map<string, number>;
  readonly deletions: Map<string, number>;
}

export class TimedExpectations implements Expectations {
  readonly #clock: Clock;
  readonly #pending = new Map<ObjectKey, Pending>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  expectCreation(key: ObjectKey, name: string): void {
    this.#of(key).creations.set(name, ticks(this.#clock) + EXPIRE_MS);
  }

  expectDeletion(key: ObjectKey, uid: string): void {
    this.#of(key).deletions.set(uid, ticks(this.#clock) + EXPIRE_MS);
  }

  observedCreation(key: ObjectKey, name: string): void {
    this.#pending.get(key)?.creations.delete(name);
  }

  observedDeletion(key: ObjectKey, uid: string): void {
    this.#pending.get(key)?.deletions.delete(uid);
  }

  satisfied(key: ObjectKey): boolean {
    return this.pendingCreations(key) === 0 && this.pendingDeletions(key) === 0;
  }

  pendingCreations(key: ObjectKey): number {
    return this.#count(this.#pending.get(key)?.creations);
  }

  pendingDeletions(key: ObjectKey): number {
    return this.#count(this.#pending.get(key)?.deletions);
  }

  forget(key: ObjectKey): void {
    this.#pending.delete(key);
  }

  #of(key: ObjectKey): Pending {
    const known = this.#pending.get(key);
    if (known) return known;
    const fresh: Pending = { creations: new Map(), deletions: new Map() };
    this.#pending.set(key, fresh);
    return fresh;
  }

  #count(of: Map<string, number> | undefined): number {
    if (!of) return 0;
    const now = ticks(this.#clock);
    for (const [id, until] of of) if (until <= now) of.delete(id);
    return of.size;
  }
}
