// What the guest's disks take of the pod's own storage, which the kubelet bounds: the layers above images and claims, and disks that begin empty.
// Read when the pod is told to end while its guest runs, so that the last words name the volume that grew. Never changes anything.
import { readdir, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { EMPTY_DISKS_DIR, OVERLAYS_DIR, overlayImage } from '../core/storage/paths.js';

export interface PodDisk {
  readonly volume: string;
  readonly bytes: number;
}

/** stat counts in these, whatever the file system's blocks are. */
const BLOCK = 512;
const EMPTY_DISK = '.qcow2';

/** A pod has neither folder where its guest has no such disk. */
const namesIn = (dir: string): Promise<string[]> => readdir(dir).catch(() => []);

async function diskAt(root: string, volume: string, path: string): Promise<PodDisk[]> {
  // One that goes meanwhile takes nothing.
  const found = await stat(posix.join(root, path)).catch(() => undefined);
  return found?.isFile() ? [{ volume, bytes: found.blocks * BLOCK }] : [];
}

/** Largest first. `root`: of the pod. */
export async function podDisks(root = '/'): Promise<PodDisk[]> {
  const overlays = await namesIn(posix.join(root, OVERLAYS_DIR));
  const empty = (await namesIn(posix.join(root, EMPTY_DISKS_DIR))).filter((name) => name.endsWith(EMPTY_DISK));
  const disks = await Promise.all([
    ...overlays.map((volume) => diskAt(root, volume, overlayImage(volume))),
    ...empty.map((name) => diskAt(root, name.slice(0, -EMPTY_DISK.length), posix.join(EMPTY_DISKS_DIR, name))),
  ]);
  return disks.flat().sort((a, b) => b.bytes - a.bytes);
}
