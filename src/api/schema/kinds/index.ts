// Every kind that is stored in the cluster, in the order in which they are installed.
import { KvError } from '../../../base/errors.js';
import { CORE_KINDS } from './core.js';
import type { KindRow } from './row.js';
import { SATELLITE_KINDS } from './satellites.js';

export type { Column, KindRow, KindVersion } from './row.js';

export const KINDS: readonly KindRow[] = [...CORE_KINDS, ...SATELLITE_KINDS];

/** Where a kind is found under /apis. */
export interface ResourceName {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

const PREFERRED = ['v1', 'v1beta1', 'v1alpha1'];

/** The kind's path in its best version: what client-node's CustomObjectsApi wants to be told. */
export function resourceOf(kind: string): ResourceName {
  const row = KINDS.find((each) => each.kind === kind);
  const version = PREFERRED.find((name) => row?.versions.some((each) => each.name === name));
  if (!row || version === undefined)
    throw new KvError('Internal', `${kind} is no kind of this API; the kinds are ${KINDS.map((each) => each.kind).join(', ')}`);
  return { group: row.group, version, plural: row.plural };
}
