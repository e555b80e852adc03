// Block volumes that come to a running launcher: the attachment pod was given the device by its runtime; here the same device is made among the
// launcher's hotplugged disks, and its container is allowed to use it. What is there is read from that folder, never from a record. The launcher
// may write to the folder: nothing in it is followed or believed but device nodes, which no launcher can make.
import { constants } from 'node:fs';
import { chmod, chown, lstat, open, readdir, rm, rmdir, stat, unlink } from 'node:fs/promises';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError } from '../../base/errors.js';
import { type DeviceNumber, deviceNumber, sameDevice } from '../../linux/block-device.js';
import { changeDevices } from '../../linux/device-access.js';
import { run } from '../../linux/exec.js';
import { type SafePath, withBeneath } from '../../linux/safe-path.js';
import { text } from '../text.js';

export interface DeviceHost {
  /** A process in the host's mount namespace. */
  readonly hostPid: number;
  /** A process of the launcher's container. */
  readonly launcherPid: number;
  readonly ctx: Ctx;
}

const QEMU_USER = 107;
const MODE = 0o660;
const O_PATH = 0o10000000;

/** Devices in the folder, by name. */
export async function pluggedDevices(dir: SafePath): Promise<ReadonlyMap<string, DeviceNumber>> {
  const names = await readdir(dir.path);
  const found = await Promise.all(names.map(async (name) => [name, await numbersAt(`${dir.path}/${name}`)] as const));
  return new Map(found.filter((pair): pair is [string, DeviceNumber] => pair[1] !== undefined));
}

async function numbersAt(path: string): Promise<DeviceNumber | undefined> {
  try {
    const found = await lstat(path);
    return found.isBlockDevice() ? deviceNumber(found.rdev) : undefined;
  } catch (err) {
    // The launcher removed it meanwhile.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

/** The device in a folder of the attachment pod, which holds nothing else. */
export async function attachedDevice(root: string, folder: string, volume: string): Promise<DeviceNumber> {
  try {
    return await withBeneath(root, folder, async (found) => {
      const [name = ''] = await readdir(found.path);
      return withBeneath(root, `${folder}/${name}`, async ({ path }) => {
        const device = await stat(path);
        if (device.isBlockDevice()) return deviceNumber(device.rdev);
        throw new KvError('NotReady', text.noPlugDevice(volume, folder), { reason: 'HotplugFailed' });
      });
    });
  } catch (err) {
    if (!hasCode(err, 'NotFound')) throw err;
    throw new KvError('NotReady', text.noPlugDevice(volume, folder), { reason: 'HotplugFailed', cause: err });
  }
}

/** Safe to repeat; also gives back a permission that the runtime has taken away meanwhile. */
export async function plugDevice(host: DeviceHost, dir: SafePath, volume: string, device: DeviceNumber): Promise<void> {
  await changeDevices(host.launcherPid, { allow: [device], deny: [] }, host.hostPid);
  const found = await numbersAt(`${dir.path}/${volume}`);
  if (found && sameDevice(found, device)) return;
  host.ctx.log.info({ volume, ...device }, 'Making the device of a plugged volume');
  await clear(`${dir.path}/${volume}`, volume);
  await run(host.ctx, 'mknod', [`${dir.pathForChild}/${volume}`, 'b', String(device.major), String(device.minor)]);
  await own(dir, volume, device);
}

/**
 * Takes away what bears the name. Never what lies in it: while we went through a folder of the launcher's it could put links there that lead out of
 * the pod. An empty one is left by a directory that was mounted here.
 */
async function clear(path: string, volume: string): Promise<void> {
  try {
    await unlink(path);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    if (code !== 'EISDIR' && code !== 'EPERM') throw err;
    await rmdir(path).catch((cause: unknown) => {
      throw new KvError('NotReady', text.plugBlocked(volume), { reason: 'HotplugFailed', cause });
    });
  }
}

/** By descriptor: what bears the name may have been exchanged. */
async function own(dir: SafePath, volume: string, device: DeviceNumber): Promise<void> {
  const node = await open(`${dir.path}/${volume}`, O_PATH | constants.O_NOFOLLOW);
  try {
    const path = `/proc/self/fd/${node.fd}`;
    const found = await stat(path);
    if (!found.isBlockDevice() || !sameDevice(deviceNumber(found.rdev), device)) {
      throw new KvError('NotReady', text.plugExchanged(volume), { reason: 'HotplugFailed' });
    }
    await chown(path, QEMU_USER, QEMU_USER);
    await chmod(path, MODE);
  } finally {
    await node.close();
  }
}

export async function unplugDevice(host: DeviceHost, dir: SafePath, volume: string, device: DeviceNumber): Promise<void> {
  host.ctx.log.info({ volume, ...device }, 'Removing the device of a volume that was unplugged');
  await rm(`${dir.path}/${volume}`, { force: true });
  await changeDevices(host.launcherPid, { allow: [], deny: [device] }, host.hostPid);
}
