// Volumes that come to a running launcher: the attachment pod has them mounted, and each is bound from there into the launcher's volume for
// hotplugged disks. As with container disks, the host's mount table says what is mounted, never a record. Claims as devices are refused with a
// reason: a device of the node cannot be let into a running pod yet.
import { constants } from 'node:fs';
import { chown, type FileHandle, mkdir, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { pidsOfPod } from '../../linux/cgroup.js';
import { bindWritable, type Mount, mountPointsBelow, readMounts, unmountLazily } from '../../linux/mount.js';
import { existsBeneath, openBeneath, type SafePath } from '../../linux/safe-path.js';
import { text } from '../text.js';
import { type ContainerDiskOptions, openIfThere, openOnHost, openTarget } from './container-disks.js';

export interface HotplugDiskOptions extends Omit<ContainerDiskOptions, 'stageDir'> {
  /** For tests, whose attachment pods have the root of this machine: where their volumes lie. */
  readonly volumesAt?: string;
}

export interface HotplugDisks {
  /**
   * Binds what has come and is wanted, unbinds what is neither wanted nor in use any more; gives the volumes that are bound then. Volumes whose
   * attachment pod is not up yet are left out.
   */
  sync(ctx: Ctx, vmi: VirtualMachineInstance, podUid: string, inUse: ReadonlySet<string>): Promise<ReadonlySet<string>>;
}

export interface Plug {
  readonly volume: string;
  readonly attachmentPod: string;
  /** Memory dumps and utility volumes are directories, disks one file. */
  readonly isDirectory: boolean;
}

const DISK = 'disk.img';
const IMAGE = '.img';
const QEMU_USER = 107;

const volumesDir = (podUid: string): string => `${podUid}/volumes/kubernetes.io~empty-dir/hotplug-disks`;

/** Pure: what shall be bound. */
export function plugsOf({ spec, status }: VirtualMachineInstance): Plug[] {
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => name));
  const utility = new Set((spec.utilityVolumes ?? []).map(({ name }) => name));
  return (status?.volumeStatus ?? []).flatMap(({ name, hotplugVolume, memoryDumpVolume }: VolumeStatus): Plug[] => {
    const attachmentPod = hotplugVolume?.attachPodUID;
    if (!attachmentPod || (!volumes.has(name) && !utility.has(name))) return [];
    return [{ volume: name, attachmentPod, isDirectory: memoryDumpVolume !== undefined || utility.has(name) }];
  });
}

const fileOf = ({ volume, isDirectory }: Plug): string => (isDirectory ? volume : `${volume}${IMAGE}`);
const volumeOf = (point: string): string => basename(point).replace(/\.img$/, '');

export function createHotplugDisks(options: HotplugDiskOptions): HotplugDisks {
  const hostPid = options.hostPid ?? 1;
  const mountNs = `/proc/${hostPid}/ns/mnt`;
  const dirOf = (podUid: string): string => join(options.hostPodsDir, volumesDir(podUid));
  const bound = (mounts: readonly Mount[], podUid: string): string[] => mountPointsBelow(mounts, dirOf(podUid));
  return {
    async sync(ctx, vmi, podUid, inUse) {
      const plugs = plugsOf(vmi);
      const wanted = new Set(plugs.map(({ volume }) => volume));
      const there = new Set<string>();
      for (const point of bound(await readMounts(hostPid), podUid)) {
        const volume = volumeOf(point);
        if (wanted.has(volume) || inUse.has(volume)) there.add(volume);
        else {
          ctx.log.info({ volume, mountPoint: point }, 'Unmounting a volume that was unplugged');
          await unmountLazily(ctx, point, mountNs);
        }
      }
      for (const plug of plugs) {
        if (there.has(plug.volume)) continue;
        const isBound = await bind(ctx, { ...options, hostPid, mountNs, dir: dirOf(podUid) }, plug);
        if (isBound) there.add(plug.volume);
      }
      return there;
    },
  };
}

interface Place {
  readonly hostPid: number;
  readonly mountNs: string;
  /** The launcher's volume as the host sees it. */
  readonly dir: string;
  readonly pidsOfPod?: (podUid: string) => Promise<number[]>;
  readonly volumesAt?: string;
}

/** False while the attachment pod has no process yet. */
async function bind(ctx: Ctx, place: Place, plug: Plug): Promise<boolean> {
  const pid = await holderOf(place, plug);
  if (pid === undefined) return false;
  const dir = await openBeneath(`/proc/${place.hostPid}/root`, place.dir);
  try {
    const source = await sourceOf(place, pid, plug);
    try {
      await bindTo(ctx, place, plug, { dir, source });
    } finally {
      await source.close();
    }
    return true;
  } finally {
    await dir.close();
  }
}

/** The process of the pod that sees the volume: its sandbox has one, too, and sees nothing. */
async function holderOf({ volumesAt = '/', ...place }: Place, { volume, attachmentPod }: Plug): Promise<number | undefined> {
  const pids = await (place.pidsOfPod ?? pidsOfPod)(attachmentPod);
  for (const pid of pids) {
    const root = `/proc/${pid}/root`;
    if ((await existsBeneath(root, join(volumesAt, volume))) || (await existsBeneath(root, `/path/${volume}`))) return pid;
  }
  return undefined;
}

/** The volume in the attachment pod, opened where the host sees it. */
async function sourceOf({ hostPid, volumesAt = '/' }: Place, pid: number, { volume, isDirectory }: Plug): Promise<SafePath> {
  const root = `/proc/${pid}/root`;
  const inside = join(volumesAt, volume, isDirectory ? '' : DISK);
  const found = await openIfThere(root, inside);
  if (found === undefined) {
    const isDevice = await existsBeneath(root, `/path/${volume}`);
    throw new KvError('NotReady', isDevice ? text.blockPlug(volume) : text.noPlugFile(volume, inside), { reason: 'HotplugFailed' });
  }
  try {
    // The guest's process shall write to it.
    await chown(found.path, QEMU_USER, QEMU_USER);
    return await openOnHost(hostPid, pid, found);
  } finally {
    await found.close();
  }
}

async function bindTo(ctx: Ctx, place: Place, plug: Plug, { dir, source }: { dir: SafePath; source: SafePath }): Promise<void> {
  const target = plug.isDirectory ? await openDirectory(dir, fileOf(plug)) : await openTarget(dir, fileOf(plug));
  try {
    ctx.log.info({ volume: plug.volume, source: source.resolved }, 'Mounting a plugged volume');
    await bindWritable(ctx, { source: source.pathForChild, target: `/proc/${process.pid}/fd/${target.fd}`, mountNs: place.mountNs });
  } finally {
    await target.close();
  }
}

async function openDirectory(dir: SafePath, name: string): Promise<FileHandle> {
  await mkdir(`${dir.path}/${name}`, { recursive: true });
  return open(`${dir.path}/${name}`, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
