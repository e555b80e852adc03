// Lets the processes of a running container use block devices that its runtime knows nothing of, and takes the permission back. With control
// groups of version 1 that is one line in a file; with version 2 the programs that guard the devices are replaced by the same ones with a
// prologue (device-program.ts). Called by the node agent when a volume is plugged.
import { closeSync, constants } from 'node:fs';
import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { basename, join, relative } from 'node:path/posix';
import { KvError } from '../base/errors.js';
import { type DeviceNumber, sameDevice } from './block-device.js';
import { type CgroupEntry, readCgroups } from './cgroup.js';
import { devicesOf, withDevices } from './device-program.js';
import { attachDeviceProgram, deviceProgramsOf, loadDeviceProgram, openProgram, readProgram } from './ffi-bpf.js';
import { isBeneath, type Mount, readMounts } from './mount.js';

export interface DeviceChange {
  readonly allow: readonly DeviceNumber[];
  readonly deny: readonly DeviceNumber[];
}

export type DeviceGroup = { readonly version: 1 | 2; readonly dir: string };

/** Where the group that guards the devices of these entries lies; pure. */
export function deviceGroup(entries: readonly CgroupEntry[], mounts: readonly Mount[]): DeviceGroup | undefined {
  const old = entries.find(({ controllers }) => controllers.includes('devices'));
  const entry = old ?? entries.find(({ hierarchy }) => hierarchy === 0);
  // A path that leads up out of the reader's own group names a group only to the kernel.
  if (!entry || entry.path.split('/').includes('..')) return undefined;
  const mount = mounts.findLast(
    ({ fsType, mountPoint, root }) =>
      (old ? fsType === 'cgroup' && basename(mountPoint).split(',').includes('devices') : fsType === 'cgroup2') &&
      isBeneath(root, entry.path),
  );
  if (!mount) return undefined;
  return { version: old ? 1 : 2, dir: join(mount.mountPoint, relative(mount.root, entry.path)) };
}

/** For the container of process `pid`; its group is looked up among the mounts of `hostPid`. Safe to repeat. */
export async function changeDevices(pid: number, change: DeviceChange, hostPid = 1): Promise<void> {
  const [entries, mounts] = await Promise.all([readCgroups(pid), readMounts(hostPid)]);
  const group = deviceGroup(entries, mounts);
  if (group === undefined)
    throw new KvError('Internal', `the control group that guards the devices of process ${pid} is not visible on the node`);
  await changeDevicesOf({ ...group, dir: `/proc/${hostPid}/root${group.dir}` }, change);
}

/** The same for a group whose directory is visible here. */
export const changeDevicesOf = ({ version, dir }: DeviceGroup, change: DeviceChange): Promise<void> =>
  version === 1 ? changeList(dir, change) : changePrograms(dir, change);

/** Whether a list of devices.list allows everything with the device. */
export function isListed(list: string, { major, minor }: DeviceNumber): boolean {
  const wanted = new Set(['a *:* rwm', `b ${major}:${minor} rwm`, `b ${major}:* rwm`, 'b *:* rwm']);
  return list.split('\n').some((line) => wanted.has(line));
}

const rule = ({ major, minor }: DeviceNumber): string => `b ${major}:${minor} rwm`;

async function changeList(dir: string, { allow, deny }: DeviceChange): Promise<void> {
  const list = await readFile(join(dir, 'devices.list'), 'utf8');
  // A group that may use everything keeps no list; an exception there would hold for every group below, and forbid them their own lists.
  if (list.startsWith('a *:* rwm')) return;
  // One rule a write.
  for (const device of allow) if (!isListed(list, device)) await writeFile(join(dir, 'devices.allow'), rule(device));
  for (const device of deny) await writeFile(join(dir, 'devices.deny'), rule(device));
}

async function changePrograms(dir: string, change: DeviceChange): Promise<void> {
  const group = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const { ids, flags } = deviceProgramsOf(group.fd);
    for (const id of ids) changeProgram(group, { id, flags }, change);
  } finally {
    await group.close();
  }
}

function changeProgram(group: FileHandle, { id, flags }: { id: number; flags: number }, { allow, deny }: DeviceChange): void {
  const attached = openProgram(id);
  try {
    const program = readProgram(attached);
    if (program.length === 0) {
      throw new KvError(
        'Internal',
        `the kernel does not show the program that guards the devices of the pod (id ${id}): is net.core.bpf_jit_harden set?`,
      );
    }
    const isLittle = endianness() === 'LE';
    const before = devicesOf(program, isLittle);
    const has = (list: readonly DeviceNumber[], device: DeviceNumber): boolean => list.some((each) => sameDevice(each, device));
    const kept = before.filter((device) => !has(deny, device));
    const devices = [...kept, ...allow.filter((device) => !has(kept, device))];
    if (devices.length === before.length && devices.every((device) => has(before, device))) return;
    const changed = loadDeviceProgram(withDevices(program, devices, isLittle));
    try {
      attachDeviceProgram(group.fd, changed, flags, attached);
    } finally {
      closeSync(changed);
    }
  } finally {
    closeSync(attached);
  }
}
