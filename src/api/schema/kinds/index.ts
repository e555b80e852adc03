// Every kind that is stored in the cluster, in the order in which they are installed.
import { CORE_KINDS } from './core.js';
import type { KindRow } from './row.js';
import { SATELLITE_KINDS } from './satellites.js';

export type { Column, KindRow, KindVersion } from './row.js';

export const KINDS: readonly KindRow[] = [...CORE_KINDS, ...SATELLITE_KINDS];
