// Options in request bodies: JSON or YAML whatever the content type says, nothing at all for the defaults. Pure.
import { parse } from 'yaml';
import { fail, ok, type Result } from '../base/result.js';
import { badRequest, type StatusError } from './status.js';

export interface DryRunOptions {
  readonly dryRun?: readonly string[];
}

export interface MigrateOptions extends DryRunOptions {
  readonly addedNodeSelector?: Readonly<Record<string, string>>;
}

export interface EvacuateCancelOptions extends DryRunOptions {
  readonly evacuationNodeName?: string;
}

export interface StartOptions extends DryRunOptions {
  readonly paused?: boolean;
}

export interface StopOptions extends DryRunOptions {
  readonly gracePeriod?: number;
}

export interface RestartOptions extends DryRunOptions {
  readonly gracePeriodSeconds?: number;
}

type FieldType = 'boolean' | 'integer' | 'string' | 'strings' | 'object' | 'stringMap';
export type OptionFields = Readonly<Record<string, FieldType>>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const FITS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  boolean: (v) => typeof v === 'boolean',
  integer: (v) => Number.isInteger(v),
  string: (v) => typeof v === 'string',
  strings: (v) => Array.isArray(v) && v.every((s) => typeof s === 'string'),
  object: isObject,
  stringMap: (v) => isObject(v) && Object.values(v).every((s) => typeof s === 'string'),
};

/** Options are small; reading YAML takes long enough for a large body to keep everybody else waiting. */
const LARGEST_BODY_BYTES = 256 * 1024;

const unreadable = (why: string): StatusError => badRequest(`Can not unmarshal Request body to struct, error: ${why}`);

/** What users write is no warning to us. */
const QUIET = { logLevel: 'error' } as const;

/** JSON is YAML too, but much quicker to read as what it is. */
function parsed(text: string): unknown {
  if (!/^\s*\{/.test(text)) return parse(text, QUIET);
  try {
    return JSON.parse(text);
  } catch {
    // YAML's flow style begins like JSON.
    return parse(text, QUIET);
  }
}

/** Any object; undefined for an empty body. */
export function parseObject(body: Buffer): Result<Readonly<Record<string, unknown>> | undefined, StatusError> {
  if (body.length > LARGEST_BODY_BYTES) return fail(unreadable(`it has ${body.length} bytes, more than the ${LARGEST_BODY_BYTES} allowed`));
  let value: unknown;
  try {
    value = parsed(body.toString('utf8'));
  } catch (err) {
    return fail(unreadable(err instanceof Error ? err.message : String(err)));
  }
  if (value === null || value === undefined) return ok(undefined);
  return isObject(value) ? ok(value) : fail(unreadable('expected an object'));
}

/** Fields that nobody reads are left out. */
export function parseOptions<T extends object>(body: Buffer, fields: OptionFields): Result<T, StatusError> {
  const value = parseObject(body);
  if (!value.ok) return value;
  const given = Object.entries(value.value ?? {}).filter(([name, v]) => v !== null && Object.hasOwn(fields, name));
  for (const [name, v] of given) {
    const type = fields[name];
    if (type && !FITS[type](v)) return fail(unreadable(`${name} is not of type ${type}`));
  }
  return ok(Object.fromEntries(given) as T);
}

export const START_FIELDS = { paused: 'boolean', dryRun: 'strings' } as const;
export const STOP_FIELDS = { gracePeriod: 'integer', dryRun: 'strings' } as const;
export const RESTART_FIELDS = { gracePeriodSeconds: 'integer', dryRun: 'strings' } as const;
export const FREEZE_FIELDS = { unfreezeTimeout: 'string' } as const;
export const DRY_RUN_FIELDS = { dryRun: 'strings' } as const;
export const MIGRATE_FIELDS = { addedNodeSelector: 'stringMap', dryRun: 'strings' } as const;
export const EVACUATE_CANCEL_FIELDS = { evacuationNodeName: 'string', dryRun: 'strings' } as const;
export const ADD_VOLUME_FIELDS = { name: 'string', disk: 'object', volumeSource: 'object', dryRun: 'strings' } as const;
export const REMOVE_VOLUME_FIELDS = { name: 'string', dryRun: 'strings' } as const;
export const MEMORY_DUMP_FIELDS = { claimName: 'string' } as const;
export const OBJECT_GRAPH_FIELDS = { includeOptionalNodes: 'boolean', labelSelector: 'object' } as const;
export const SEV_SESSION_FIELDS = { session: 'string', dhCert: 'string' } as const;
export const SEV_SECRET_FIELDS = { header: 'string', secret: 'string' } as const;

export const isDryRun = ({ dryRun }: DryRunOptions): boolean => dryRun?.includes('All') ?? false;
