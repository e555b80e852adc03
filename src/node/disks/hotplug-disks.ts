// Volumes that come to a running launcher: the attachment pod has them mounted, and each is bound from there into the launcher's volume for
// hotplugged disks; a device is made there anew (hotplug-devices.ts). As with container disks, the host's mount table and that folder say
// what has come, never a record.
import { constants } from 'node:fs';
import { chown, type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import type { DeviceNumber } from '../../linux/block-device.js';
import { pidsOfPod } from '../../linux/cgroup.js';
import { bindWritable, mountPointsBelow, readMounts, unmountLazily } from '../../linux/mount.js';
import { existsBeneath, type SafePath } from '../../linux/safe-path.js';
import { text } from '../text.js';
import { type ContainerDiskOptions, openIfThere, openOnHost, openTarget } from './container-disks.js';
import { attachedDevice, type DeviceHost, plugDevice, pluggedDevices, unplugDevice } from './hotplug-devices.js';

export interface HotplugDiskOptions extends Omit<ContainerDiskOptions, 'stageDir'> {
  /** For tests, whose attachment pods have the root of this machine: where their volumes lie. */
  readonly volumesAt?: string;
}

export interface HotplugDisks {
  /**
   * Binds what has come and is wanted, unbinds what is neither wanted nor in use any more. Volumes whose attachment pod is not up yet are
   * left out.
   */
  sync(ctx: Ctx, vmi: VirtualMachineInstance, launcher: PluggedInto, inUse: ReadonlySet<string>): Promise<PluggedVolumes>;
}

export interface PluggedVolumes {
  /** Bound, or there as a device. */
  readonly there: ReadonlySet<string>;
  /** Why others are not; one broken volume keeps none of the others away. */
  readonly failures: ReadonlyMap<string, string>;
}

const NOTHING: PluggedVolumes = { there: new Set(), failures: new Map() };

export interface PluggedInto {
  readonly podUid: string;
  /** A process of its container. */
  readonly pid: number;
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
  return {
    async sync(ctx, vmi, { podUid, pid }, inUse) {
      const at = join(options.hostPodsDir, volumesDir(podUid));
      const dir = await openIfThere(`/proc/${hostPid}/root`, at);
      // Launchers that take no volumes have no folder for them.
      if (dir === undefined) return NOTHING;
      try {
        return await syncIn({ ...options, ctx, hostPid, launcherPid: pid, at, dir }, plugsOf(vmi), inUse);
      } finally {
        await dir.close();
      }
    },
  };
}

async function syncIn(place: Place, plugs: readonly Plug[], inUse: ReadonlySet<string>): Promise<PluggedVolumes> {
  const stays = new Set([...plugs.map(({ volume }) => volume), ...inUse]);
  const failures = new Map<string, string>();
  /** What fails concerns this volume only: its status tells, and it is tried again. */
  const attempt = async (volume: string, work: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await work();
    } catch (err) {
      place.ctx.log.info({ volume, err: messageOf(err) }, 'A volume was not plugged');
      failures.set(volume, messageOf(err));
      return false;
    }
  };
  const there = new Set(await sweepMounts(place, stays));
  for (const [volume, device] of await pluggedDevices(place.dir)) {
    if (await attempt(volume, () => sweepDevice(place, { volume, device, stays: stays.has(volume) }))) there.add(volume);
  }
  for (const plug of plugs) {
    const { volume } = plug;
    if (!there.has(volume) && !failures.has(volume) && (await attempt(volume, () => plugIn(place, plug)))) there.add(volume);
  }
  return { there, failures };
}

/** Unmounts what need not stay; gives the others. */
async function sweepMounts({ ctx, hostPid, at }: Place, stays: ReadonlySet<string>): Promise<string[]> {
  const there: string[] = [];
  for (const point of mountPointsBelow(await readMounts(hostPid), at)) {
    const volume = volumeOf(point);
    if (stays.has(volume)) there.push(volume);
    else {
      ctx.log.info({ volume, mountPoint: point }, 'Unmounting a volume that was unplugged');
      await unmountLazily(ctx, point, `/proc/${hostPid}/ns/mnt`);
    }
  }
  return there;
}

/** The same for one device; true when it stays. */
async function sweepDevice(
  place: Place,
  { volume, device, stays }: { readonly volume: string; readonly device: DeviceNumber; readonly stays: boolean },
): Promise<boolean> {
  if (stays) await plugDevice(place, place.dir, volume, device);
  else await unplugDevice(place, place.dir, volume, device);
  return stays;
}

interface Place extends DeviceHost {
  /** The launcher's volume as the host sees it. */
  readonly at: string;
  readonly dir: SafePath;
  readonly pidsOfPod?: (podUid: string) => Promise<number[]>;
  readonly volumesAt?: string;
}

const deviceFolder = ({ volumesAt = '/' }: Pick<Place, 'volumesAt'>, { volume }: Plug): string => join(volumesAt, 'path', volume);

/** False while the attachment pod has no process yet. */
async function plugIn(place: Place, plug: Plug): Promise<boolean> {
  const pid = await holderOf(place, plug);
  if (pid === undefined) return false;
  const root = `/proc/${pid}/root`;
  if (await existsBeneath(root, deviceFolder(place, plug))) {
    const device = await attachedDevice(root, deviceFolder(place, plug), plug.volume);
    await plugDevice(place, place.dir, plug.volume, device);
    return true;
  }
  const source = await sourceOf(place, pid, plug);
  try {
    await bindTo(place, plug, source);
  } finally {
    await source.close();
  }
  return true;
}

/** The process of the pod that sees the volume: its sandbox has one, too, and sees nothing. */
async function holderOf(place: Place, plug: Plug): Promise<number | undefined> {
  const pids = await (place.pidsOfPod ?? pidsOfPod)(plug.attachmentPod);
  for (const pid of pids) {
    const root = `/proc/${pid}/root`;
    const isThere = await existsBeneath(root, join(place.volumesAt ?? '/', plug.volume));
    if (isThere || (await existsBeneath(root, deviceFolder(place, plug)))) return pid;
  }
  return undefined;
}

/** The volume in the attachment pod, opened where the host sees it. */
async function sourceOf({ ctx, hostPid, volumesAt = '/' }: Place, pid: number, { volume, isDirectory }: Plug): Promise<SafePath> {
  const inside = join(volumesAt, volume, isDirectory ? '' : DISK);
  const found = await openIfThere(`/proc/${pid}/root`, inside);
  if (found === undefined) throw new KvError('NotReady', text.noPlugFile(volume, inside), { reason: 'HotplugFailed' });
  try {
    // A disk may be a link to a file in the same claim; a pipe would hold up whoever opens it.
    if (!isDirectory && !(await stat(found.path)).isFile()) {
      throw new KvError('Invalid', text.plugIsNoFile(volume, inside), { reason: 'HotplugFailed', retry: 'backoff' });
    }
    await own(ctx, found.path, volume);
    return await openOnHost(hostPid, pid, found);
  } finally {
    await found.close();
  }
}

/** The guest's process shall write to it. A volume that nobody may change (a file server that trusts no root) is left as it is: QEMU opens what it can. */
async function own(ctx: Ctx, path: string, volume: string): Promise<void> {
  try {
    await chown(path, QEMU_USER, QEMU_USER);
  } catch (err) {
    ctx.log.info({ volume, err: messageOf(err) }, 'A plugged volume keeps its owner');
  }
}

async function bindTo({ ctx, hostPid, dir }: Place, plug: Plug, source: SafePath): Promise<void> {
  const target = plug.isDirectory ? await openDirectory(dir, fileOf(plug)) : await openTarget(dir, fileOf(plug));
  try {
    ctx.log.info({ volume: plug.volume, source: source.resolved }, 'Mounting a plugged volume');
    const mountNs = `/proc/${hostPid}/ns/mnt`;
    await bindWritable(ctx, { source: source.pathForChild, target: `/proc/${process.pid}/fd/${target.fd}`, mountNs });
  } finally {
    await target.close();
  }
}

async function openDirectory(dir: SafePath, name: string): Promise<FileHandle> {
  await mkdir(`${dir.path}/${name}`, { recursive: true });
  return open(`${dir.path}/${name}`, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
