// Looks at the files and devices behind the disks: which are block devices, whether direct I/O works, how large their blocks are.
// The converter chooses cache and I/O modes from that. Reads only.
import { constants } from 'node:fs';
import { open, stat, statfs } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../../api/index.js';
import { isKvError, KvError } from '../../base/errors.js';
import type { BlockSizes, DescribedDisk, DiskBackend } from '../../core/converter/index.js';
import { blockDevice, HOTPLUG_DISKS_DIR, hotplugBlockDevice } from '../../core/storage/paths.js';
import { queueLimit } from '../../linux/block-device.js';

const STAT_BLOCK_BYTES = 512;

async function isBlockDevice(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isBlockDevice(),
    // A claim with a filesystem has no device node.
    () => false,
  );
}

/** Claim, data and ephemeral volumes that are block devices in the pod, be they there from the start or plugged in. */
export async function findBlockVolumes(vmi: VirtualMachineInstance): Promise<ReadonlySet<string>> {
  const claims = (vmi.spec.volumes ?? []).filter(
    ({ persistentVolumeClaim, dataVolume, ephemeral }) => persistentVolumeClaim ?? dataVolume ?? ephemeral,
  );
  const isBlock = async (name: string): Promise<boolean> =>
    (await isBlockDevice(blockDevice(name))) || (await isBlockDevice(hotplugBlockDevice(name)));
  const found = await Promise.all(claims.map(async ({ name }) => ((await isBlock(name)) ? [name] : [])));
  return new Set(found.flat());
}

const isDisk = (found: { isFile(): boolean; isBlockDevice(): boolean }): boolean => found.isFile() || found.isBlockDevice();

/** Some filesystems (tmpfs of older kernels, FUSE) refuse O_DIRECT at open. A pipe in the place of an image must not hold us up. */
async function opensDirectly(path: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_DIRECT | constants.O_NONBLOCK);
    try {
      if (!isDisk(await file.stat())) throw new KvError('Invalid', `the disk image ${path} is neither a file nor a block device`);
    } finally {
      await file.close();
    }
    return true;
  } catch (err) {
    if (isKvError(err)) throw err;
    if ((err as NodeJS.ErrnoException).code === 'EINVAL') return false;
    throw new KvError('Internal', `cannot open the disk image ${path}: ${(err as NodeJS.ErrnoException).code}`, { cause: err });
  }
}

async function isFullyAllocated(path: string): Promise<boolean> {
  const found = await stat(path);
  return found.isFile() && found.blocks * STAT_BLOCK_BYTES >= found.size;
}

async function probeBackend({ path, dataPath, backingPath }: DescribedDisk & { path: string }): Promise<DiskBackend> {
  const files = [dataPath ?? path, ...(backingPath === undefined ? [] : [backingPath])];
  const direct = await Promise.all(files.map(opensDirectly));
  return { directIo: direct.every(Boolean), preallocated: await isFullyAllocated(dataPath ?? path) };
}

async function probeSizes(path: string): Promise<BlockSizes> {
  const found = await stat(path);
  if (found.isBlockDevice()) {
    const [logical, physical, discard] = await Promise.all([
      queueLimit(found.rdev, 'logical_block_size'),
      queueLimit(found.rdev, 'physical_block_size'),
      queueLimit(found.rdev, 'discard_granularity'),
    ]);
    return { logical, physical, ...(discard > 0 ? { discardGranularity: discard } : {}) };
  }
  const { bsize } = await statfs(path);
  return { logical: bsize, physical: bsize };
}

/** Without the plugged volumes that are not mounted yet, or are no disks: plugging them into the guest tells, and keeps none of the others away. */
export async function withoutAwaited(disks: readonly DescribedDisk[]): Promise<DescribedDisk[]> {
  const isAwaited = async ({ path }: DescribedDisk): Promise<boolean> =>
    path?.startsWith(`${HOTPLUG_DISKS_DIR}/`) === true && !(await isDiskThere(path));
  const awaited = await Promise.all(disks.map(isAwaited));
  return disks.filter((_, i) => awaited[i] !== true);
}

const isDiskThere = (path: string): Promise<boolean> =>
  stat(path).then(
    isDisk,
    // Whatever is wrong with it, attaching it will say.
    () => false,
  );

/** Of the images that we make ourselves. */
export async function readIsoSizes(disks: readonly DescribedDisk[]): Promise<Record<string, number>> {
  const made = disks.flatMap(({ name, path }) => (path?.endsWith('.iso') ? [{ name, path }] : []));
  return Object.fromEntries(await Promise.all(made.map(async ({ name, path }) => [name, (await stat(path)).size] as const)));
}

export interface ProbedDisks {
  readonly diskBackends: Readonly<Record<string, DiskBackend>>;
  readonly blockSizes: Readonly<Record<string, BlockSizes>>;
}

/** What lies behind each disk that has a file or device; `disks` as the converter described them. */
export async function probeDisks(vmi: VirtualMachineInstance, disks: readonly DescribedDisk[]): Promise<ProbedDisks> {
  const backed = disks.filter((disk): disk is DescribedDisk & { path: string } => disk.path !== undefined);
  const matching = new Set((vmi.spec.domain.devices.disks ?? []).flatMap(({ name, blockSize }) => (blockSize?.matchVolume ? [name] : [])));
  const [backends, sizes] = await Promise.all([
    Promise.all(backed.map(async (disk) => [disk.name, await probeBackend(disk)] as const)),
    Promise.all(
      backed
        .filter(({ name }) => matching.has(name))
        .map(async ({ name, path, dataPath }) => [name, await probeSizes(dataPath ?? path)] as const),
    ),
  ]);
  return { diskBackends: Object.fromEntries(backends), blockSizes: Object.fromEntries(sizes) };
}
