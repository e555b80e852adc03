// KubeClient over a Transport: paths, bodies, paging, error codes, our own rate limit, and patience where the server asks for it
// (429 and 5xx with Retry-After). Objects are plain JSON in both directions. One instance a process; used by every room.
import { type KubeList, type KubeObject, keyOf, type ObjectKey } from '../api/index.js';
import { type Clock, sleep, ticks } from '../base/clock.js';
import { hasCode, KvError } from '../base/errors.js';
import type { Metrics } from '../base/metrics.js';
import { apiError } from './api-error.js';
import { collectionPath, objectPath, pathTemplate, query, resourceName } from './paths.js';
import type { RateLimiter } from './rate-limiter.js';
import type { HttpMethod, Transport, TransportResponse } from './transport.js';
import type { DeleteOptions, JsonPatchOperation, KubeClient, ListOptions, Resource, WriteOptions } from './types.js';
import { openWatch, type WatchOptions, type WatchStream } from './watch-stream.js';

export interface RestClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Without one, requests are not throttled. */
  readonly limiter?: RateLimiter;
  readonly metrics?: Metrics;
  readonly userAgent?: string;
  readonly timeoutMs?: number;
  /** Objects a page of a list. */
  readonly pageSize?: number;
}

/** What informers need beyond KubeClient. */
export interface WatchClient extends KubeClient {
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): Promise<WatchStream<T>>;
}

interface Call {
  readonly verb: string;
  readonly method: HttpMethod;
  readonly resource: Resource<KubeObject>;
  readonly key?: ObjectKey | undefined;
  readonly path: string;
  readonly subresource?: string | undefined;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly guarded?: boolean;
}

const PAGE_SIZE = 500;
const MAX_RETRIES = 3;
const MAX_RETRY_AFTER_MS = 10_000;

export class RestClient implements WatchClient {
  readonly #options: RestClientOptions;
  #refusal: string | undefined;

  constructor(options: RestClientOptions) {
    this.#options = options;
  }

  /** From now on every write throws: a process that lost its lease must not write. */
  refuseWrites(why: string): void {
    this.#refusal = why;
  }

  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T> {
    return this.#call<T>({ verb: 'GET', method: 'GET', resource, key, path: objectPath(resource, key) });
  }

  async find<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T | undefined> {
    try {
      return await this.get(resource, key);
    } catch (err) {
      if (hasCode(err, 'NotFound')) return undefined;
      throw err;
    }
  }

  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    try {
      return await this.#pages(resource, options, this.#options.pageSize ?? PAGE_SIZE);
    } catch (err) {
      // A page token outlives its snapshot only for some minutes; one unpaged list cannot expire.
      if (hasCode(err, 'Gone')) return await this.#pages(resource, options, undefined);
      throw err;
    }
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const collection = collectionPath(resource, object.metadata.namespace);
    const key = keyOf(object);
    const path = (options.subresource ? objectPath(resource, key, options.subresource) : collection) + query({ dryRun: dryRun(options) });
    return this.#call<T>({ verb: 'CREATE', method: 'POST', resource, key, path, subresource: options.subresource, body: object });
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#write<T>({ verb: 'UPDATE', method: 'PUT', resource, key: keyOf(object), body: object }, options);
  }

  jsonPatch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    ops: readonly JsonPatchOperation[],
    options: WriteOptions = {},
  ): Promise<T> {
    const guarded = ops.some(({ op }) => op === 'test');
    return this.#patch<T>({ resource, key, body: ops, contentType: 'application/json-patch+json', guarded }, options);
  }

  mergePatch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: object, options: WriteOptions = {}): Promise<T> {
    return this.#patch<T>({ resource, key, body: patch, contentType: 'application/merge-patch+json' }, options);
  }

  strategicPatch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: object, options: WriteOptions = {}): Promise<T> {
    return this.#patch<T>({ resource, key, body: patch, contentType: 'application/strategic-merge-patch+json' }, options);
  }

  apply<T extends KubeObject>(resource: Resource<T>, object: T, fieldManager: string, options: WriteOptions = {}): Promise<T> {
    const key = keyOf(object);
    const path = objectPath(resource, key, options.subresource) + query({ fieldManager, force: true, dryRun: dryRun(options) });
    const { subresource } = options;
    // JSON is YAML: the apply content type only exists in its YAML spelling.
    const contentType = 'application/apply-patch+yaml';
    return this.#call<T>({ verb: 'PATCH', method: 'PATCH', resource, key, path, subresource, body: object, contentType });
  }

  async delete<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { uid, ...rest } = options;
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...rest, ...(uid ? { preconditions: { uid } } : {}) };
    await this.#call({ verb: 'DELETE', method: 'DELETE', resource, key, path: objectPath(resource, key), body });
  }

  createSubresource(resource: Resource<KubeObject>, key: ObjectKey, subresource: string, body: object): Promise<unknown> {
    return this.#call({ verb: 'CREATE', method: 'POST', resource, key, path: objectPath(resource, key, subresource), subresource, body });
  }

  async raw(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const resource = { group: '', version: '', plural: path.split('?')[0] ?? path, kind: '', namespaced: false };
    return await this.#call({ verb: method, method, resource, path, ...(body === undefined ? {} : { body }) });
  }

  async watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): Promise<WatchStream<T>> {
    await this.#turn('WATCH', pathTemplate(resource, false));
    const { transport, clock } = this.#options;
    return await openWatch(transport, clock, resource, options);
  }

  async #pages<T extends KubeObject>(resource: Resource<T>, options: ListOptions, limit: number | undefined): Promise<KubeList<T>> {
    const { namespace, labelSelector, fieldSelector } = options;
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
    const items: T[] = [];
    let more: string | undefined;
    let metadata: KubeList<T>['metadata'];
    do {
      const path = collectionPath(resource, namespace) + query({ labelSelector, fieldSelector, limit, continue: more });
      const page = await this.#call<KubeList<T>>({ verb: 'LIST', method: 'GET', resource, path });
      // Lists leave the items' type out (built-in kinds); an object that travels alone must carry it.
      for (const item of page.items ?? []) items.push({ apiVersion, kind: resource.kind, ...item });
      metadata = page.metadata;
      more = page.metadata.continue || undefined;
    } while (more !== undefined);
    return { apiVersion, kind: `${resource.kind}List`, metadata, items };
  }

  #write<T>(call: Omit<Call, 'path'> & { key: ObjectKey }, options: WriteOptions): Promise<T> {
    const path = objectPath(call.resource, call.key, options.subresource) + query({ dryRun: dryRun(options) });
    return this.#call<T>({ ...call, path, subresource: options.subresource });
  }

  #patch<T>(call: Pick<Call, 'resource' | 'body' | 'contentType' | 'guarded'> & { key: ObjectKey }, options: WriteOptions): Promise<T> {
    return this.#write<T>({ ...call, verb: 'PATCH', method: 'PATCH' }, options);
  }

  async #call<T>(call: Call): Promise<T> {
    const what = describe(call);
    for (let attempt = 0; ; attempt++) {
      if (call.method !== 'GET' && this.#refusal) {
        throw new KvError('Unavailable', `${what}: not sent, because ${this.#refusal}`, { retry: 'never' });
      }
      const response = await this.#send(call);
      if (response.status >= 200 && response.status < 300) return parse(what, response) as T;
      const waitMs = retryAfterMs(response);
      if (waitMs === undefined || attempt >= MAX_RETRIES) throw apiError({ what, guarded: call.guarded === true }, response);
      await sleep(this.#options.clock, waitMs);
    }
  }

  async #send(call: Call): Promise<TransportResponse> {
    const { transport, clock, timeoutMs, userAgent } = this.#options;
    const isRaw = call.resource.kind === '';
    const url = isRaw ? call.resource.plural : pathTemplate(call.resource, call.key !== undefined, call.subresource);
    await this.#turn(call.verb, url);
    const startedAt = ticks(clock);
    let code = '<error>';
    try {
      const response = await transport.request({
        method: call.method,
        path: call.path,
        headers: {
          ...(userAgent ? { 'user-agent': userAgent } : {}),
          ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
      code = String(response.status);
      return response;
    } finally {
      const { verb, method } = call;
      const resource = call.subresource ? `${call.resource.plural}/${call.subresource}` : call.resource.plural;
      const seconds = (ticks(clock) - startedAt) / 1000;
      this.#options.metrics?.restRequest({ verb, method, host: transport.host, resource, url, code, seconds });
    }
  }

  async #turn(verb: string, url: string): Promise<void> {
    const waitedMs = (await this.#options.limiter?.take()) ?? 0;
    if (this.#options.limiter) this.#options.metrics?.restThrottled(verb, url, waitedMs / 1000);
  }
}

const dryRun = (options: WriteOptions): string | undefined => (options.dryRun ? 'All' : undefined);

const describe = ({ verb, resource, key, subresource, path }: Call): string =>
  resource.kind === ''
    ? `${verb} ${path}`
    : [verb.toLowerCase(), resourceName(resource) + (subresource ? `/${subresource}` : ''), key].filter(Boolean).join(' ');

function parse(what: string, response: TransportResponse): unknown {
  const isJson = response.headers['content-type']?.includes('json') ?? response.body.startsWith('{');
  if (!isJson) return response.body;
  try {
    return JSON.parse(response.body);
  } catch (err) {
    throw new KvError('Unavailable', `${what}: the answer is not valid JSON`, { cause: err });
  }
}

/** Set only where the server promises that it did nothing and a later try may pass. */
function retryAfterMs(response: TransportResponse): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined;
  const seconds = Number.parseInt(response.headers['retry-after'] ?? '', 10);
  return Number.isNaN(seconds) ? undefined : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS);
}
