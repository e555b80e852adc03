// A Kubernetes API server in memory, spoken to through Transport: CRUD, patches, paging, watches with history and 410, status
// subresources, finalizers, garbage collection. For tests of controllers under a virtual clock. No validation, no defaulting.
import { type KubeObject, keyOf } from '../../src/api/index.js';
import type { Clock } from '../../src/base/clock.js';
import { KvError } from '../../src/base/errors.js';
import type { Transport, TransportRequest, TransportResponse, TransportStream } from '../../src/runtime/transport.js';
import { ApiStatus, type Change, ObjectStore } from './object-store.js';
import { patched } from './patches.js';
import { type Matcher, matcher } from './selectors.js';

export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

interface Target {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly parameters: URLSearchParams;
}

/** Kinds whose status is written apart. VirtualMachineInstance is none of them, as upstream. */
const WITH_STATUS =
  /^(\/(pods|nodes|namespaces|persistentvolumeclaims|services)|apps\/.*|batch\/.*|policy\/.*|kubevirt\.io\/(virtualmachines|kubevirts|virtualmachineinstancemigrations)|apiextensions\.k8s\.io\/.*)$/;

const BOOKMARK_MS = 60_000;

export class SimApiServer {
  readonly store: ObjectStore;
  /** Every write that came over a transport, in order. */
  readonly writes: Write[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.store = new ObjectStore(clock);
  }

  transport(): Transport {
    return {
      host: 'sim:6443',
      request: async (request) => this.#answer(request),
      stream: async (request) => this.#watch(request),
      close: () => undefined,
    };
  }

  #answer(request: TransportRequest): TransportResponse {
    try {
      return json(200, this.#handle(request));
    } catch (err) {
      if (err instanceof ApiStatus) return json(err.code, statusBody(err));
      throw err;
    }
  }

  #handle(request: TransportRequest): unknown {
    const target = parseTarget(request.path);
    const body: unknown = request.body === undefined ? undefined : JSON.parse(request.body);
    if (request.method !== 'GET') this.writes.push({ method: request.method, path: request.path, body });
    if (request.method === 'GET') return target.name ? this.store.get(target.collection, key(target)) : this.#list(target);
    if (request.method === 'DELETE') return this.#delete(target, body);
    if (request.method === 'POST') return this.#post(target, body as KubeObject);
    if (request.method === 'PUT') return this.store.update(target.collection, body as KubeObject, this.#part(target));
    return this.#patch(target, request.headers?.['content-type'] ?? '', body);
  }

  #part({ collection, subresource }: Target): 'spec' | 'status' | 'all' {
    if (subresource === 'status') return 'status';
    return WITH_STATUS.test(collection) ? 'spec' : 'all';
  }

  #post(target: Target, body: KubeObject): unknown {
    if (target.subresource === 'eviction') return this.store.delete(target.collection, key(target));
    if (target.name) throw new ApiStatus(404, 'NotFound', `the server could not find the requested resource: ${target.subresource}`);
    const object = { ...body, metadata: { ...body.metadata, ...(target.namespace ? { namespace: target.namespace } : {}) } };
    if (this.#part(target) === 'spec') delete (object as { status?: unknown }).status;
    return this.store.create(target.collection, object);
  }

  #delete(target: Target, body: unknown): unknown {
    const options = (body ?? {}) as { preconditions?: { uid?: string }; gracePeriodSeconds?: number };
    const { gracePeriodSeconds, preconditions } = options;
    return this.store.delete(target.collection, key(target), {
      ...(preconditions?.uid ? { uid: preconditions.uid } : {}),
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    });
  }

  #patch(target: Target, contentType: string, body: unknown): unknown {
    if (contentType.includes('apply')) return this.#apply(target, body as KubeObject);
    const old = this.store.get(target.collection, key(target));
    const next = patched(old, contentType, body) as KubeObject;
    return this.store.update(target.collection, next, this.#part(target));
  }

  #apply(target: Target, body: KubeObject): unknown {
    try {
      const old = this.store.get(target.collection, key(target));
      return this.store.update(target.collection, patched(old, 'merge', body) as KubeObject, this.#part(target));
    } catch (err) {
      if (!(err instanceof ApiStatus) || err.code !== 404) throw err;
      return this.store.create(target.collection, body);
    }
  }

  #list(target: Target): unknown {
    const matches = selected(target);
    const token = target.parameters.get('continue');
    const { version, start } = token
      ? (JSON.parse(atob(token)) as { version: number; start: string })
      : { version: this.store.version, start: '' };
    if (version < this.store.oldest) throw new ApiStatus(410, 'Expired', 'The provided continue parameter is too old');
    const limit = Number(target.parameters.get('limit') ?? Number.POSITIVE_INFINITY);
    const all = this.store.list(target.collection).filter((object) => matches(object) && keyOf(object) > start);
    // Built-in kinds come without their type in lists.
    const items = all.slice(0, limit).map(({ apiVersion: _a, kind: _k, ...rest }) => rest);
    const last = all[limit - 1];
    const more = last && all.length > limit ? btoa(JSON.stringify({ version, start: keyOf(last) })) : '';
    return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: String(version), continue: more }, items };
  }

  #watch(request: TransportRequest): TransportStream {
    const target = parseTarget(request.path);
    const from = Number(target.parameters.get('resourceVersion') || this.store.version);
    const lines = new LineQueue(request.signal);
    const headers = { 'content-type': 'application/json' };
    if (from < this.store.oldest) {
      const gone = statusBody(new ApiStatus(410, 'Expired', `too old resource version: ${from} (${this.store.oldest})`));
      lines.push({ type: 'ERROR', object: gone });
      lines.end();
      return { status: 200, headers, lines, close: () => lines.end() };
    }
    const matches = selected(target);
    const send = (change: Change): void => {
      const event = visible(change, matches);
      if (event) lines.push(event);
    };
    for (const change of this.store.since(target.collection, from)) send(change);
    const stopListening = this.store.onChange((collection, change) => {
      if (collection === target.collection) send(change);
    });
    const cancels = [stopListening, this.#bookmarks(lines), this.#timeout(target, lines)];
    lines.onEnd = () => {
      for (const cancel of cancels) cancel();
    };
    return { status: 200, headers, lines, close: () => lines.end() };
  }

  #bookmarks(lines: LineQueue): () => void {
    let cancel: () => void = () => undefined;
    const arm = (): void => {
      cancel = this.#clock.after(BOOKMARK_MS, () => {
        lines.push({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.store.version) } } });
        arm();
      });
    };
    arm();
    return () => cancel();
  }

  #timeout(target: Target, lines: LineQueue): () => void {
    return this.#clock.after(Number(target.parameters.get('timeoutSeconds') ?? 300) * 1000, () => lines.end());
  }
}

function visible({ type, object, old }: Change, matches: Matcher): { type: string; object: KubeObject } | undefined {
  const was = old ? matches(old) : type !== 'ADDED';
  const is = matches(object);
  if (type !== 'MODIFIED') return is ? { type, object } : undefined;
  if (was && is) return { type, object };
  if (is) return { type: 'ADDED', object };
  return was ? { type: 'DELETED', object } : undefined;
}

function selected(target: Target): Matcher {
  const matches = matcher(target.parameters.get('labelSelector') ?? '', target.parameters.get('fieldSelector') ?? '');
  return (object) => (!target.namespace || object.metadata.namespace === target.namespace) && matches(object);
}

const key = ({ namespace, name = '' }: Target): string => (namespace ? `${namespace}/${name}` : name);

function parseTarget(path: string): Target {
  const url = new URL(path, 'http://sim');
  const match =
    /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+)(?=\/(?!status$|finalize$)))?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(
      url.pathname,
    );
  if (!match) throw new ApiStatus(404, 'NotFound', `the server could not find the requested resource: ${path}`);
  const [, group = '', namespace, plural = '', name, subresource] = match.map((part) =>
    part === undefined ? undefined : decodeURIComponent(part),
  );
  return { collection: `${group}/${plural}`, namespace, name, subresource, parameters: url.searchParams };
}

const json = (status: number, body: unknown): TransportResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const statusBody = ({ code, reason, message }: ApiStatus): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  reason,
  message,
});

/** Lines pushed by the server and pulled by the watcher; ends with the signal as a broken connection does. */
class LineQueue implements AsyncIterable<readonly string[]> {
  onEnd: () => void = () => undefined;
  #lines: string[] = [];
  #wake: () => void = () => undefined;
  #ended = false;
  #broken = false;

  constructor(signal?: AbortSignal) {
    signal?.addEventListener('abort', () => {
      this.#broken = true;
      this.end();
    });
  }

  push(event: object): void {
    if (this.#ended) return;
    this.#lines.push(JSON.stringify(event));
    this.#wake();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onEnd();
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly string[]> {
    for (;;) {
      if (this.#broken) throw new KvError('Unavailable', 'the stream broke');
      if (this.#lines.length > 0) {
        const batch = this.#lines;
        this.#lines = [];
        yield batch;
        continue;
      }
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
