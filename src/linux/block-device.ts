// Facts about block devices, read from /sys. The root of /sys is a parameter for tests. Reads only.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface DeviceNumber {
  readonly major: number;
  readonly minor: number;
}

const SYS = '/sys';
/** What /sys counts sizes in, whatever the device's own blocks are. */
const SECTOR_BYTES = 512n;

/** The kernel's encoding in stat(2): 12 bits major, 20 bits minor, split. */
export function deviceNumber(rdev: number): DeviceNumber {
  return { major: (rdev >> 8) & 0xfff, minor: (rdev & 0xff) | ((rdev >> 12) & 0xfff00) };
}

export const sameDevice = (a: DeviceNumber, b: DeviceNumber): boolean => a.major === b.major && a.minor === b.minor;

async function readFact(rdev: number, name: string, sys: string): Promise<string> {
  const { major, minor } = deviceNumber(rdev);
  return (await readFile(join(sys, `dev/block/${major}:${minor}`, name), 'utf8')).trim();
}

/** A limit of the device's queue, such as logical_block_size. Partitions have none of their own. */
export const queueLimit = async (rdev: number, name: string, sys = SYS): Promise<number> =>
  Number(await readFact(rdev, `queue/${name}`, sys));

/** Size in bytes; undefined for what is no block device. */
export async function blockDeviceBytes(path: string, sys = SYS): Promise<bigint | undefined> {
  const found = await stat(path);
  return found.isBlockDevice() ? BigInt(await readFact(found.rdev, 'size', sys)) * SECTOR_BYTES : undefined;
}
