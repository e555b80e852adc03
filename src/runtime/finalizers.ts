// Adding and removing our finalizer without touching anybody else's: a JSON patch that tests the whole list first.
// finalizerOps() is the pure part, for callers that change more in the same patch.
import type { KubeObject } from '../api/index.js';
import { keyOf } from '../api/index.js';
import { unlessGone } from './gone.js';
import { guarded, testUid } from './patch.js';
import type { JsonPatchOperation, KubeClient, Resource } from './types.js';

export interface FinalizerChange {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
}

export function hasFinalizer(object: { readonly metadata: { readonly finalizers?: readonly string[] } }, name: string): boolean {
  return object.metadata.finalizers?.includes(name) === true;
}

/** No operation when nothing changes. */
export function finalizerOps(object: KubeObject, { add = [], remove = [] }: FinalizerChange): JsonPatchOperation[] {
  const old = object.metadata.finalizers ?? [];
  const kept = old.filter((name) => !remove.includes(name));
  const next = [...kept, ...add.filter((name) => !kept.includes(name))];
  if (next.length === old.length && next.every((name, at) => name === old[at])) return [];
  const change = guarded('/metadata/finalizers', old.length === 0 ? undefined : old, next.length === 0 ? undefined : next);
  return [...testUid(object), ...change];
}

/** The object as the server has it afterwards; the same object when nothing was to do. Throws Conflict when somebody was faster. */
export async function changeFinalizers<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  change: FinalizerChange,
): Promise<T> {
  const ops = finalizerOps(object, change);
  return ops.length === 0 ? object : await client.jsonPatch(resource, keyOf(object), ops);
}

/** Removes our finalizers; an object that is gone already is what we wanted. */
export async function dropFinalizers<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  ...names: readonly string[]
): Promise<void> {
  await unlessGone(changeFinalizers(client, resource, object, { remove: names }));
}
