// Disk images that lie in a directory of the pod: a filesystem claim's disk.img, a file of the host. Which ones a VMI needs, whether a
// missing one is made, and how large it may be. Pure; the node agent, which may write there, does it before the guest starts.
import type { PersistentVolumeClaimInfo, VirtualMachineInstance, Volume } from '../../api/index.js';
import { quantityValue } from '../../api/quantity.js';
import { KvError } from '../../base/errors.js';
import { isHotpluggable } from './hotpluggable.js';
import { volumeDir } from './paths.js';

export interface DiskImagePlan {
  readonly volume: string;
  /** In the pod. */
  readonly dir: string;
  readonly file: string;
  /** Of a missing image, which is then made; undefined: it must be there. */
  readonly bytes?: bigint;
  /** Of the claim that holds it: as much at most finds room there. */
  readonly roomBytes?: bigint;
  /** What holds it, for messages. */
  readonly where: string;
}

const CLAIM_FILE = 'disk.img';

/** The smaller of what the claim asked for and what it got: another volume of its class may be just as large as asked. */
export function claimBytes({ capacity, requests }: PersistentVolumeClaimInfo): bigint | undefined {
  const sizes = [capacity?.storage, requests?.storage].flatMap((size) => (size === undefined ? [] : [quantityValue(size)]));
  return sizes.sort((a, b) => (a < b ? -1 : 1))[0];
}

interface Claimed {
  readonly name: string;
  /** A claim of the guest's own starts as an empty disk; an image that somebody else is to fill must be there. */
  readonly isMade: boolean;
}

function claimOf({ persistentVolumeClaim, dataVolume, ephemeral }: Volume): Claimed | undefined {
  if (persistentVolumeClaim) return { name: persistentVolumeClaim.claimName, isMade: persistentVolumeClaim.readOnly !== true };
  if (dataVolume) return { name: dataVolume.name, isMade: false };
  const backing = ephemeral?.persistentVolumeClaim?.claimName;
  return backing === undefined ? undefined : { name: backing, isMade: false };
}

/** What a guest writes to the image of an ephemeral volume, or of a read-only one, goes elsewhere or nowhere. */
function roomOf({ persistentVolumeClaim, ephemeral }: Volume, info: PersistentVolumeClaimInfo | undefined): bigint | undefined {
  const storage = info?.capacity?.storage ?? info?.requests?.storage;
  return storage === undefined || ephemeral || persistentVolumeClaim?.readOnly === true ? undefined : quantityValue(storage);
}

function ofClaim(volume: Volume, info: PersistentVolumeClaimInfo | undefined): DiskImagePlan[] {
  const claimed = claimOf(volume);
  if (!claimed || info?.volumeMode === 'Block') return [];
  const bytes = claimed.isMade && info ? claimBytes(info) : undefined;
  const roomBytes = roomOf(volume, info);
  return [
    {
      volume: volume.name,
      dir: volumeDir(volume.name),
      file: CLAIM_FILE,
      ...(bytes === undefined ? {} : { bytes }),
      ...(roomBytes === undefined ? {} : { roomBytes }),
      where: `PersistentVolumeClaim ${claimed.name}`,
    },
  ];
}

function ofHost({ name, hostDisk }: Volume): DiskImagePlan[] {
  if (!hostDisk) return [];
  const { path, type, capacity } = hostDisk;
  if (type === 'DiskOrCreate' && capacity === undefined) {
    throw new KvError('Invalid', `volume ${name} has no capacity: a hostDisk of type DiskOrCreate needs one for the disk it makes`);
  }
  return [
    {
      volume: name,
      dir: volumeDir(name),
      file: path.split('/').at(-1) ?? '',
      ...(type === 'DiskOrCreate' && capacity !== undefined ? { bytes: quantityValue(capacity) } : {}),
      where: `host path ${path}`,
    },
  ];
}

const isPlugged = (volume: Volume): boolean => isHotpluggable(volume) || volume.memoryDump !== undefined;

/** Images of volumes that are there from the start; a volume shared as a directory has none. */
export function planDiskImages({ spec, status }: VirtualMachineInstance): DiskImagePlan[] {
  const disks = new Set((spec.domain.devices.disks ?? []).map(({ name }) => name));
  const infos = new Map((status?.volumeStatus ?? []).map((entry) => [entry.name, entry.persistentVolumeClaimInfo]));
  return (spec.volumes ?? [])
    .filter((volume) => disks.has(volume.name) && !isPlugged(volume))
    .flatMap((volume) => [...ofHost(volume), ...ofClaim(volume, infos.get(volume.name))]);
}

/** Volumes that are block devices of the pod from the start. */
export function blockVolumesOf({ spec, status }: VirtualMachineInstance): string[] {
  const infos = new Map((status?.volumeStatus ?? []).map((entry) => [entry.name, entry.persistentVolumeClaimInfo]));
  return (spec.volumes ?? [])
    .filter((volume) => claimOf(volume) !== undefined && !isPlugged(volume) && infos.get(volume.name)?.volumeMode === 'Block')
    .map(({ name }) => name);
}

export interface Space {
  /** What the filesystem still takes. */
  readonly availableBytes: bigint;
  /** minimumReservePVCBytes: stays free. */
  readonly reserveBytes: bigint;
  /** pvcTolerateLessSpaceUpToPercent: as much smaller may the disk be. */
  readonly tolerancePercent: bigint;
}

export interface FittedSize {
  readonly bytes: bigint;
  /** Set when the disk is smaller than asked for. */
  readonly warning?: string;
}

const SECTOR = 512n;

/** The size of a new image: as asked, or what there is if that is nearly enough. */
export function fitDiskImage(wanted: bigint, space: Space, { volume, where }: Pick<DiskImagePlan, 'volume' | 'where'>): FittedSize {
  const usable = space.availableBytes - space.reserveBytes;
  if (wanted <= usable) return { bytes: wanted };
  const tolerated = (wanted * (100n - space.tolerancePercent)) / 100n;
  if (usable < tolerated) {
    const numbers = `demanded size ${wanted} B is bigger than available space ${usable} B`;
    throw new KvError(
      'Invalid',
      `unable to create the disk of volume ${volume} on ${where}, not enough space, ${numbers}, also after taking ${space.tolerancePercent} % toleration into account`,
      { reason: 'NotEnoughSpace', retry: 'backoff' },
    );
  }
  const warning = `PV size too small: expected ${wanted} B, found ${usable} B. Using it anyway, it is within ${space.tolerancePercent} % toleration`;
  return { bytes: (usable / SECTOR) * SECTOR, warning: `${warning} (volume ${volume} on ${where})` };
}
