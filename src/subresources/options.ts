// Options in request bodies: JSON or YAML whatever the content type says, nothing at all for the defaults. Pure.
import { parse } from 'yaml';
import { fail, ok, type Result } from '../base/result.js';
import { badRequest, type StatusError } from './status.js';

export interface DryRunOptions {
  readonly dryRun?: readonly string[];
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

type FieldType = 'boolean' | 'integer' | 'string' | 'strings';
export type OptionFields = Readonly<Record<string, FieldType>>;

const FITS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  boolean: (v) => typeof v === 'boolean',
  integer: (v) => Number.isInteger(v),
  string: (v) => typeof v === 'string',
  strings: (v) => Array.isArray(v) && v.every((s) => typeof s === 'string'),
};

const unreadable = (why: string): StatusError => badRequest(`Can not unmarshal Request body to struct, error: ${why}`);

export function parseOptions<T extends DryRunOptions>(body: Buffer, fields: OptionFields): Result<T, StatusError> {
  let value: unknown;
  try {
    value = parse(body.toString('utf8'));
  } catch (err) {
    return fail(unreadable(err instanceof Error ? err.message : String(err)));
  }
  if (value === null || value === undefined) return ok({} as T);
  if (typeof value !== 'object' || Array.isArray(value)) return fail(unreadable('expected an object'));
  const given = Object.entries(value).filter(([, v]) => v !== null);
  for (const [name, v] of given) {
    const type = fields[name];
    if (type && !FITS[type](v)) return fail(unreadable(`${name} is not of type ${type}`));
  }
  return ok(Object.fromEntries(given.filter(([name]) => name in fields)) as T);
}

export const START_FIELDS = { paused: 'boolean', dryRun: 'strings' } as const;
export const STOP_FIELDS = { gracePeriod: 'integer', dryRun: 'strings' } as const;
export const RESTART_FIELDS = { gracePeriodSeconds: 'integer', dryRun: 'strings' } as const;
export const FREEZE_FIELDS = { unfreezeTimeout: 'string' } as const;
export const DRY_RUN_FIELDS = { dryRun: 'strings' } as const;

export const isDryRun = ({ dryRun }: DryRunOptions): boolean => dryRun?.includes('All') ?? false;
