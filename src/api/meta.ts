// metav1 and resource.Quantity as TypeScript sees them on the wire, and the few helpers every room needs to name an object.

/** resource.Quantity on the wire; see quantity.ts for arithmetic. */
export type Quantity = string | number;
/** A number, or a text such as a percentage or a port's name. */
export type IntOrString = number | string;
/** metav1.Time: RFC 3339, no fractions. */
export type Time = string;

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: Time;
  deletionTimestamp?: Time;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface KubeList<T> {
  apiVersion?: string;
  kind?: string;
  metadata: { resourceVersion?: string; continue?: string };
  items: T[];
}

/** Caches hand out objects that nobody may change. */
export type DeepReadonly<T> = T extends (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** `namespace/name`, or `name` for cluster-scoped objects. */
export type ObjectKey = string;

export function keyOf(object: { metadata?: { name?: string; namespace?: string } }): ObjectKey {
  const { namespace, name = '' } = object.metadata ?? {};
  return namespace ? `${namespace}/${name}` : name;
}

export function splitKey(key: ObjectKey): { namespace: string | undefined; name: string } {
  const at = key.indexOf('/');
  return at < 0 ? { namespace: undefined, name: key } : { namespace: key.slice(0, at), name: key.slice(at + 1) };
}

/** The owner that manages the object, if any. */
export function controllerOf(object: { metadata?: { ownerReferences?: readonly OwnerReference[] } }): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((o) => o.controller === true);
}

export function isDeleting(object: { metadata?: { deletionTimestamp?: string } } | undefined): boolean {
  return object?.metadata?.deletionTimestamp !== undefined;
}
