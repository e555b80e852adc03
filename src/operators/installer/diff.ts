// Whether an object in the cluster is as it should be, and the patch that makes it so. Fields that the API server fills in are
// tolerated; a changed or removed field is put back, and when somebody changed the object at all (its generation moved since we
// wrote it) so is everything that was added. Pure.
import type { KubeObject } from '../../api/index.js';
import { change, mapOps, testVersion } from '../../runtime/patch.js';
import type { JsonPatchOperation } from '../../runtime/types.js';

type Fields = Record<string, unknown>;

const isMap = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isMap(value) && Object.keys(value).length === 0);

/** True when `actual` says all that `desired` says; empty lists and maps are the same as absent ones. */
export function covers(actual: unknown, desired: unknown): boolean {
  if (isEmpty(desired)) return true;
  if (Array.isArray(desired)) {
    return Array.isArray(actual) && actual.length === desired.length && desired.every((item, at) => covers(actual[at], item));
  }
  if (isMap(desired)) return isMap(actual) && Object.entries(desired).every(([key, value]) => covers(actual[key], value));
  return actual === desired;
}

const NOT_CONTENT = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** Empty when nothing is to do. `force`: replace the content even if it is covered. */
export function repair(existing: KubeObject, desired: KubeObject, force = false): JsonPatchOperation[] {
  const ops: JsonPatchOperation[] = [
    ...mapOps('/metadata/labels', existing.metadata.labels, desired.metadata.labels ?? {}),
    ...mapOps('/metadata/annotations', existing.metadata.annotations, desired.metadata.annotations ?? {}),
  ];
  for (const [field, value] of Object.entries(desired)) {
    if (NOT_CONTENT.has(field)) continue;
    const actual = (existing as unknown as Fields)[field];
    if (covers(actual, value) && !force) continue;
    ops.push(...change(`/${field}`, actual, keepAssigned(existing.kind, actual, value)));
  }
  return ops.length === 0 ? [] : [...testVersion(existing), ...ops];
}

/** A Service's addresses are assigned once and may not be taken away. */
function keepAssigned(kind: string | undefined, actual: unknown, desired: unknown): unknown {
  if (kind !== 'Service' || !isMap(actual) || !isMap(desired)) return desired;
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = actual;
  const assigned = Object.entries({ clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(assigned), ...desired };
}
