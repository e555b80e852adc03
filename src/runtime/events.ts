// Events for people: one on each transition. The same event within ten minutes is counted up instead of repeated, many different
// messages for one reason become one event, and a storm is dropped at the end of a bounded queue. Never throws, never blocks;
// names are derived from the content, so that a restarted process counts up the event of its predecessor.
import { createHash } from 'node:crypto';
import { type CoreEvent, type KubeObject, keyOf } from '../api/index.js';
import { type Clock, metaTime } from '../base/clock.js';
import { hasCode, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { EVENTS } from './resources.js';
import type { EventRecorder, KubeClient } from './types.js';

export interface EventOptions {
  readonly component: string;
  readonly host?: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}

type EventType = 'Normal' | 'Warning';

interface Seen {
  count: number;
  readonly firstAt: number;
  lastAt: number;
  writtenAt: number;
  queued: boolean;
  /** On the server, as far as we know. */
  exists: boolean;
}

interface Wanted {
  readonly object: KubeObject;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly name: string;
}

const WINDOW_MS = 10 * 60_000;
/** A repeated event is written at most once in this time. */
const REWRITE_MS = 60_000;
const MAX_QUEUED = 1000;
const MAX_SEEN = 4096;
const MAX_DIFFERENT = 10;
// Event validation: message 1024 bytes, name 253 (the hash takes 13 of it).
const MAX_MESSAGE = 1024;
const MAX_NAME = 240;

export class QueuedEventRecorder implements EventRecorder {
  readonly #options: EventOptions;
  readonly #queue: Wanted[] = [];
  readonly #seen = new Map<string, Seen>();
  readonly #similar = new Map<string, { readonly since: number; readonly messages: Set<string> }>();
  #writing = false;
  #dropped = 0;

  constructor(options: EventOptions) {
    this.#options = options;
  }

  event(object: KubeObject, type: EventType, reason: string, message: string): void {
    const now = this.#options.clock.now();
    const text = this.#aggregate(object, type, reason, message, now).slice(0, MAX_MESSAGE);
    const name = eventName(object, [this.#options.component, type, reason, text]);
    const old = this.#seen.get(name);
    if (!old || now - old.lastAt > WINDOW_MS) {
      this.#remember(name, { count: 1, firstAt: now, lastAt: now, writtenAt: now, queued: true, exists: false });
    } else {
      old.count++;
      old.lastAt = now;
      if (old.queued || now - old.writtenAt < REWRITE_MS) return;
      old.queued = true;
    }
    this.#enqueue({ object, type, reason, message: text, name });
  }

  /** More than a few different messages for one reason say the same thing: something keeps failing. */
  #aggregate(object: KubeObject, type: EventType, reason: string, message: string, now: number): string {
    const key = `${object.metadata.uid ?? keyOf(object)}/${type}/${reason}`;
    const known = this.#similar.get(key);
    if (!known || now - known.since > WINDOW_MS) {
      this.#similar.set(key, { since: now, messages: new Set([message]) });
      trim(this.#similar);
      return message;
    }
    if (known.messages.has(message)) return message;
    if (known.messages.size < MAX_DIFFERENT) {
      known.messages.add(message);
      return message;
    }
    return `(combined from similar events) ${[...known.messages].at(-1) ?? message}`;
  }

  #remember(name: string, seen: Seen): void {
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    trim(this.#seen);
  }

  #enqueue(wanted: Wanted): void {
    if (this.#queue.length >= MAX_QUEUED) {
      this.#dropped++;
      return;
    }
    this.#queue.push(wanted);
    if (!this.#writing) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    for (let wanted = this.#queue.shift(); wanted; wanted = this.#queue.shift()) {
      const seen = this.#seen.get(wanted.name);
      if (!seen) continue;
      seen.queued = false;
      seen.writtenAt = this.#options.clock.now();
      try {
        await this.#write(wanted, seen);
      } catch (err) {
        // An event is a courtesy: the object's conditions hold the truth, so a lost one is logged and not retried.
        this.#options.log.warn({ err: messageOf(err), reason: wanted.reason, event: wanted.name }, 'Event not written');
      }
    }
    this.#writing = false;
    if (this.#dropped > 0) this.#options.log.warn({ dropped: this.#dropped }, 'Events dropped: too many at once');
    this.#dropped = 0;
  }

  async #write(wanted: Wanted, seen: Seen): Promise<void> {
    const { client } = this.#options;
    const namespace = wanted.object.metadata.namespace ?? 'default';
    const key = `${namespace}/${wanted.name}`;
    const lastTimestamp = metaTime(seen.lastAt);
    if (seen.exists) {
      try {
        await client.mergePatch(EVENTS, key, { count: seen.count, lastTimestamp });
        return;
      } catch (err) {
        if (!hasCode(err, 'NotFound')) throw err; // expired on the server: written anew below
      }
    }
    try {
      await client.create(EVENTS, this.#render(wanted, seen, namespace));
      seen.exists = true;
    } catch (err) {
      if (!hasCode(err, 'AlreadyExists')) throw err;
      // From before our restart, or older than the window: the same event again. A patch answers with the object, so no right to
      // read events is needed.
      const old = await client.mergePatch(EVENTS, key, { lastTimestamp });
      seen.count += old.count ?? 1;
      await client.mergePatch(EVENTS, key, { count: seen.count });
      seen.exists = true;
    }
  }

  #render({ object, type, reason, message, name }: Wanted, seen: Seen, namespace: string): CoreEvent {
    const { component, host } = this.#options;
    const { apiVersion, kind, metadata } = object;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: {
        ...(apiVersion ? { apiVersion } : {}),
        ...(kind ? { kind } : {}),
        ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
        ...(metadata.name ? { name: metadata.name } : {}),
        ...(metadata.uid ? { uid: metadata.uid } : {}),
        ...(metadata.resourceVersion ? { resourceVersion: metadata.resourceVersion } : {}),
      },
      type,
      reason,
      message,
      source: { component, ...(host ? { host } : {}) },
      reportingComponent: component,
      reportingInstance: host ?? '',
      count: seen.count,
      firstTimestamp: metaTime(seen.firstAt),
      lastTimestamp: metaTime(seen.lastAt),
    };
  }
}

function eventName(object: KubeObject, content: readonly string[]): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([object.metadata.uid, ...content]))
    .digest('hex')
    .slice(0, 12);
  return `${(object.metadata.name ?? 'unknown').slice(0, MAX_NAME).replace(/[.-]+$/, '')}.${hash}`;
}

function trim(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) {
    if (map.size <= MAX_SEEN) return;
    map.delete(oldest);
  }
}
