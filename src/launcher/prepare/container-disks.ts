// Container disks: finds each image's disk file, puts it where the domain XML expects it and tells its format. An image volume of the pod
// is linked here; for an image in a side container the node agent has mounted the file already.
import { lstat, mkdir, readdir, realpath, stat, symlink } from 'node:fs/promises';
import { posix } from 'node:path';
import type { VirtualMachineInstance, Volume } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { CONTAINER_DISKS_DIR, containerDiskImage, imageVolumeDir, kernelBootFile } from '../../core/storage/paths.js';
import { detectImageFormat, type ImageFormat } from '../../linux/qemu-img.js';

const KERNEL_BOOT_VOLUME = '/var/run/kubevirt-kernel-boot';

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw new KvError('Internal', `cannot look at ${path}`, { cause: err });
  }
}

/** The file inside a mounted image, which may not lead out of it by a link. */
async function fileWithin(root: string, path: string, what: string): Promise<string> {
  const wanted = posix.join(root, path);
  const real = await realpath(wanted).catch((err: unknown) => {
    throw new KvError('Terminal', `${what}: there is no ${path} in its image`, { cause: err });
  });
  if (!real.startsWith(`${await realpath(root)}/`)) throw new KvError('Terminal', `${what}: ${path} leads out of its image`);
  if (!(await stat(real)).isFile()) throw new KvError('Terminal', `${what}: ${path} in its image is no file`);
  return wanted;
}

/** Without a path the image must hold exactly one file below disk/. */
async function onlyFileOf(root: string, what: string): Promise<string> {
  const names = await readdir(posix.join(root, 'disk')).catch((err: unknown) => {
    throw new KvError('Terminal', `${what}: there is no directory disk/ in its image`, { cause: err });
  });
  const [name, ...others] = names;
  if (name === undefined || others.length > 0) {
    throw new KvError(
      'Terminal',
      `${what}: exactly one file must lie below disk/ in its image, found ${names.length}; name one by containerDisk.path`,
    );
  }
  return `disk/${name}`;
}

async function link(target: string, path: string): Promise<void> {
  if (await exists(path)) return;
  await symlink(target, path).catch((err: unknown) => {
    throw new KvError('Internal', `cannot link ${path} to ${target}`, { cause: err });
  });
}

async function placeDisk({ name, containerDisk }: Volume, index: number): Promise<ImageFormat> {
  const what = `container disk ${name}`;
  const image = containerDiskImage(index);
  const root = imageVolumeDir(index);
  if (await exists(root)) {
    const inside = containerDisk?.path || (await onlyFileOf(root, what));
    await link(await fileWithin(root, inside, what), image);
  }
  if (!(await exists(image))) throw new KvError('NotReady', `${what} is not mounted at ${image} yet`, { retry: { afterMs: 500 } });
  return detectImageFormat(image, `the disk image of ${what}`);
}

async function placeKernel(vmi: VirtualMachineInstance): Promise<void> {
  const container = vmi.spec.domain.firmware?.kernelBoot?.container;
  if (!container) return;
  const isVolume = await exists(KERNEL_BOOT_VOLUME);
  if (isVolume) await mkdir(posix.dirname(kernelBootFile('any')), { recursive: true });
  for (const path of [container.kernelPath, container.initrdPath]) {
    if (!path) continue;
    const file = kernelBootFile(path);
    if (isVolume) await link(await fileWithin(KERNEL_BOOT_VOLUME, path, 'kernel boot'), file);
    if (!(await exists(file)))
      throw new KvError('NotReady', `kernel boot: ${path} is not mounted at ${file} yet`, { retry: { afterMs: 500 } });
  }
}

/** Volume name → format. Safe to repeat. */
export async function placeContainerDisks(vmi: VirtualMachineInstance): Promise<Record<string, ImageFormat>> {
  await mkdir(CONTAINER_DISKS_DIR, { recursive: true });
  const disks = (vmi.spec.volumes ?? []).flatMap((volume, index) => (volume.containerDisk ? [{ volume, index }] : []));
  const [formats] = await Promise.all([
    Promise.all(disks.map(async ({ volume, index }) => [volume.name, await placeDisk(volume, index)] as const)),
    placeKernel(vmi),
  ]);
  return Object.fromEntries(formats);
}
