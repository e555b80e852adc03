// A reflector that never gives up: list, then watch from there; the difference between what we knew and what the list says is told
// to the handlers as if every event had arrived (a re-creation under the same name is deleted(old uid) + added(new uid)).
// Started by the manager; handlers run synchronously and in order, and one that throws does not stop the others.
import { type KubeObject, keyOf } from '../api/index.js';
import { Backoff } from '../base/backoff.js';
import { type Clock, sleep, ticks } from '../base/clock.js';
import { hasCode, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { WatchClient } from './client.js';
import { resourceName } from './paths.js';
import { IndexedStore } from './store.js';
import type { Informer, InformerHandler, ListOptions, Resource, Store } from './types.js';
import type { WatchEvent } from './watch-stream.js';

export interface InformerOptions<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly list?: ListOptions;
  /** See types.ts. */
  readonly whenServed?: boolean;
  readonly client: WatchClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  readonly serverTimeoutMs?: number;
  readonly clientTimeoutMs?: number;
}

// After so many failures in a row without one event the resourceVersion itself is suspect (a restored etcd counts anew).
const FAILURES_BEFORE_RELIST = 3;
// A watch that ends sooner than this counts as a failure, or a broken proxy would make us spin.
const SHORT_WATCH_MS = 1_000;
/** How soon a kind that appears is noticed. */
const NOT_SERVED_RETRY_MS = 5_000;

export class SharedInformer<T extends KubeObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly synced: Promise<void>;
  readonly whenServed: boolean;
  readonly #options: InformerOptions<T>;
  readonly #store: IndexedStore<T>;
  readonly #handlers: InformerHandler<T>[] = [];
  readonly #listBackoff: Backoff;
  readonly #watchBackoff: Backoff;
  readonly #log: Logger;
  #markSynced: () => void = () => undefined;
  #isSynced = false;
  #resourceVersion: string | undefined;
  #failures = 0;
  #lastContactAt: number;

  constructor(options: InformerOptions<T>) {
    this.resource = options.resource;
    this.whenServed = options.whenServed ?? false;
    this.#options = options;
    this.#store = new IndexedStore(resourceName(options.resource));
    this.#log = options.log.child({ resource: resourceName(options.resource) });
    const random = options.random ?? Math.random;
    // Apart, because a list that works says nothing about watches that keep breaking.
    this.#listBackoff = new Backoff({ baseMs: 50, maxMs: 30_000, jitter: 0.5, random });
    this.#watchBackoff = new Backoff({ baseMs: 50, maxMs: 30_000, jitter: 0.5, random });
    this.#lastContactAt = ticks(options.clock);
    this.synced = new Promise((resolve) => {
      this.#markSynced = resolve;
    });
  }

  get store(): Store<T> {
    return this.#store;
  }

  /** When the server was last heard of, in ticks: a list, an event or a bookmark. */
  get lastContactAt(): number {
    return this.#lastContactAt;
  }

  addIndex(name: string, of: (object: T) => readonly string[]): void {
    this.#store.addIndex(name, of);
  }

  on(handler: InformerHandler<T>): void {
    this.#handlers.push(handler);
    // A late handler hears of what is already there.
    if (this.#isSynced) for (const object of this.#store.list()) this.#tell('added', () => handler.added?.(object));
  }

  hasSynced(): boolean {
    return this.#isSynced;
  }

  /** Resolves when the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isListing = this.#resourceVersion === undefined;
      try {
        await (isListing ? this.#relist() : this.#watch(signal));
      } catch (err) {
        if (signal.aborted) return;
        if (this.whenServed && hasCode(err, 'NotFound')) await this.#notServed(signal);
        else await (isListing ? this.#wait(err, this.#listBackoff, signal) : this.#recover(err, signal));
      }
    }
  }

  async #notServed(signal: AbortSignal): Promise<void> {
    this.#lastContactAt = ticks(this.#options.clock);
    this.#isSynced = false;
    this.#resourceVersion = undefined;
    for (const key of this.#store.keys()) this.#remove(key);
    await sleep(this.#options.clock, NOT_SERVED_RETRY_MS, signal);
  }

  async #recover(err: unknown, signal: AbortSignal): Promise<void> {
    this.#failures++;
    const isGone = hasCode(err, 'Gone');
    if (isGone || this.#failures % FAILURES_BEFORE_RELIST === 0) this.#resourceVersion = undefined;
    // Our version is too old: that is normal after a gap, list at once. Only a server that says so again and again is waited for.
    if (!isGone || this.#failures > 1) await this.#wait(err, this.#watchBackoff, signal);
  }

  async #wait(err: unknown, backoff: Backoff, signal: AbortSignal): Promise<void> {
    const waitMs = backoff.next();
    this.#log[backoff.failures > 1 ? 'warn' : 'info']({ err: messageOf(err), waitMs }, 'Lost touch with the API server; trying again');
    await sleep(this.#options.clock, waitMs, signal);
  }

  #alive(): void {
    this.#lastContactAt = ticks(this.#options.clock);
    this.#failures = 0;
    this.#watchBackoff.reset();
  }

  async #relist(): Promise<void> {
    const { client, clock, list } = this.#options;
    const page = await client.list(this.resource, list ?? {});
    this.#lastContactAt = ticks(clock);
    this.#listBackoff.reset();
    const present = new Set<string>();
    for (const item of page.items) present.add(keyOf(item));
    for (const key of this.#store.keys()) if (!present.has(key)) this.#remove(key);
    for (const item of page.items) this.#put(item);
    this.#resourceVersion = page.metadata.resourceVersion;
    if (!this.#isSynced) {
      this.#isSynced = true;
      this.#log.debug({ count: page.items.length }, 'Cache is in sync');
      this.#markSynced();
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, clock, list, serverTimeoutMs, clientTimeoutMs } = this.#options;
    const openedAt = ticks(clock);
    let heard = false;
    const events = await client.watch(this.resource, {
      ...list,
      resourceVersion: this.#resourceVersion ?? '',
      signal,
      ...(serverTimeoutMs === undefined ? {} : { serverTimeoutMs }),
      ...(clientTimeoutMs === undefined ? {} : { clientTimeoutMs }),
    });
    for await (const batch of events) {
      if (signal.aborted) return;
      for (const event of batch) this.#apply(event);
      heard = true;
      this.#alive();
    }
    if (heard || ticks(clock) - openedAt >= SHORT_WATCH_MS) this.#alive();
    else await this.#recover(new Error('the server ended the watch at once'), signal);
  }

  #apply({ type, object }: WatchEvent<T>): void {
    if (type === 'ADDED' || type === 'MODIFIED') this.#put(object);
    else if (type === 'DELETED') this.#remove(keyOf(object), object);
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  #put(object: T): void {
    // Nobody reads managed fields; without them the cache is half as big. (Set, not deleted: keeps V8's fast object shape.)
    (object.metadata as { managedFields?: unknown }).managedFields = undefined;
    const old = this.#store.get(keyOf(object));
    if (old && old.metadata.uid !== object.metadata.uid) {
      this.#remove(keyOf(object));
      this.#store.set(object);
      this.#tellAll('added', (handler) => handler.added?.(object));
    } else if (old) {
      if (old.metadata.resourceVersion === object.metadata.resourceVersion) return;
      this.#store.set(object);
      this.#tellAll('updated', (handler) => handler.updated?.(object, old));
    } else {
      this.#store.set(object);
      this.#tellAll('added', (handler) => handler.added?.(object));
    }
  }

  /** `last` is the object's final state, if the server told it. */
  #remove(key: string, last?: T): void {
    const known = this.#store.get(key);
    if (!known) return;
    this.#store.delete(key);
    const object = last && last.metadata.uid === known.metadata.uid ? last : known;
    this.#tellAll('deleted', (handler) => handler.deleted?.(object));
  }

  #tellAll(event: string, call: (handler: InformerHandler<T>) => void): void {
    for (const handler of this.#handlers) this.#tell(event, () => call(handler));
  }

  #tell(event: string, call: () => void): void {
    try {
      call();
    } catch (err) {
      // A bug in one handler must not cost the others their event, nor the cache its place in the stream.
      this.#log.error({ err: err as Error, event }, 'A handler failed');
    }
  }
}
