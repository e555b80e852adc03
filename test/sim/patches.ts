// Patches as the API server applies them: JSON patch, merge patch, and the part of strategic merge that conditions need. Pure.
import { applyPatch, type Operation } from 'rfc6902';
import { ApiStatus } from './object-store.js';

type Json = Record<string, unknown>;

export function patched(object: object, contentType: string, patch: unknown): object {
  if (contentType.includes('json-patch')) return jsonPatched(object, patch as Operation[]);
  if (contentType.includes('strategic')) return strategic(object as Json, patch as Json);
  return mergePatched(object, patch) as object;
}

function jsonPatched(object: object, operations: Operation[]): object {
  const copy = structuredClone(object);
  for (const operation of operations) {
    // The server's library takes a test against null as passed when the member is absent; rfc6902 does not.
    if (operation.op === 'test' && operation.value === null && valueAt(copy, operation.path) === undefined) continue;
    const [failure] = applyPatch(copy, [operation]);
    if (failure) throw new ApiStatus(422, 'Invalid', 'the server rejected our request due to an error in our request');
  }
  return copy;
}

function valueAt(object: unknown, path: string): unknown {
  let at = object;
  for (const step of path.split('/').slice(1)) at = (at as Json | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  return at;
}

export function mergePatched(object: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return structuredClone(patch);
  const result: Json = isMap(object) ? { ...object } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatched(result[key], value);
  }
  return result;
}

/** Merges `conditions` by type and `containers` by name; other lists are replaced. */
function strategic(object: Json, patch: Json): Json {
  const result: Json = { ...object };
  for (const [key, value] of Object.entries(patch)) {
    const old = result[key];
    if (value === null) delete result[key];
    else if (Array.isArray(value) && Array.isArray(old) && key === 'conditions') result[key] = mergedBy('type', old, value);
    else if (isMap(value) && isMap(old)) result[key] = strategic(old, value);
    else result[key] = structuredClone(value);
  }
  return result;
}

function mergedBy(key: string, old: Json[], next: Json[]): Json[] {
  const kept = old.map((item) => ({ ...item, ...next.find((other) => other[key] === item[key]) }));
  return [...kept, ...next.filter((item) => !old.some((other) => other[key] === item[key]))];
}

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
