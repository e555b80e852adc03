// What a validation rule is: a generator of causes. It never throws, never stops at the first cause, reads no clock and no cluster.
// Lists of rules are run by `check`, in order.
import type { FieldPath } from '../../api/field-path.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';

export type CauseType =
  | 'FieldValueInvalid'
  | 'FieldValueRequired'
  | 'FieldValueNotSupported'
  | 'FieldValueNotFound'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldManagerConflict'
  | 'UnexpectedServerResponse'
  | '';

export interface Cause {
  readonly type: string;
  readonly message: string;
  readonly field: FieldPath;
}

export type Causes = Iterable<Cause>;
/** `at` is the path of `object`. */
export type Rule<T> = (object: T, at: FieldPath, config: ClusterConfig) => Causes;

export const invalid = (field: FieldPath, message: string): Cause => ({ type: 'FieldValueInvalid', message, field });
export const required = (field: FieldPath, message: string): Cause => ({ type: 'FieldValueRequired', message, field });
export const notSupported = (field: FieldPath, message: string): Cause => ({ type: 'FieldValueNotSupported', message, field });
export const notFound = (field: FieldPath, message: string): Cause => ({ type: 'FieldValueNotFound', message, field });
export const duplicate = (field: FieldPath, message: string): Cause => ({ type: 'FieldValueDuplicate', message, field });
export const forbidden = (field: FieldPath, message: string): Cause => ({ type: 'FieldValueForbidden', message, field });

export function* check<T>(rules: readonly Rule<T>[], object: T, at: FieldPath, config: ClusterConfig): Causes {
  for (const rule of rules) yield* rule(object, at, config);
}
