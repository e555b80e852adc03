// The cache of one informer: objects by key, and by index values. Only the informer writes; everybody else sees Store.
// Hands out shared objects, so that a list of thousands costs nothing: readers must not change them.
import { type KubeObject, keyOf, type ObjectKey } from '../api/index.js';
import { KvError } from '../base/errors.js';
import type { Store } from './types.js';

type IndexOf<T> = (object: T) => readonly string[];

interface Index<T> {
  readonly of: IndexOf<T>;
  readonly buckets: Map<string, Map<ObjectKey, T>>;
}

export class IndexedStore<T extends KubeObject> implements Store<T> {
  readonly #name: string;
  readonly #objects = new Map<ObjectKey, T>();
  readonly #indexes = new Map<string, Index<T>>();
  #list: readonly T[] | undefined;

  /** `name` is for messages: the resource. */
  constructor(name: string) {
    this.#name = name;
  }

  addIndex(name: string, of: IndexOf<T>): void {
    if (this.#indexes.has(name)) throw new KvError('Internal', `the store of ${this.#name} already has an index '${name}'`);
    const index: Index<T> = { of, buckets: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) insert(index, key, object);
  }

  hasIndex(name: string): boolean {
    return this.#indexes.has(name);
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    this.#list ??= [...this.#objects.values()];
    return this.#list;
  }

  byIndex(index: string, value: string): readonly T[] {
    const found = this.#indexes.get(index);
    if (!found) throw new KvError('Internal', `the store of ${this.#name} has no index '${index}'; add it before the informer starts`);
    const bucket = found.buckets.get(value);
    return bucket ? [...bucket.values()] : [];
  }

  keys(): ObjectKey[] {
    return [...this.#objects.keys()];
  }

  set(object: T): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#list = undefined;
    for (const index of this.#indexes.values()) {
      if (old) remove(index, key, old);
      insert(index, key, object);
    }
  }

  delete(key: ObjectKey): void {
    const old = this.#objects.get(key);
    if (!old) return;
    this.#objects.delete(key);
    this.#list = undefined;
    for (const index of this.#indexes.values()) remove(index, key, old);
  }
}

function insert<T>(index: Index<T>, key: ObjectKey, object: T): void {
  for (const value of index.of(object)) {
    const bucket = index.buckets.get(value) ?? new Map<ObjectKey, T>();
    bucket.set(key, object);
    index.buckets.set(value, bucket);
  }
}

function remove<T>(index: Index<T>, key: ObjectKey, object: T): void {
  for (const value of index.of(object)) {
    const bucket = index.buckets.get(value);
    bucket?.delete(key);
    if (bucket?.size === 0) index.buckets.delete(value);
  }
}
