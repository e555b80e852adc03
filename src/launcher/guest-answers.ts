// The guest agent's answers in the words of the API. Pure; the guest is not trusted, so every field is checked before it is used, and cut where it
// is longer than an honest one: an agent may send 10 MB.
import { isIP } from 'node:net';
import { type DomainInterfaceReport, REPORT_LIMITS } from '../api/domain-report.js';
import { compact } from '../base/compact.js';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
/** Of users, file systems and the like, none of which end in the status of a VMI. */
const MOST = 4096;
const objects = (value: unknown): Fields[] => (Array.isArray(value) ? value.slice(0, MOST).filter(isObject) : []);
/** Of one interface, among which the first IPv4 address is looked for. */
const MOST_ADDRESSES = 512;
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, REPORT_LIMITS.word) : undefined;
const path = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, REPORT_LIMITS.sentence) : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

export interface AgentVersion {
  readonly version: string;
  readonly commands: readonly { readonly name: string; readonly enabled: boolean }[];
}

/** guest-info */
export function readVersion(answer: unknown): AgentVersion {
  if (!isObject(answer)) return { version: '', commands: [] };
  const commands = objects(answer.supported_commands)
    .slice(0, REPORT_LIMITS.commands)
    .map(({ name, enabled }) => ({ name: text(name) ?? '', enabled: enabled === true }));
  return { version: text(answer.version) ?? '', commands: commands.filter(({ name }) => name !== '') };
}

/** guest-fsfreeze-status: "thawed" or "frozen". */
export const readFreezeStatus = (answer: unknown): string | undefined => text(answer);

const OS_FIELDS: Readonly<Record<string, string>> = {
  name: 'name',
  'kernel-release': 'kernelRelease',
  version: 'version',
  'pretty-name': 'prettyName',
  'version-id': 'versionId',
  'kernel-version': 'kernelVersion',
  machine: 'machine',
  id: 'id',
};

/** guest-get-osinfo → VMI.status.guestOSInfo */
export function readOsInfo(answer: unknown): Record<string, string> {
  if (!isObject(answer)) return {};
  const entries = Object.entries(OS_FIELDS).flatMap(([theirs, ours]) => {
    const value = text(answer[theirs]);
    return value === undefined ? [] : [[ours, value]];
  });
  return Object.fromEntries(entries);
}

/** guest-get-host-name */
export const readHostname = (answer: unknown): string | undefined => (isObject(answer) ? text(answer['host-name']) : undefined);

/** guest-get-timezone → "CET, 3600" */
export function readTimezone(answer: unknown): string | undefined {
  if (!isObject(answer)) return undefined;
  const offset = number(answer.offset);
  return offset === undefined ? undefined : `${text(answer.zone) ?? ''}, ${offset}`;
}

/** guest-network-get-interfaces, without the loopback. */
export function readInterfaces(answer: unknown): DomainInterfaceReport[] {
  const named = objects(answer).flatMap((iface) => {
    const interfaceName = text(iface.name);
    return interfaceName === undefined || interfaceName === 'lo' ? [] : [{ iface, interfaceName }];
  });
  return named.slice(0, REPORT_LIMITS.interfaces).map(({ iface, interfaceName }) => {
    const listed = objects(iface['ip-addresses']).slice(0, MOST_ADDRESSES);
    const ips = listed.flatMap((address) => addressOf(address['ip-address']) ?? []);
    const told = ips.length > 0 ? { ips: firstV4First(ips).slice(0, REPORT_LIMITS.addresses) } : {};
    return { mac: text(iface['hardware-address']) ?? '', interfaceName, ...told };
  });
}

const addressOf = (value: unknown): string | undefined => {
  const found = text(value);
  return found === undefined || isIP(found) === 0 ? undefined : found;
};

/** The first IPv4 address leads: it becomes the interface's ipAddress. */
function firstV4First(ips: readonly string[]): string[] {
  const v4 = ips.find((ip) => !ip.includes(':'));
  return v4 === undefined ? [...ips] : [v4, ...ips.filter((ip) => ip !== v4)];
}

export interface GuestUser {
  readonly userName: string;
  readonly domain?: string;
  readonly loginTime?: number;
}

/** guest-get-users */
export function readUsers(answer: unknown): GuestUser[] {
  return objects(answer).map(({ user, domain, 'login-time': login }) =>
    compact<GuestUser>({ userName: text(user) ?? '', domain: text(domain), loginTime: number(login) }),
  );
}

export interface GuestFilesystem {
  readonly diskName: string;
  readonly mountPoint: string;
  readonly fileSystemType: string;
  readonly usedBytes: number;
  readonly totalBytes: number;
  readonly disk?: readonly { readonly serial?: string; readonly busType: string }[];
}

/** guest-get-fsinfo */
export function readFilesystems(answer: unknown): GuestFilesystem[] {
  return objects(answer).map((fs) => {
    const disks = objects(fs.disk).map((disk) =>
      compact<{ serial?: string; busType: string }>({ serial: text(disk.serial), busType: text(disk['bus-type']) ?? '' }),
    );
    return {
      diskName: text(fs.name) ?? '',
      mountPoint: path(fs.mountpoint) ?? '',
      fileSystemType: text(fs.type) ?? '',
      usedBytes: number(fs['used-bytes']) ?? 0,
      totalBytes: number(fs['total-bytes']) ?? 0,
      ...(disks.length > 0 ? { disk: disks } : {}),
    };
  });
}

/** guest-exec: the process id of what was started. */
export const readExecPid = (answer: unknown): number | undefined => (isObject(answer) ? number(answer.pid) : undefined);

export interface ExecStatus {
  readonly exited: boolean;
  readonly exitCode: number;
  /** In base64, as the guest sent it. */
  readonly output: string;
}

/** A program ended by a signal counts as a shell counts it. */
const SIGNAL_BASE = 128;
const ENDED_UNKNOWN = -1;

/** guest-exec-status; what the program wrote is for who ran it, and whole. */
export function readExecStatus(answer: unknown): ExecStatus {
  if (!isObject(answer)) return { exited: false, exitCode: ENDED_UNKNOWN, output: '' };
  const signal = number(answer.signal);
  const exitCode = number(answer.exitcode) ?? (signal === undefined ? ENDED_UNKNOWN : SIGNAL_BASE + signal);
  return { exited: answer.exited === true, exitCode, output: typeof answer['out-data'] === 'string' ? answer['out-data'] : '' };
}
