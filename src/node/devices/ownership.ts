// Hands the device nodes of a launcher's container to the user it runs as: containers get them with the host's owner, and a launcher
// without privileges could not open them. The nodes are the container's own; the host's stay as they are.
import { chown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../base/errors.js';
import { existsBeneath, withBeneath } from '../../linux/safe-path.js';
import { type Isolation, rootOf } from '../launchers/launcher.js';

const DEVICES = ['/dev/kvm', '/dev/mshv', '/dev/net/tun', '/dev/vhost-net', '/dev/vhost-vsock', '/dev/sev', '/dev/iommu'];
/** Functions of the host that the pod was given: IOMMU groups, and USB devices by bus. */
const FOLDERS = ['/dev/vfio', '/dev/bus/usb'];

/** What the container does not have is skipped. */
export async function claimDevices(
  isolation: Isolation,
  devices: readonly string[] = DEVICES,
  folders: readonly string[] = FOLDERS,
): Promise<void> {
  if (isolation.uid === 0) return;
  const root = rootOf(isolation);
  const found = await Promise.all(folders.map((folder) => devicesIn(root, folder)));
  for (const device of [...devices, ...found.flat()]) await claim(root, device, isolation.uid);
}

async function ifThere<T>(root: string, path: string, work: (path: string) => Promise<T>): Promise<T | undefined> {
  try {
    return await withBeneath(root, path, (found) => work(found.path));
  } catch (err) {
    if (hasCode(err, 'NotFound')) return undefined;
    throw err;
  }
}

async function devicesIn(root: string, folder: string): Promise<string[]> {
  const entries = await ifThere(root, folder, (path) => readdir(path, { withFileTypes: true, recursive: true }).then(relativeTo(path)));
  return (entries ?? []).map((entry) => join(folder, entry));
}

const relativeTo =
  (base: string) =>
  (entries: readonly { readonly name: string; readonly parentPath: string; isDirectory(): boolean }[]): string[] =>
    entries.filter((entry) => !entry.isDirectory()).map(({ name, parentPath }) => join(parentPath.slice(base.length), name));

async function claim(root: string, device: string, uid: number): Promise<void> {
  await ifThere(root, device, async (path) => {
    if ((await stat(path)).isCharacterDevice()) await chown(path, uid, uid);
  });
}

/** Whether the launcher's container was given the device: /dev/kvm, or that of another hypervisor. */
export const hasDevice = (isolation: Isolation, path: string): Promise<boolean> => existsBeneath(rootOf(isolation), path);
