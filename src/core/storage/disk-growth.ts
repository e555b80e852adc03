// How large the disks on claims may become once their claims have grown. Called by the launcher before a guest starts (its images are made
// longer) and while it runs (the guest is told). Pure; a disk never becomes smaller.
import type { PersistentVolumeClaimInfo, VirtualMachineInstance, Volume } from '../../api/index.js';
import { claimBytes } from './disk-images.js';

export interface Growth {
  readonly volume: string;
  /** As large may the image be; undefined for a block device, which is its own measure. */
  readonly bytes?: bigint;
  /** The image's blocks are taken at once, not when the guest writes them. */
  readonly isPreallocated: boolean;
}

const MIB = 1024n * 1024n;
/** Shares are given as decimals such as 0.055; six digits are more than anybody writes. */
const PARTS = 1_000_000;

/** What a filesystem leaves of the claim's size, in whole MiB. */
function usableBytes(info: PersistentVolumeClaimInfo): bigint | undefined {
  const size = claimBytes(info);
  const overhead = Math.round(Number(info.filesystemOverhead) * PARTS);
  if (size === undefined || !Number.isFinite(overhead) || overhead < 0 || overhead >= PARTS) return undefined;
  return ((size * BigInt(PARTS - overhead)) / BigInt(PARTS) / MIB) * MIB;
}

const isWritable = ({ persistentVolumeClaim, dataVolume }: Volume): boolean =>
  dataVolume !== undefined || (persistentVolumeClaim !== undefined && persistentVolumeClaim.readOnly !== true);

function growthOf(volume: string, info: PersistentVolumeClaimInfo | undefined): Growth[] {
  if (!info) return [];
  const isPreallocated = info.preallocated === true;
  if (info.volumeMode === 'Block') return [{ volume, isPreallocated }];
  const bytes = usableBytes(info);
  return bytes === undefined ? [] : [{ volume, bytes, isPreallocated }];
}

/** One entry for each disk or LUN whose claim's size is known; overlays and drives keep their size. */
export function planGrowth({ spec, status }: VirtualMachineInstance): Growth[] {
  const infos = new Map((status?.volumeStatus ?? []).map((entry) => [entry.name, entry.persistentVolumeClaimInfo]));
  const drives = new Set((spec.domain.devices.disks ?? []).flatMap(({ name, cdrom }) => (cdrom ? [name] : [])));
  return (spec.volumes ?? [])
    .filter((volume) => isWritable(volume) && !drives.has(volume.name))
    .flatMap(({ name }) => growthOf(name, infos.get(name)));
}
