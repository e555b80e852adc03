// What a mutating webhook decides: the object as it shall be, or the refusal; and the patch that says so. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../api/index.js';
import type { Verdict } from '../verdict.js';

export type Mutation<T extends KubeObject> =
  | { readonly object: T; readonly warnings: readonly string[] }
  | { readonly refusal: Exclude<Verdict, { allowed: true }> };

export interface PatchOperation {
  readonly op: 'add';
  readonly path: string;
  readonly value: unknown;
}

const PARTS = ['metadata', 'spec', 'status'] as const;

/** Replaces each top-level part that differs; `add` also works where the user left a part out. */
export function patchOf(before: object, after: object): PatchOperation[] {
  const part = (object: object, name: string): unknown => (object as Record<string, unknown>)[name];
  return PARTS.filter((name) => part(after, name) !== undefined && !isDeepStrictEqual(part(before, name), part(after, name))).map(
    (name) => ({
      op: 'add',
      path: `/${name}`,
      value: part(after, name),
    }),
  );
}
