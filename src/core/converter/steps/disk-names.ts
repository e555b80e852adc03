// Target names of disks (vda, sdb …). A disk keeps the name that the VMI's status recorded for it; others get the first free one of their bus.
import type { Disk, VolumeStatus } from '../../../api/index.js';
import { busOf } from '../io-threads.js';

const LETTERS = 26;
const PREFIXES: Readonly<Record<string, string>> = { virtio: 'vd', sata: 'sd', scsi: 'sd', usb: 'sd' };

export interface DiskName {
  readonly dev: string;
  /** Position among the names of the bus: the unit on a SCSI controller. */
  readonly unit: number;
}

/** One entry a disk. SATA, SCSI and USB disks share one row of names. */
export function nameDisks(disks: readonly Disk[], statuses: readonly VolumeStatus[]): DiskName[] {
  const recorded = new Map(statuses.filter(({ target }) => target).map(({ name, target }) => [name, target]));
  const taken = new Map<string, Set<string>>();
  const takenOf = (prefix: string): Set<string> => {
    const known = taken.get(prefix) ?? new Set();
    taken.set(prefix, known);
    return known;
  };
  for (const disk of disks) {
    const name = recorded.get(disk.name);
    if (name !== undefined) takenOf(prefixOf(disk)).add(name);
  }
  return disks.map((disk): DiskName => {
    const prefix = prefixOf(disk);
    const dev = recorded.get(disk.name) ?? firstFree(prefix, takenOf(prefix));
    takenOf(prefix).add(dev);
    return { dev, unit: unitOf(prefix, dev) };
  });
}

const prefixOf = (disk: Disk): string => PREFIXES[busOf(disk)] ?? '';

function firstFree(prefix: string, taken: ReadonlySet<string>): string {
  let index = 0;
  while (taken.has(targetName(prefix, index))) index++;
  return targetName(prefix, index);
}

/** 0 → a, 25 → z, 26 → aa. */
export function targetName(prefix: string, index: number): string {
  const last = String.fromCharCode(97 + (index % LETTERS));
  const rest = Math.floor(index / LETTERS) - 1;
  return rest < 0 ? prefix + last : targetName(prefix, rest) + last;
}

/** 0 for a recorded name that is none of this bus. */
function unitOf(prefix: string, dev: string): number {
  const letters = dev.startsWith(prefix) ? dev.slice(prefix.length) : '';
  if (!/^[a-z]{1,3}$/.test(letters)) return 0;
  return [...letters].reduce((unit, letter) => unit * LETTERS + letter.charCodeAt(0) - 96, 0) - 1;
}
