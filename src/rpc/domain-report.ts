// Reads a launcher's word about its domain. The launcher is next to the guest and not trusted: what the node agent decides by must have the
// right shape, or every decision about the VMI would fail on it, its clean-up included; what the guest says only ends in the VMI's status, and is
// cut or left out where nobody could want it there. Fields that this release does not know are dropped. Pure.
import {
  type AgentReport,
  type CredentialsReport,
  type DomainDiskReport,
  type DomainInterfaceReport,
  type DomainReport,
  type DomainState,
  type MemoryDumpReport,
  type MigrationMode,
  type MigrationReport,
  REPORT_LIMITS,
} from '../api/domain-report.js';
import { compact } from '../base/compact.js';
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

const MODES: readonly string[] = ['PreCopy', 'PostCopy', 'Paused'] satisfies MigrationMode[];
const MAX_DISKS = 1024;

type Fields = Readonly<Record<string, unknown>>;
type Read<T> = (value: unknown) => T | undefined;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws Invalid; the launcher may have something better to say when it is asked again. */
function refuse(why: string): never {
  throw new KvError('Invalid', `the launcher's report of its domain cannot be read: ${why}`, { retry: 'backoff' });
}

const upTo =
  (most: number): Read<string> =>
  (value) =>
    typeof value === 'string' ? value.slice(0, most) : undefined;
const word = upTo(REPORT_LIMITS.word);
const address = upTo(REPORT_LIMITS.address);
const sentence = upTo(REPORT_LIMITS.sentence);
const flag: Read<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);
const count: Read<number> = (value) => (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined);
const time: Read<string> = (value) => (typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? word(value) : undefined);

const listOf =
  <T>(most: number, read: Read<T>) =>
  (value: unknown): T[] =>
    (Array.isArray(value) ? value.slice(0, most) : []).flatMap((item) => read(item) ?? []);

/** The value, which must be right if it is there at all. */
function expected<T>(read: Read<T>, value: unknown, fault: string): T | undefined {
  return value === undefined ? undefined : (read(value) ?? refuse(fault));
}

function diskOf(value: unknown): DomainDiskReport {
  const disk = isObject(value) ? value : {};
  const [name, target] = [word(disk.name), word(disk.target)];
  const size = expected(count, disk.size, 'one of its disks has no size');
  if (name === undefined || target === undefined) refuse('one of its disks has no name or no target');
  return { name, target, ...(size === undefined ? {} : { size }) };
}

function interfaceOf(value: unknown): DomainInterfaceReport {
  if (!isObject(value)) refuse('one of its interfaces is none');
  const ips = listOf(REPORT_LIMITS.addresses, address)(value.ips);
  return compact<DomainInterfaceReport>({
    name: word(value.name),
    mac: address(value.mac) ?? '',
    interfaceName: word(value.interfaceName),
    ips: ips.length > 0 ? ips : undefined,
  });
}

function migrationOf(value: unknown): MigrationReport {
  if (!isObject(value) || typeof value.uid !== 'string') refuse('its migration has no uid');
  const end = 'its migration began or ended at no time';
  return compact<MigrationReport>({
    uid: value.uid.slice(0, REPORT_LIMITS.word),
    startTimestamp: expected(time, value.startTimestamp, end),
    endTimestamp: expected(time, value.endTimestamp, end),
    completed: flag(value.completed),
    failed: flag(value.failed),
    failureReason: sentence(value.failureReason),
    abortStatus: word(value.abortStatus),
    mode: MODES.includes(String(value.mode)) ? (value.mode as MigrationMode) : undefined,
  });
}

const dumpOf: Read<MemoryDumpReport> = (value) => {
  if (!isObject(value)) return undefined;
  const [fileName, startTimestamp] = [word(value.fileName), time(value.startTimestamp)];
  if (fileName === undefined || startTimestamp === undefined) return undefined;
  const [endTimestamp, failure] = [time(value.endTimestamp), sentence(value.failure)];
  return compact<MemoryDumpReport>({ fileName, startTimestamp, endTimestamp, failure });
};

const credentialsOf: Read<CredentialsReport> = (value) =>
  isObject(value) ? compact<CredentialsReport>({ succeeded: value.succeeded === true, message: sentence(value.message) }) : undefined;

const agentOf: Read<AgentReport> = (value) =>
  isObject(value) ? { version: word(value.version) ?? '', commands: listOf(REPORT_LIMITS.commands, word)(value.commands) } : undefined;

const osInfoOf: Read<Record<string, string>> = (value) => {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).slice(0, REPORT_LIMITS.addresses);
  return Object.fromEntries(entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text.slice(0, REPORT_LIMITS.word)]] : [])));
};

function specOf(spec: Fields): DomainReport['spec'] {
  if (!Array.isArray(spec.disks) || !Array.isArray(spec.interfaces)) refuse('its disks or interfaces are no lists');
  return compact<DomainReport['spec']>({
    machineType: word(spec.machineType),
    type: word(spec.type),
    memoryBytes: count(spec.memoryBytes),
    vcpus: count(spec.vcpus),
    memoryDump: dumpOf(spec.memoryDump),
    accessCredentials: credentialsOf(spec.accessCredentials),
    migration: spec.migration === undefined ? undefined : migrationOf(spec.migration),
    agent: agentOf(spec.agent),
    gracePeriodSeconds: expected(
      (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
      spec.gracePeriodSeconds,
      'its grace period is no number',
    ),
    gracePeriodStartedAt: expected(time, spec.gracePeriodStartedAt, 'its grace period began at no time'),
    markedForGracefulShutdown: flag(spec.markedForGracefulShutdown),
    agentConnected: flag(spec.agentConnected),
    disks: spec.disks.slice(0, MAX_DISKS).map(diskOf),
    // Its own lead.
    interfaces: spec.interfaces.slice(0, REPORT_LIMITS.interfaces).map(interfaceOf),
  });
}

function statusOf({ status, reason, osInfo, hostname, fsFreezeStatus }: Fields): DomainReport['status'] {
  if (typeof status !== 'string' || !Object.hasOwn(STATES, status)) refuse('its state is none that a domain can have');
  return compact<DomainReport['status']>({
    status: status as DomainState,
    reason: word(reason),
    osInfo: osInfoOf(osInfo),
    hostname: word(hostname),
    fsFreezeStatus: word(fsFreezeStatus),
  });
}

/** Throws Invalid. */
export function asDomainReport(value: unknown): DomainReport {
  if (!isObject(value) || !isObject(value.spec) || !isObject(value.status)) refuse('it has no spec or no status');
  const metadata = isObject(value.metadata) ? value.metadata : {};
  return {
    metadata: compact<DomainReport['metadata']>({
      name: word(metadata.name) ?? '',
      namespace: word(metadata.namespace) ?? '',
      uid: word(metadata.uid) ?? '',
      deletionTimestamp: word(metadata.deletionTimestamp),
    }),
    spec: specOf(value.spec),
    status: statusOf(value.status),
  };
}
