// The guest agent's answers in the words of the API. Pure; the guest is not trusted, so every field is checked before it is used.
import type { DomainInterfaceReport } from '../api/domain-report.js';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const objects = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

/** Drops absent fields. */
function compact<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export interface AgentVersion {
  readonly version: string;
  readonly commands: readonly { readonly name: string; readonly enabled: boolean }[];
}

/** guest-info */
export function readVersion(answer: unknown): AgentVersion {
  if (!isObject(answer)) return { version: '', commands: [] };
  const commands = objects(answer.supported_commands).map(({ name, enabled }) => ({ name: text(name) ?? '', enabled: enabled === true }));
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
  return objects(answer).flatMap((iface) => {
    const [interfaceName, mac] = [text(iface.name), text(iface['hardware-address'])];
    if (interfaceName === undefined || interfaceName === 'lo') return [];
    const ips = objects(iface['ip-addresses']).flatMap((address) => text(address['ip-address']) ?? []);
    return [{ mac: mac ?? '', interfaceName, ...(ips.length > 0 ? { ips: firstV4First(ips) } : {}) }];
  });
}

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
      mountPoint: text(fs.mountpoint) ?? '',
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

/** guest-exec-status */
export function readExecStatus(answer: unknown): ExecStatus {
  if (!isObject(answer)) return { exited: false, exitCode: ENDED_UNKNOWN, output: '' };
  const signal = number(answer.signal);
  const exitCode = number(answer.exitcode) ?? (signal === undefined ? ENDED_UNKNOWN : SIGNAL_BASE + signal);
  return { exited: answer.exited === true, exitCode, output: text(answer['out-data']) ?? '' };
}
