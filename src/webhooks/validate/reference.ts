// References from one object to another in its namespace, and specs that stay as they were made: shared by the kinds that act on VMs. Pure.
import { isDeepStrictEqual } from 'node:util';
import { type Causes, invalid } from './rule.js';

export interface ObjectReference {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

export const sameReference = (a: ObjectReference | undefined, b: ObjectReference | undefined): boolean => isDeepStrictEqual(a, b);

/** For kinds whose spec is a request: what was asked is not changed while it is being carried out. */
export function* unchangedSpec(next: { readonly spec?: unknown }, old: { readonly spec?: unknown }): Causes {
  if (isDeepStrictEqual(next.spec, old.spec)) return;
  yield invalid('spec', 'spec is immutable after creation: delete the object and create another with the spec you want');
}
