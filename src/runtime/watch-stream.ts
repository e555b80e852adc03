// One watch request: opens the stream, parses its lines, and ends it when it has lived longer than the server was asked to keep it
// (a half-open connection never ends by itself). Knows nothing of caches; the informer decides what to do next.
import type { KubeObject } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { KvError } from '../base/errors.js';
import { apiError } from './api-error.js';
import { collectionPath, query, resourceName } from './paths.js';
import type { Transport, TransportStream } from './transport.js';
import type { ListOptions, Resource } from './types.js';

export interface WatchOptions extends ListOptions {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  /** After this time the server ends the watch. */
  readonly serverTimeoutMs?: number;
  /** After this time we give the connection up: the server should have ended it. */
  readonly clientTimeoutMs?: number;
}

export interface WatchEvent<T extends KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/** Batches of events in order; ends with the server's end, throws KvError (Gone: list again). */
export type WatchStream<T extends KubeObject> = AsyncIterable<readonly WatchEvent<T>[]>;

const SERVER_TIMEOUT_MS = 300_000;
const CLIENT_TIMEOUT_MS = 330_000;
const CONNECT_TIMEOUT_MS = 30_000;

export async function openWatch<T extends KubeObject>(
  transport: Transport,
  clock: Clock,
  resource: Resource<T>,
  options: WatchOptions,
): Promise<WatchStream<T>> {
  const what = `watch ${resourceName(resource)}`;
  const { namespace, labelSelector, fieldSelector, resourceVersion, serverTimeoutMs = SERVER_TIMEOUT_MS } = options;
  const path =
    collectionPath(resource, namespace) +
    query({
      watch: true,
      allowWatchBookmarks: true,
      labelSelector,
      fieldSelector,
      resourceVersion,
      timeoutSeconds: Math.max(1, Math.round(serverTimeoutMs / 1000)),
    });
  const stop = new AbortController();
  const clientTimeoutMs = options.clientTimeoutMs ?? CLIENT_TIMEOUT_MS;
  const cancelConnect = clock.after(Math.min(CONNECT_TIMEOUT_MS, clientTimeoutMs), () => stop.abort());
  try {
    const stream = await transport.stream({ method: 'GET', path, signal: AbortSignal.any([options.signal, stop.signal]) });
    if (stream.status !== 200) throw apiError({ what }, { status: stream.status, body: await bodyOf(stream) });
    return events<T>(stream, what, { clock, afterMs: clientTimeoutMs, stop });
  } catch (err) {
    if (stop.signal.aborted) throw new KvError('Timeout', `${what}: no answer within ${CONNECT_TIMEOUT_MS / 1000} s`, { cause: err });
    throw err;
  } finally {
    cancelConnect();
  }
}

async function bodyOf(stream: TransportStream): Promise<string> {
  const lines: string[] = [];
  for await (const batch of stream.lines) lines.push(...batch);
  return lines.join('\n');
}

interface Deadline {
  readonly clock: Clock;
  readonly afterMs: number;
  readonly stop: AbortController;
}

async function* events<T extends KubeObject>(
  stream: TransportStream,
  what: string,
  deadline: Deadline,
): AsyncGenerator<readonly WatchEvent<T>[]> {
  const cancel = deadline.clock.after(deadline.afterMs, () => deadline.stop.abort());
  try {
    for await (const lines of stream.lines) {
      const { parsed, failure } = parseEvents<T>(lines, what);
      // What arrived before the failure still counts: the next watch starts behind it.
      if (parsed.length > 0) yield parsed;
      if (failure) throw failure;
    }
  } catch (err) {
    if (!deadline.stop.signal.aborted) throw err;
    throw new KvError('Timeout', `${what}: the connection is dead, it outlived its ${deadline.afterMs / 1000} s`, { cause: err });
  } finally {
    cancel();
    stream.close();
  }
}

function parseEvents<T extends KubeObject>(lines: readonly string[], what: string): { parsed: WatchEvent<T>[]; failure?: KvError } {
  const parsed: WatchEvent<T>[] = [];
  for (const line of lines) {
    try {
      const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: { code?: number } };
      if (event.type === 'ERROR') {
        const failure = apiError({ what }, { status: event.object.code ?? 500, body: JSON.stringify(event.object) });
        return { parsed, failure };
      }
      parsed.push(event);
    } catch (err) {
      return { parsed, failure: new KvError('Unavailable', `${what}: a line of the stream is not valid JSON`, { cause: err }) };
    }
  }
  return { parsed };
}
