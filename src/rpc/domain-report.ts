// Reads a launcher's word about its domain. The launcher is next to the guest and not trusted: what the node agent decides by must have the
// right shape, or every decision about the VMI would fail on it, its clean-up included. Pure; texts inside are taken as they are.
import type { DomainReport, DomainState } from '../api/domain-report.js';
import { KvError } from '../base/errors.js';

const STATES = {
  NoState: true,
  Running: true,
  Blocked: true,
  Paused: true,
  ShuttingDown: true,
  Shutoff: true,
  Crashed: true,
  PMSuspended: true,
  Unknown: true,
} as const satisfies Record<DomainState, true>;

/** What ends in the status of a VMI must not fill it. */
const MAX_TEXT = 8 * 1024;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isList = (value: unknown): boolean => Array.isArray(value) && value.every(isObject);
const isAbsentOr = (value: unknown, fits: (value: unknown) => boolean): boolean => value === undefined || fits(value);
const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= MAX_TEXT;
const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));

const isSize = (value: unknown): boolean => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isDisk = (disk: Fields): boolean => typeof disk.name === 'string' && typeof disk.target === 'string' && isAbsentOr(disk.size, isSize);
const MIGRATION_TEXTS = ['startTimestamp', 'endTimestamp', 'failureReason', 'abortStatus', 'mode'] as const;
const isMigration = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.uid === 'string' &&
  MIGRATION_TEXTS.every((key) => isAbsentOr(value[key], isText)) &&
  isAbsentOr(value.startTimestamp, isTime) &&
  isAbsentOr(value.endTimestamp, isTime);

function faultOf(value: unknown): string | undefined {
  if (!isObject(value) || !isObject(value.spec) || !isObject(value.status)) return 'it has no spec or no status';
  const { spec, status } = value;
  if (typeof status.status !== 'string' || !Object.hasOwn(STATES, status.status)) return 'its state is none that a domain can have';
  return faultOfDevices(spec) ?? faultOfTimes(spec);
}

function faultOfDevices({ disks, interfaces }: Fields): string | undefined {
  if (!isList(disks) || !isList(interfaces)) return 'its disks or interfaces are no lists';
  return (disks as Fields[]).every(isDisk) ? undefined : 'one of its disks has no name, no target or no size';
}

function faultOfTimes({ gracePeriodSeconds, gracePeriodStartedAt, migration }: Fields): string | undefined {
  if (!isAbsentOr(gracePeriodSeconds, Number.isFinite)) return 'its grace period is no number';
  if (!isAbsentOr(gracePeriodStartedAt, isTime)) return 'its grace period began at no time';
  return isAbsentOr(migration, isMigration) ? undefined : 'its migration has no uid, or ended at no time';
}

/** Throws Invalid. */
export function asDomainReport(value: unknown): DomainReport {
  const fault = faultOf(value);
  if (fault !== undefined)
    throw new KvError('Invalid', `the launcher's report of its domain cannot be read: ${fault}`, { retry: 'backoff' });
  return value as DomainReport;
}
