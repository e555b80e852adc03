// The contracts between controllers and the Kubernetes machinery. Controllers see only these; the implementations take
// transport, time and randomness from outside, so the same controllers run under a simulated API server and a virtual clock.
import type { KubeList, KubeObject, ObjectKey } from '../api/index.js';
import type { Ctx } from '../base/context.js';

/** One served resource. `T` is the type of its objects. */
export interface Resource<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Phantom: carries T, never set. */
  readonly _type?: T;
}

export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface InformerScope extends ListOptions {
  /** The kind may not be served (yet, or any more): the cache is then empty and not in sync, and nobody waits for it or calls it a problem. */
  readonly whenServed?: boolean;
}

export interface WriteOptions {
  /** 'status', 'scale', 'finalizers', … */
  readonly subresource?: string;
  readonly dryRun?: boolean;
}

export interface DeleteOptions {
  /** Precondition: only this incarnation. */
  readonly uid?: string;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

/**
 * Typed REST client. Every failure is a KvError: NotFound (404), Conflict (409 on write), AlreadyExists (409 on create),
 * Gone (410), Invalid (422/400), Forbidden (401/403), Timeout, Unavailable (connection, 5xx, 429). details.status holds the HTTP code.
 */
export interface KubeClient {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T>;
  /** undefined instead of NotFound. */
  find<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T | undefined>;
  /** All pages. */
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<KubeList<T>>;
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  /** PUT; resourceVersion of the object is the precondition. */
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  jsonPatch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    ops: readonly JsonPatchOperation[],
    options?: WriteOptions,
  ): Promise<T>;
  mergePatch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: object, options?: WriteOptions): Promise<T>;
  /** Strategic merge: built-in kinds only (pods, nodes, …). */
  strategicPatch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: object, options?: WriteOptions): Promise<T>;
  /** Server-side apply, forced, as `fieldManager`. */
  apply<T extends KubeObject>(resource: Resource<T>, object: T, fieldManager: string, options?: WriteOptions): Promise<T>;
  delete<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** POST to a subresource of a named object, e.g. pods/eviction. */
  createSubresource(resource: Resource<KubeObject>, key: ObjectKey, subresource: string, body: object): Promise<unknown>;
  /** Anything else: parsed JSON (or text when not JSON) of a path below the server's root. */
  raw(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
}

/** A read-only cache. Objects are shared: never change one, structuredClone first (tests deep-freeze them). */
export interface Store<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  byIndex(index: string, value: string): readonly T[];
}

export interface InformerHandler<T extends KubeObject> {
  added?(object: T): void;
  updated?(object: T, old: T): void;
  deleted?(object: T): void;
}

/** List + watch that never gives up; deletions and re-creations missed in a gap are synthesised (deleted(old uid), added(new uid)). */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly store: Store<T>;
  /** Before start only. `of` returns the index values of an object. */
  addIndex(name: string, of: (object: T) => readonly string[]): void;
  on(handler: InformerHandler<T>): void;
  hasSynced(): boolean;
}

/** Done, or look again after `afterMs` for the reason `why` (not counted as failure). */
export type Next = undefined | { readonly afterMs: number; readonly why: string };

/** Reads the key's state from the stores and moves the world one step. A throw is retried with back-off unless its retry is 'never'. */
export type Reconcile = (key: ObjectKey, ctx: Ctx) => Promise<Next>;

export interface Source<T extends KubeObject> {
  readonly informer: Informer<T>;
  /** Keys to reconcile for a change of this object; `old` only on updates. Return [] to ignore. */
  readonly keys: (object: T, old?: T) => readonly ObjectKey[];
}

export interface ControllerOptions {
  /** e.g. 'virt-controller-vmi': queue name in logs and metrics. */
  readonly name: string;
  readonly workers: number;
  /** The longest wait between two tries of one key that fails; default 1000 s. */
  readonly maxDelayMs?: number;
  readonly reconcile: Reconcile;
  // biome-ignore lint/suspicious/noExplicitAny: a controller mixes sources of several kinds
  readonly sources: readonly Source<any>[];
}

export interface Controller {
  /** Ask for a reconcile now, or after a delay. */
  enqueue(key: ObjectKey, afterMs?: number): void;
}

export interface EventRecorder {
  /** Emits an event on a transition; identical events (object, reason, message) within 10 min are counted up, not repeated. Never throws, never blocks. */
  event(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** UID/name based expectations: a cache that has not yet seen our own writes must not be acted on. Expire after 5 min. */
export interface Expectations {
  expectCreation(key: ObjectKey, name: string): void;
  expectDeletion(key: ObjectKey, uid: string): void;
  /** Call from informer handlers. */
  observedCreation(key: ObjectKey, name: string): void;
  observedDeletion(key: ObjectKey, uid: string): void;
  satisfied(key: ObjectKey): boolean;
  pendingCreations(key: ObjectKey): number;
  pendingDeletions(key: ObjectKey): number;
  forget(key: ObjectKey): void;
}

/** One process's machinery: shared informers, controllers, optional leader election. */
export interface Manager {
  readonly client: KubeClient;
  /** Same arguments, same informer. */
  informer<T extends KubeObject>(resource: Resource<T>, options?: InformerScope): Informer<T>;
  controller(options: ControllerOptions): Controller;
  events(component: string): EventRecorder;
  newExpectations(): Expectations;
  /** Starts informers, waits for sync, (with leader election) waits for the lease, then starts the workers. Resolves when stopped. */
  run(signal: AbortSignal): Promise<void>;
  isLeader(): boolean;
  hasSynced(): boolean;
  /** Why /healthz should be red: informers that have heard nothing for ten minutes. */
  problems(): readonly string[];
}
