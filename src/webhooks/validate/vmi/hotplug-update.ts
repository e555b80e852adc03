// What KubeVirt's own components may change in a running VMI's spec: volumes and disks that are hot-plugged, utility volumes, CPU and
// memory below their ceilings. Pure; stops at the first fault.
import { isDeepStrictEqual } from 'node:util';
import { field } from '../../../api/field-path.js';
import type { Disk, UtilityVolume, VirtualMachineInstance, VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import { compareQuantities } from '../../../api/quantity.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { type Cause, type Causes, duplicate, invalid, required } from '../rule.js';
import { hotplugDiskFault } from '../vm/volume-requests.js';

const fault = (message: string): Cause => invalid('', message);
const byName = <T extends { name: string }>(list: readonly T[] | undefined): Map<string, T> =>
  new Map((list ?? []).map((x) => [x.name, x]));

/** Volumes that were there at boot: their status says nothing of hot-plugging. */
const permanentNames = (vmi: VirtualMachineInstance): Set<string> =>
  new Set((vmi.status?.volumeStatus ?? []).filter((s) => s.hotplugVolume === undefined).map((s) => s.name));

function ceilingFault(old: VirtualMachineInstanceSpec, next: VirtualMachineInstanceSpec): Cause | undefined {
  if ((old.domain.cpu?.maxSockets ?? 0) !== (next.domain.cpu?.maxSockets ?? 0)) return fault('CPU topology maxSockets changed');
  const [before, after] = [old.domain.memory?.maxGuest, next.domain.memory?.maxGuest];
  if (before === undefined || after === undefined || compareQuantities(before, after) === 0) return undefined;
  return fault('Memory maxGuest changed');
}

function* utilityVolumeCauses(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Causes {
  const list = spec.utilityVolumes ?? [];
  const path = 'spec.utilityVolumes';
  if (list.length > 0 && !config.isEnabled('UtilityVolumes')) {
    yield invalid(path, 'UtilityVolumes feature gate is not enabled');
    return;
  }
  for (const [i, { name, claimName }] of list.entries()) {
    const at = field(path, i);
    if (!name) yield required(field(at, 'name'), "UtilityVolume 'name' must be set");
    const first = list.findIndex((v) => v.name === name);
    if (first < i) yield duplicate(field(at, 'name'), `${at} and ${field(path, first)} must not have the same Name.`);
    const volume = (spec.volumes ?? []).findIndex((v) => v.name === name);
    if (volume >= 0) {
      const message = `${at} conflicts with ${field('spec.volumes', volume)}. UtilityVolume names must be unique across both volumes and utilityVolumes.`;
      yield duplicate(field(at, 'name'), message);
    }
    if (!claimName) yield required(field(at, 'claimName'), "UtilityVolume PVC 'claimName' must be set");
  }
}

function utilityVolumeFault(
  next: readonly UtilityVolume[],
  old: readonly UtilityVolume[],
  permanent: ReadonlySet<string>,
): Cause | undefined {
  const before = byName(old);
  for (const volume of next) {
    const { name } = volume;
    if (permanent.has(name)) return fault(`utility volume ${name} cannot be a permanent volume, utility volumes must always be hotplug`);
    const present = before.get(name);
    if (present && !isDeepStrictEqual(present, volume)) return fault(`utility volume ${name} has changed`);
  }
  return undefined;
}

function countFault(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Cause | undefined {
  const names = new Set((spec.volumes ?? []).filter((v) => v.memoryDump === undefined).map((v) => v.name));
  const mayBeEmpty = config.isEnabled('DeclarativeHotplugVolumes');
  const disks = (spec.domain.devices.disks ?? []).filter((d) => names.has(d.name) || d.cdrom === undefined || !mayBeEmpty);
  const wanted = (spec.domain.devices.filesystems ?? []).length + disks.length;
  return wanted === names.size ? undefined : fault(`mismatch between volumes declared (${names.size}) and required (${wanted})`);
}

interface Sides {
  readonly nextDisks: ReadonlyMap<string, Disk>;
  readonly oldDisks: ReadonlyMap<string, Disk>;
  readonly migrated: ReadonlySet<string>;
}

function permanentFault(next: readonly Volume[], old: readonly Volume[], sides: Sides): Cause | undefined {
  if (next.length !== old.length) return fault('Number of permanent volumes has changed');
  const before = byName(old);
  for (const volume of next) {
    const { name } = volume;
    const present = before.get(name);
    if (!present) return fault(`permanent volume ${name}, not found`);
    if (sides.migrated.has(name)) continue;
    if (!isDeepStrictEqual(present, volume)) return fault(`permanent volume ${name}, changed`);
    if (!isDeepStrictEqual(sides.oldDisks.get(name), sides.nextDisks.get(name))) return fault(`permanent disk ${name}, changed`);
  }
  return undefined;
}

function newVolumeFault(volume: Volume, { nextDisks, oldDisks }: Sides): Cause | undefined {
  const { name } = volume;
  if (!volume.dataVolume && !volume.persistentVolumeClaim && !volume.memoryDump) return fault(`volume ${name} is not a PVC or DataVolume`);
  if (volume.memoryDump) return undefined;
  const disk = nextDisks.get(name);
  if (!disk) return fault(`disk ${name} does not exist`);
  return oldDisks.has(name) ? undefined : hotplugDiskFault(disk, name, 'Hotplug configuration', '');
}

function keptVolumeFault(volume: Volume, present: Volume, { nextDisks, oldDisks, migrated }: Sides): Cause | undefined {
  const { name } = volume;
  if (!isDeepStrictEqual(volume, present) && !migrated.has(name)) return fault(`hotplug volume ${name}, changed`);
  if (volume.memoryDump) return undefined;
  const disk = nextDisks.get(name);
  if (!disk) return fault(`volume ${name} doesn't have a matching disk`);
  return isDeepStrictEqual(disk, oldDisks.get(name)) ? undefined : fault(`hotplug disk ${name}, changed`);
}

function hotplugFault(next: readonly Volume[], old: readonly Volume[], sides: Sides): Cause | undefined {
  const before = byName(old);
  for (const volume of next) {
    const present = before.get(volume.name);
    const found = present ? keptVolumeFault(volume, present, sides) : newVolumeFault(volume, sides);
    if (found) return found;
  }
  return undefined;
}

function storageFault(next: VirtualMachineInstance, old: VirtualMachineInstance, config: ClusterConfig): Cause | undefined {
  const permanent = permanentNames(old);
  const pick = (list: readonly Volume[] | undefined, kept: boolean): Volume[] => (list ?? []).filter((v) => permanent.has(v.name) === kept);
  const sides: Sides = {
    nextDisks: byName(next.spec.domain.devices.disks),
    oldDisks: byName(old.spec.domain.devices.disks),
    migrated: new Set((next.status?.migratedVolumes ?? []).map((v) => v.volumeName)),
  };
  return (
    countFault(next.spec, config) ??
    permanentFault(pick(next.spec.volumes, true), pick(old.spec.volumes, true), sides) ??
    hotplugFault(pick(next.spec.volumes, false), pick(old.spec.volumes, false), sides)
  );
}

export function* hotplugCauses(next: VirtualMachineInstance, old: VirtualMachineInstance, config: ClusterConfig): Causes {
  const ceiling = ceilingFault(old.spec, next.spec);
  if (ceiling) {
    yield ceiling;
    return;
  }
  const utility = [...utilityVolumeCauses(next.spec, config)];
  if (utility.length > 0) {
    yield* utility;
    return;
  }
  const changed = utilityVolumeFault(next.spec.utilityVolumes ?? [], old.spec.utilityVolumes ?? [], permanentNames(old));
  const found = changed ?? storageFault(next, old, config);
  if (found) yield found;
}
