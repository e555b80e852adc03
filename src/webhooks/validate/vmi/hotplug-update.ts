// What KubeVirt's own components may change in a running VMI's spec: volumes and disks that are hot-plugged, utility volumes, CPU and
// memory below their ceilings. Pure; stops at the first fault.
import { isDeepStrictEqual } from 'node:util';
import { field } from '../../../api/field-path.js';
import type { Disk, UtilityVolume, VirtualMachineInstance, VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import { compareQuantities } from '../../../api/quantity.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { type Cause, type Causes, duplicate, invalid, required } from '../rule.js';
import { hotplugDiskFault } from '../vm/volume-requests.js';

const fault = (message: string): Cause => invalid('', message);
const byName = <T extends { name: string }>(list: readonly T[] | undefined): Map<string, T> =>
  new Map((list ?? []).map((x) => [x.name, x]));

/** Volumes that were there at boot: their status says nothing of hot-plugging. */
const permanentNames = (vmi: VirtualMachineInstance): Set<string> =>
  new Set((vmi.status?.volumeStatus ?? []).filter((s) => s.hotplugVolume === undefined).map((s) => s.name));

function ceilingFault(old: VirtualMachineInstanceSpec, next: VirtualMachineInstanceSpec): Cause | undefined {
  if ((old.domain.cpu?.maxSockets ?? 0) !== (next.domain.cpu?.maxSockets ?? 0))
    return fault('maxSockets of a running guest cannot change: keep it, or change the VM and restart it');
  const [before, after] = [old.domain.memory?.maxGuest, next.domain.memory?.maxGuest];
  if (before === undefined || after === undefined || compareQuantities(before, after) === 0) return undefined;
  return fault('maxGuest of a running guest cannot change: keep it, or change the VM and restart it');
}

function* utilityVolumeCauses(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Causes {
  const list = spec.utilityVolumes ?? [];
  const path = 'spec.utilityVolumes';
  if (list.length > 0 && !config.isEnabled('UtilityVolumes')) {
    yield invalid(path, gateOff('UtilityVolumes', path));
    return;
  }
  for (const [i, { name, claimName }] of list.entries()) {
    const at = field(path, i);
    if (!name) yield required(field(at, 'name'), 'the utility volume has no name: give it one');
    const first = list.findIndex((v) => v.name === name);
    if (first < i) yield duplicate(field(at, 'name'), `${at} and ${field(path, first)} are both named "${name}": rename one`);
    const volume = (spec.volumes ?? []).findIndex((v) => v.name === name);
    if (volume >= 0) {
      yield duplicate(field(at, 'name'), `${at} and ${field('spec.volumes', volume)} are both named "${name}": rename the utility volume`);
    }
    if (!claimName) yield required(field(at, 'claimName'), 'the utility volume has no claimName: name the claim to attach');
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
    if (permanent.has(name)) return fault(`volume ${name} was there at boot: a utility volume needs a name of its own`);
    const present = before.get(name);
    if (present && !isDeepStrictEqual(present, volume))
      return fault(`utility volume ${name} is attached: remove it first, then attach the other`);
  }
  return undefined;
}

function countFault(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Cause | undefined {
  const names = new Set((spec.volumes ?? []).filter((v) => v.memoryDump === undefined).map((v) => v.name));
  const mayBeEmpty = config.isEnabled('DeclarativeHotplugVolumes');
  const disks = (spec.domain.devices.disks ?? []).filter((d) => names.has(d.name) || d.cdrom === undefined || !mayBeEmpty);
  const wanted = (spec.domain.devices.filesystems ?? []).length + disks.length;
  return wanted === names.size
    ? undefined
    : fault(`there are ${names.size} volumes, and disks and filesystems for ${wanted}: each volume needs one, and each of them a volume`);
}

interface Sides {
  readonly nextDisks: ReadonlyMap<string, Disk>;
  readonly oldDisks: ReadonlyMap<string, Disk>;
  readonly migrated: ReadonlySet<string>;
}

function permanentFault(next: readonly Volume[], old: readonly Volume[], sides: Sides): Cause | undefined {
  if (next.length !== old.length)
    return fault('a volume that was there at boot was added or removed: only hot-plugged ones can be, others need a restart');
  const before = byName(old);
  for (const volume of next) {
    const { name } = volume;
    const present = before.get(name);
    if (!present) return fault(`volume ${name} was not there at boot: hot-plug it under a name of its own`);
    if (sides.migrated.has(name)) continue;
    if (!isDeepStrictEqual(present, volume))
      return fault(`volume ${name} was there at boot and cannot change: change the VM and restart it, or migrate the volume`);
    if (!isDeepStrictEqual(sides.oldDisks.get(name), sides.nextDisks.get(name)))
      return fault(`disk ${name} was there at boot and cannot change: change the VM and restart it`);
  }
  return undefined;
}

function newVolumeFault(volume: Volume, { nextDisks, oldDisks }: Sides): Cause | undefined {
  const { name } = volume;
  if (!volume.dataVolume && !volume.persistentVolumeClaim && !volume.memoryDump)
    return fault(`volume ${name} cannot be hot-plugged: only persistentVolumeClaim, dataVolume and memoryDump can`);
  if (volume.memoryDump) return undefined;
  const disk = nextDisks.get(name);
  if (!disk) return fault(`volume ${name} is new and has no disk: add one of its name`);
  return oldDisks.has(name) ? undefined : hotplugDiskFault(disk, name, 'Hotplug configuration', '');
}

function keptVolumeFault(volume: Volume, present: Volume, { nextDisks, oldDisks, migrated }: Sides): Cause | undefined {
  const { name } = volume;
  if (!isDeepStrictEqual(volume, present) && !migrated.has(name))
    return fault(`hot-plugged volume ${name} cannot change: unplug it first, then plug the other`);
  if (volume.memoryDump) return undefined;
  const disk = nextDisks.get(name);
  if (!disk) return fault(`hot-plugged volume ${name} has no disk any more: remove the volume too`);
  return isDeepStrictEqual(disk, oldDisks.get(name))
    ? undefined
    : fault(`disk ${name} of a hot-plugged volume cannot change: unplug it first, then plug it as wanted`);
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
