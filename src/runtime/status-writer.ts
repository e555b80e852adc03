// Writes a status only when it differs from what the object has. Kinds without a status subresource (VMI) are written as a whole.
import type { KubeObject } from '../api/index.js';
import { deepEqual } from './patch.js';
import type { KubeClient, Resource } from './types.js';

/** PUT with the object's resourceVersion. The same object when nothing changed; throws Conflict when the cache was behind. */
export async function writeStatus<S, T extends KubeObject & { status?: S }>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  status: S,
  subresource: 'status' | undefined = 'status',
): Promise<T> {
  if (deepEqual(object.status, status)) return object;
  return await client.update(resource, { ...object, status }, subresource ? { subresource } : {});
}
