// Makes the disk images of a VMI that lie in directories of its launcher's pod, and hands images and block devices to the user that QEMU
// runs as: a launcher without privileges can do neither. Everything is opened below the launcher's root, without following links.
import { constants } from 'node:fs';
import { chown, type FileHandle, open, rm, stat, statfs } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError } from '../../base/errors.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { blockVolumesOf, type DiskImagePlan, fitDiskImage, planDiskImages, type Space } from '../../core/storage/disk-images.js';
import { blockDevice } from '../../core/storage/paths.js';
import { withBeneath } from '../../linux/safe-path.js';
import { text } from '../text.js';

export interface ImageOwner {
  /** The launcher's root, as /proc shows it. */
  readonly root: string;
  /** Of QEMU; its group is the same. */
  readonly uid: number;
}

type Limits = Pick<Space, 'reserveBytes' | 'tolerancePercent'>;

const EXISTING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const IMAGE_MODE = 0o660;
/** What a qcow2 image begins with. */
const QCOW2 = Buffer.from('514649fb', 'hex');

/** What a user should know although it works: an event each. */
export interface ImageNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Safe to repeat: an image that is there keeps its content. */
export async function ensureDiskImages(
  ctx: Ctx,
  vmi: VirtualMachineInstance,
  owner: ImageOwner,
  config: ClusterConfig,
): Promise<readonly ImageNote[]> {
  const { minimumReservePVCBytes = 0, pvcTolerateLessSpaceUpToPercent = 0 } = config.spec.developerConfiguration ?? {};
  const limits = { reserveBytes: BigInt(minimumReservePVCBytes), tolerancePercent: BigInt(pvcTolerateLessSpaceUpToPercent) };
  const notes: ImageNote[] = [];
  for (const plan of planDiskImages(vmi)) {
    notes.push(...(await ensureImage(ctx, plan, owner, limits)));
  }
  for (const volume of blockVolumesOf(vmi)) await ownDevice(volume, owner);
  return notes;
}

async function ensureImage(ctx: Ctx, plan: DiskImagePlan, owner: ImageOwner, limits: Limits): Promise<ImageNote[]> {
  try {
    return await withBeneath(owner.root, plan.dir, async (dir) => {
      const path = `${dir.path}/${plan.file}`;
      const existing = await openExisting(path, plan);
      if (existing === undefined) return createImage(ctx, path, plan, { owner, limits, dir: dir.path });
      return await using(existing, async (file) => {
        await ownImage(file, plan, owner);
        return [await formatNote(file, plan), await sizeNote(file, plan)].filter((note) => note !== undefined);
      });
    });
  } catch (err) {
    if (!hasCode(err, 'NotFound')) throw err;
    throw new KvError('NotReady', text.volumeNotMounted(plan.volume, plan.where), { cause: err, reason: 'VolumeNotMounted' });
  }
}

async function using<T>(file: FileHandle, work: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

const invalid = (message: string, cause?: unknown): KvError =>
  new KvError('Invalid', message, { reason: 'DiskImageInvalid', retry: 'backoff', ...(cause === undefined ? {} : { cause }) });

async function openExisting(path: string, plan: DiskImagePlan): Promise<FileHandle | undefined> {
  try {
    return await open(path, EXISTING);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw invalid(text.imageIsLink(plan.volume, plan.file, plan.where), err);
    throw invalid(text.imageUnreadable(plan.volume, plan.file, plan.where, code ?? String(err)), err);
  }
}

async function ownImage(file: FileHandle, plan: DiskImagePlan, { uid }: ImageOwner): Promise<void> {
  const found = await file.stat();
  if (!found.isFile()) throw invalid(text.imageIsNoFile(plan.volume, plan.file, plan.where));
  if (found.uid === uid) return;
  try {
    await file.chown(uid, uid);
  } catch (err) {
    // A volume that nobody may change: QEMU opens what it can read.
    if ((err as NodeJS.ErrnoException).code !== 'EROFS') throw invalid(text.imageNotOurs(plan.volume, plan.file, plan.where), err);
  }
}

/** Such an image is not refused: what it looks like is the guest's to write. */
async function formatNote(file: FileHandle, plan: DiskImagePlan): Promise<ImageNote | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(QCOW2.length), 0, QCOW2.length, 0);
  if (bytesRead < QCOW2.length || !buffer.equals(QCOW2)) return undefined;
  return { type: 'Warning', reason: 'ImageReadAsRaw', message: text.imageIsQcow2(plan.volume, plan.file, plan.where) };
}

/** A sparse image may promise more than its claim holds. That is allowed: many a guest never writes so much. */
async function sizeNote(file: FileHandle, { volume, file: name, where, roomBytes }: DiskImagePlan): Promise<ImageNote | undefined> {
  const { size } = await file.stat({ bigint: true });
  if (roomBytes === undefined || size <= roomBytes) return undefined;
  return {
    type: 'Warning',
    reason: 'ImageLargerThanClaim',
    message: text.imageTooLarge(`${name} on ${where} of volume ${volume}`, size, roomBytes),
  };
}

interface Creation {
  readonly owner: ImageOwner;
  readonly limits: Limits;
  readonly dir: string;
}

/** Sparse: its blocks are taken when the guest writes them. */
async function createImage(ctx: Ctx, path: string, plan: DiskImagePlan, { owner, limits, dir }: Creation): Promise<ImageNote[]> {
  if (plan.bytes === undefined) throw invalid(text.imageMissing(plan.volume, plan.file, plan.where));
  const { bavail, bsize } = await statfs(dir, { bigint: true });
  const { bytes, warning } = fitDiskImage(plan.bytes, { ...limits, availableBytes: bavail * bsize }, plan);
  ctx.log.info({ volume: plan.volume, where: plan.where, bytes: bytes.toString() }, 'Creating a disk image');
  const file = await open(path, NEW, IMAGE_MODE).catch((err: NodeJS.ErrnoException) => {
    throw invalid(text.imageUnreadable(plan.volume, plan.file, plan.where, err.code ?? err.message), err);
  });
  try {
    await file.truncate(Number(bytes));
    await file.chown(owner.uid, owner.uid);
  } catch (err) {
    await rm(path, { force: true });
    throw invalid(text.imageUnreadable(plan.volume, plan.file, plan.where, (err as NodeJS.ErrnoException).code ?? String(err)), err);
  } finally {
    await file.close();
  }
  return warning === undefined ? [] : [{ type: 'Normal', reason: 'ToleratedSmallPV', message: warning }];
}

/** Container runtimes give a device node to root unless they are told otherwise. The node is the container's own. */
async function ownDevice(volume: string, { root, uid }: ImageOwner): Promise<void> {
  await withBeneath(root, blockDevice(volume), async ({ path }) => {
    const found = await stat(path);
    if (found.isBlockDevice() && found.uid !== uid) await chown(path, uid, uid);
  });
}
