// The state of the simulated API server: objects with versions, their history for watches, finalizers, owners. Behaves as
// kube-apiserver does where controllers can tell the difference; knows nothing of HTTP.
import { type KubeObject, keyOf } from '../../src/api/index.js';
import { type Clock, metaTime } from '../../src/base/clock.js';
import { deepEqual } from '../../src/runtime/patch.js';

export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly old?: KubeObject;
}

export class ApiStatus extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

type Collection = Map<string, KubeObject>;
type Versioned = KubeObject & { spec?: unknown; status?: unknown };

/** `collection` is `group/plural` everywhere. */
export class ObjectStore {
  readonly #clock: Clock;
  readonly #collections = new Map<string, Collection>();
  readonly #history = new Map<string, Change[]>();
  readonly #listeners = new Set<(collection: string, change: Change) => void>();
  #version = 1000;
  #names = 0;
  #oldest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get version(): number {
    return this.#version;
  }

  /** Versions below are gone (etcd compaction): watches from there get 410. */
  get oldest(): number {
    return this.#oldest;
  }

  compact(): void {
    this.#oldest = this.#version;
    this.#history.clear();
  }

  onChange(listener: (collection: string, change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  list(collection: string): KubeObject[] {
    return [...this.#of(collection).values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  since(collection: string, version: number): Change[] {
    return (this.#history.get(collection) ?? []).filter((change) => change.version > version);
  }

  get(collection: string, key: string): KubeObject {
    const found = this.#of(collection).get(key);
    if (!found) throw new ApiStatus(404, 'NotFound', `${collection} "${key}" not found`);
    return found;
  }

  create(collection: string, given: KubeObject): KubeObject {
    const object = structuredClone(given) as Versioned;
    const { metadata } = object;
    if (!metadata.name && metadata.generateName) metadata.name = `${metadata.generateName}${(++this.#names).toString(36).padStart(5, '0')}`;
    if (!metadata.name) throw new ApiStatus(422, 'Invalid', `${collection} "" is invalid: metadata.name: Required value`);
    const key = keyOf(object);
    if (this.#of(collection).has(key)) throw new ApiStatus(409, 'AlreadyExists', `${collection} "${metadata.name}" already exists`);
    metadata.uid = `uid-${++this.#names}-${metadata.name}`;
    metadata.creationTimestamp = metaTime(this.#clock.now());
    metadata.generation = 1;
    return this.#store(collection, 'ADDED', object);
  }

  /** `part` 'status' changes only the status, 'spec' all but the status, 'all' everything (kinds without status subresource). */
  update(collection: string, given: KubeObject, part: 'spec' | 'status' | 'all'): KubeObject {
    const old = this.get(collection, keyOf(given)) as Versioned;
    checkPreconditions(collection, given, old);
    const next = merged(old, structuredClone(given) as Versioned, part);
    if (deepEqual(old, next)) return old;
    if (part !== 'status' && !deepEqual(specOf(old), specOf(next))) next.metadata.generation = (old.metadata.generation ?? 1) + 1;
    if (next.metadata.deletionTimestamp && !next.metadata.finalizers?.length && !isWaitingForKubelet(collection, next)) {
      return this.#remove(collection, next);
    }
    return this.#store(collection, 'MODIFIED', next, old);
  }

  delete(collection: string, key: string, options: { uid?: string; gracePeriodSeconds?: number } = {}): KubeObject {
    const old = this.get(collection, key);
    if (options.uid && options.uid !== old.metadata.uid) {
      throw new ApiStatus(
        409,
        'Conflict',
        `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${old.metadata.uid}`,
      );
    }
    const seconds = options.gracePeriodSeconds ?? (isOnNode(collection, old) ? 30 : 0);
    if (!old.metadata.finalizers?.length && (seconds === 0 || !isOnNode(collection, old)))
      return this.#remove(collection, structuredClone(old));
    if (old.metadata.deletionTimestamp && (old.metadata.deletionGracePeriodSeconds ?? 0) <= seconds) return old;
    const next = structuredClone(old);
    next.metadata.deletionTimestamp = metaTime(this.#clock.now() + seconds * 1000);
    next.metadata.deletionGracePeriodSeconds = seconds;
    return this.#store(collection, 'MODIFIED', next, old);
  }

  #of(collection: string): Collection {
    const known = this.#collections.get(collection) ?? new Map<string, KubeObject>();
    this.#collections.set(collection, known);
    return known;
  }

  #store(collection: string, type: 'ADDED' | 'MODIFIED', object: KubeObject, old?: KubeObject): KubeObject {
    object.metadata.resourceVersion = String(++this.#version);
    this.#of(collection).set(keyOf(object), object);
    this.#tell(collection, { version: this.#version, type, object, ...(old ? { old } : {}) });
    return object;
  }

  #remove(collection: string, object: KubeObject): KubeObject {
    this.#of(collection).delete(keyOf(object));
    object.metadata.resourceVersion = String(++this.#version);
    this.#tell(collection, { version: this.#version, type: 'DELETED', object });
    this.#collectGarbage(object);
    return object;
  }

  /** Children of the object that is gone are deleted, as the garbage collector does in the background. */
  #collectGarbage(owner: KubeObject): void {
    for (const [collection, objects] of this.#collections) {
      for (const [key, child] of objects) {
        const owned = child.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid);
        if (owned && !child.metadata.deletionTimestamp) this.delete(collection, key);
      }
    }
  }

  #tell(collection: string, change: Change): void {
    const history = this.#history.get(collection) ?? [];
    history.push(change);
    this.#history.set(collection, history);
    for (const listener of this.#listeners) listener(collection, change);
  }
}

function checkPreconditions(collection: string, { metadata: { name, resourceVersion, uid } }: KubeObject, { metadata }: KubeObject): void {
  if (resourceVersion && resourceVersion !== metadata.resourceVersion) {
    throw new ApiStatus(409, 'Conflict', `Operation cannot be fulfilled on ${collection} "${name}": the object has been modified`);
  }
  if (uid && uid !== metadata.uid) throw new ApiStatus(409, 'Conflict', `Precondition failed: UID in precondition: ${uid}`);
}

function merged(old: Versioned, next: Versioned, part: 'spec' | 'status' | 'all'): Versioned {
  const result: Versioned = part === 'status' ? { ...structuredClone(old), status: next.status } : next;
  if (part === 'spec') {
    if (old.status === undefined) delete result.status;
    else result.status = structuredClone(old.status);
  }
  // Set by the server alone.
  const { uid, creationTimestamp, generation, resourceVersion, deletionTimestamp, deletionGracePeriodSeconds } = old.metadata;
  result.metadata = { ...result.metadata, ...defined({ uid, creationTimestamp, generation, resourceVersion }) };
  result.metadata = { ...result.metadata, ...defined({ deletionTimestamp, deletionGracePeriodSeconds }) };
  if (result.metadata.finalizers?.length === 0) delete result.metadata.finalizers;
  return result;
}

const defined = (fields: object): object => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

function specOf({ metadata: _metadata, status: _status, ...rest }: Versioned): object {
  return rest;
}

const isOnNode = (collection: string, object: KubeObject): boolean =>
  collection === '/pods' && Boolean((object as { spec?: { nodeName?: string } }).spec?.nodeName);

/** A bound pod goes away only when its kubelet deletes it with grace period 0. */
const isWaitingForKubelet = (collection: string, object: KubeObject): boolean =>
  isOnNode(collection, object) && (object.metadata.deletionGracePeriodSeconds ?? 0) > 0;
