// Container disks of pods without image volumes: each image is held open by a side container, and its disk file is bound read-only into the
// launcher's volume. Which mounts exist is read from the host's mount table, never from a record, so a restarted agent neither mounts
// twice nor forgets one: a forgotten one would keep the kubelet from removing the pod.
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { hasCode, KvError } from '../../base/errors.js';
import { containerDiskImage, kernelBootFile } from '../../core/storage/paths.js';
import { pidsOfPod } from '../../linux/cgroup.js';
import { bindFileReadOnly, findHostPaths, mountPointsBelow, readMounts, unmountLazily } from '../../linux/mount.js';
import { isListening, peerOf } from '../../linux/peercred.js';
import { readCommandLine } from '../../linux/proc.js';
import { existsBeneath, openBeneath, type SafePath, withBeneath } from '../../linux/safe-path.js';
import { text } from '../text.js';

export interface ContainerDiskOptions {
  /** The kubelet's pods directory as the host sees it. */
  readonly hostPodsDir: string;
  /** Where the staging mount lives on the host. */
  readonly stageDir: string;
  /** A process in the host's mount namespace. */
  readonly hostPid?: number;
  /** For tests, whose containers are in no pod. */
  readonly pidsOfPod?: (podUid: string) => Promise<number[]>;
}

export interface ContainerDisks {
  /** Binds every container disk of the VMI; NotReady while a side container is not there. */
  mount(ctx: Ctx, vmi: VirtualMachineInstance, podUid: string): Promise<void>;
  /** Unmounts everything that the agent put into the pod's volumes. */
  unmount(ctx: Ctx, podUid: string): Promise<void>;
}

const VOLUMES = ['container-disks', 'hotplug-disks'] as const;
const volumeDir = (podUid: string, volume: string): string => `${podUid}/volumes/kubernetes.io~empty-dir/${volume}`;
const RETRY_MS = 1_000;

interface Disk {
  readonly volume: string;
  /** disk_<index>, kernel-boot: how the side container is recognised. */
  readonly id: string;
  /** Folder in the launcher's volume; undefined: the volume itself. */
  readonly folder?: string;
  /** Name in that folder. */
  readonly file: string;
  /** In the image; undefined: the only file below /disk. */
  readonly path: string | undefined;
}

const KERNEL_BOOT = 'kernel-boot';

function containerDisksOf(vmi: VirtualMachineInstance): Disk[] {
  return (vmi.spec.volumes ?? []).flatMap((volume, index) => {
    if (volume.containerDisk === undefined) return [];
    const file = containerDiskImage(index).split('/').at(-1) ?? '';
    return [{ volume: volume.name, id: file.replace(/\.img$/, ''), file, path: volume.containerDisk.path || undefined }];
  });
}

function kernelFilesOf({ spec }: VirtualMachineInstance): Disk[] {
  const { kernelPath, initrdPath } = spec.domain.firmware?.kernelBoot?.container ?? {};
  return [kernelPath, initrdPath].flatMap((path) =>
    path ? [{ volume: 'kernel-boot-volume', id: KERNEL_BOOT, folder: KERNEL_BOOT, file: basename(kernelBootFile(path)), path }] : [],
  );
}

export function createContainerDisks(options: ContainerDiskOptions): ContainerDisks {
  const hostPid = options.hostPid ?? 1;
  const mountNs = `/proc/${hostPid}/ns/mnt`;
  return {
    async mount(ctx, vmi, podUid) {
      const disks = [...containerDisksOf(vmi), ...kernelFilesOf(vmi)];
      const dir = disks.length === 0 ? undefined : await openVolume(options, hostPid, podUid);
      // Without this volume the pod mounts its images by itself.
      if (dir === undefined) return;
      try {
        for (const disk of disks) await mountDisk(ctx, { options, hostPid, dir, podUid }, disk);
      } finally {
        await dir.close();
      }
    },
    async unmount(ctx, podUid) {
      const mounts = await readMounts(hostPid);
      for (const volume of VOLUMES) {
        for (const point of mountPointsBelow(mounts, join(options.hostPodsDir, volumeDir(podUid, volume)))) {
          ctx.log.info({ mountPoint: point }, 'Unmounting from a launcher');
          await unmountLazily(ctx, point, mountNs);
        }
      }
    },
  };
}

const openVolume = (options: ContainerDiskOptions, hostPid: number, podUid: string): Promise<SafePath | undefined> =>
  openIfThere(`/proc/${hostPid}/root`, join(options.hostPodsDir, volumeDir(podUid, 'container-disks')));

export async function openIfThere(root: string, inside: string): Promise<SafePath | undefined> {
  try {
    return await openBeneath(root, inside);
  } catch (err) {
    if (hasCode(err, 'NotFound')) return undefined;
    throw err;
  }
}

interface Place {
  readonly options: ContainerDiskOptions;
  readonly hostPid: number;
  /** The launcher's volume, opened in the host's mount namespace. */
  readonly dir: SafePath;
  readonly podUid: string;
}

async function mountDisk(ctx: Ctx, place: Place, disk: Disk): Promise<void> {
  const { options, hostPid, podUid } = place;
  const target = join(options.hostPodsDir, volumeDir(podUid, 'container-disks'), disk.folder ?? '', disk.file);
  const host = await readMounts(hostPid);
  if (host.some((mount) => mount.mountPoint === target)) return;
  const pid = await holderOf(place, disk);
  const source = await withDiskFile(pid, disk, (file) => openOnHost(hostPid, pid, file));
  try {
    ctx.log.info({ volume: disk.volume, source: source.resolved, target }, 'Mounting a container disk');
    await bind(ctx, place, source, disk);
  } finally {
    await source.close();
  }
}

async function bind(ctx: Ctx, { options, hostPid, dir }: Place, source: SafePath, { folder, file }: Disk): Promise<void> {
  const handle = folder === undefined ? await openTarget(dir, file) : await openInFolder(dir, folder, file);
  try {
    await bindFileReadOnly(ctx, {
      source: source.pathForChild,
      target: `/proc/${process.pid}/fd/${handle.fd}`,
      stage: options.stageDir,
      mountNs: `/proc/${hostPid}/ns/mnt`,
    });
  } finally {
    await handle.close();
  }
}

/**
 * The process that keeps the image mounted: it listens on <id>.sock in the volume, or carries the id as an argument or in its environment.
 * The launcher may write to the volume: a socket, or a link to one, that leads to a process outside the pod is not believed.
 */
async function holderOf({ options, dir, podUid }: Place, disk: Disk): Promise<number> {
  const pids = await (options.pidsOfPod ?? pidsOfPod)(podUid);
  const socket = `${dir.path}/${disk.id}.sock`;
  const listener = (await isListening(socket)) ? (await peerOf(socket)).pid : undefined;
  if (listener !== undefined && pids.includes(listener)) return listener;
  const carries = (word: string): boolean => word === disk.id || word.endsWith(`/${disk.id}`) || word.endsWith(`=${disk.id}`);
  for (const pid of pids) {
    const words = [...(await readCommandLine(pid)), ...(await readEnvironment(pid))];
    if (words.some(carries)) return pid;
  }
  throw new KvError('NotReady', text.diskNotReady(disk.volume), { reason: 'ContainerDiskNotReady', retry: { afterMs: RETRY_MS } });
}

async function readEnvironment(pid: number): Promise<string[]> {
  try {
    return (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  } catch {
    // The process ended while we looked at it.
    return [];
  }
}

/** Opens the disk file in the side container's root. */
async function withDiskFile<T>(pid: number, disk: Disk, use: (file: SafePath) => Promise<T>): Promise<T> {
  const root = `/proc/${pid}/root`;
  const path = disk.path ?? join('/disk', await onlyFile(root, disk.volume));
  const file = await openIfThere(root, path);
  if (file === undefined) throw new KvError('Invalid', text.noSuchFile(disk.volume, path), { reason: 'ContainerDiskInvalid' });
  try {
    // A pipe would hold up whoever opens it.
    if (!(await stat(file.path)).isFile())
      throw new KvError('Invalid', text.diskIsNoFile(disk.volume, path), { reason: 'ContainerDiskInvalid' });
    return await use(file);
  } finally {
    await file.close();
  }
}

async function onlyFile(root: string, volume: string): Promise<string> {
  const files = (await existsBeneath(root, '/disk')) ? await withBeneath(root, '/disk', (dir) => readdir(dir.path)) : [];
  const [file, ...more] = files;
  if (file === undefined || more.length > 0) {
    throw new KvError(
      'Invalid',
      `the image of volume ${volume} holds ${files.length} files in /disk: give containerDisk.path, or keep exactly one`,
      {
        reason: 'ContainerDiskInvalid',
      },
    );
  }
  return file;
}

/** The very same file, opened in the host's mount namespace: only from there can it be bound. */
export async function openOnHost(hostPid: number, pid: number, file: SafePath): Promise<SafePath> {
  const [host, container, wanted] = await Promise.all([readMounts(hostPid), readMounts(pid), stat(file.path)]);
  for (const candidate of findHostPaths(host, container, file.resolved)) {
    const opened = await openIfThere(`/proc/${hostPid}/root`, candidate);
    const found = opened && (await stat(opened.path));
    if (opened && found?.ino === wanted.ino && found.dev === wanted.dev) return opened;
    await opened?.close();
  }
  throw new KvError('Internal', `the file ${file.resolved} of a container is not visible in the host's mount namespace`, {
    reason: 'ContainerDiskNotVisible',
  });
}

async function openInFolder(dir: SafePath, folder: string, file: string): Promise<FileHandle> {
  await mkdir(`${dir.path}/${folder}`, { recursive: true });
  return withBeneath(dir.path, folder, (inside) => openTarget(inside, file));
}

/** The empty file that the disk is bound over; made anew if the launcher put something else there. */
export async function openTarget(dir: SafePath, file: string): Promise<FileHandle> {
  const path = `${dir.path}/${file}`;
  // O_NONBLOCK: a pipe that the launcher put there must not hold up the agent.
  const handle = await open(path, constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o440);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new KvError('Invalid', `${file} in the launcher's volume is not a plain file`);
}
