// JSON patches with a `test` before each change, so that a patch of something we share with others fails instead of overwriting;
// and deepEqual for API objects. Pure.
import type { JsonPatchOperation } from './types.js';

/** JSON pointer of these steps: `/metadata/labels/kubevirt.io~1nodeName`. */
export function pointer(...steps: readonly (string | number)[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Equal as JSON: key order is ignored, and a key that is undefined counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && equalLists(a, b);
  return equalMaps(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, at) => deepEqual(item, b[at]));
}

function equalMaps(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const key of Object.keys(a)) if (!deepEqual(a[key], b[key])) return false;
  for (const key of Object.keys(b)) if (b[key] !== undefined && a[key] === undefined) return false;
  return true;
}

/**
 * Changes the value at `path` from `old` to `next`; undefined means absent. No operation when they are equal.
 * The parent must exist. `test` with null passes for an absent member.
 */
export function guarded(path: string, old: unknown, next: unknown): JsonPatchOperation[] {
  if (deepEqual(old, next)) return [];
  const test: JsonPatchOperation = { op: 'test', path, value: old ?? null };
  if (next === undefined) return [test, { op: 'remove', path }];
  return [test, { op: old === undefined ? 'add' : 'replace', path, value: next }];
}

/** As guarded(), without the test: for paths that only we write. */
export function change(path: string, old: unknown, next: unknown): JsonPatchOperation[] {
  return guarded(path, old, next).filter(({ op }) => op !== 'test');
}

/** Sets or removes (undefined) keys of a string map such as labels, creating the map when it is missing. */
export function mapOps(
  path: string,
  map: Readonly<Record<string, string>> | undefined,
  changes: Readonly<Record<string, string | undefined>>,
): JsonPatchOperation[] {
  const wanted = Object.entries(changes).filter(([key, value]) => map?.[key] !== value);
  if (wanted.length === 0) return [];
  if (map === undefined) {
    const value = Object.fromEntries(wanted.filter(([, v]) => v !== undefined));
    return Object.keys(value).length === 0 ? [] : guarded(path, undefined, value);
  }
  return wanted.flatMap(([key, value]) => change(path + pointer(key), map[key], value));
}

/** Fails with Conflict unless the object is still this incarnation in this version. */
export function testVersion(object: { metadata: { uid?: string; resourceVersion?: string } }): JsonPatchOperation[] {
  const { uid, resourceVersion } = object.metadata;
  return [
    ...(uid === undefined ? [] : [{ op: 'test' as const, path: '/metadata/uid', value: uid }]),
    ...(resourceVersion === undefined ? [] : [{ op: 'test' as const, path: '/metadata/resourceVersion', value: resourceVersion }]),
  ];
}

/** Fails with Conflict unless the object is still this incarnation. */
export function testUid(object: { metadata: { uid?: string } }): JsonPatchOperation[] {
  return object.metadata.uid === undefined ? [] : [{ op: 'test', path: '/metadata/uid', value: object.metadata.uid }];
}
