// Disks and their volumes, and boot orders: positive and unique across disks and interfaces. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { Disk, VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid, type Rule, required } from '../rule.js';

const taken = (path: FieldPath): string => `${path} is taken by another device: give each device a boot order of its own`;

function* missingVolume(disk: Disk, at: FieldPath, config: ClusterConfig): Causes {
  if (!disk.cdrom) yield invalid(field(at, 'name'), `disk "${disk.name}" has no volume: add one of this name to spec.volumes`);
  else if (!config.isEnabled('DeclarativeHotplugVolumes')) {
    yield invalid(field(at, 'name'), gateOff('DeclarativeHotplugVolumes', `the empty CD-ROM "${disk.name}"`));
  }
}

function* volumeFits(disk: Disk, volume: Volume, at: FieldPath): Causes {
  if (disk.lun && !volume.persistentVolumeClaim && !volume.dataVolume) {
    const path = field(at, 'lun');
    yield invalid(path, `${path} passes a device of the storage through: give it a dataVolume or persistentVolumeClaim, or make it a disk`);
  }
  if (!volume.downwardMetrics) return;
  const path = field(at, 'disk');
  const bus = disk.disk?.bus ?? '';
  if (!disk.disk) yield required(path, `${path} is missing: a downwardMetrics volume must be mapped to a disk`);
  else if (bus !== 'virtio' && bus !== '') {
    yield invalid(field(path, 'bus'), `${field(path, 'bus')} is ${bus}: a downwardMetrics volume must be mapped to virtio`);
  }
}

export const disksAndBootOrder: Rule<VirtualMachineInstanceSpec> = function* (spec, at, config) {
  const byName = new Map((spec.volumes ?? []).map((v) => [v.name, v]));
  const orders = new Set<number>();
  for (const [i, disk] of (spec.domain.devices.disks ?? []).entries()) {
    const path = field(at, 'domain', 'devices', 'disks', i);
    const volume = byName.get(disk.name);
    if (volume) yield* volumeFits(disk, volume, path);
    else yield* missingVolume(disk, path, config);
    if (disk.bootOrder === undefined) continue;
    if (orders.has(disk.bootOrder)) yield invalid(field(path, 'bootOrder'), taken(field(path, 'bootOrder')));
    orders.add(disk.bootOrder);
  }
  for (const [i, { bootOrder }] of (spec.domain.devices.interfaces ?? []).entries()) {
    if (bootOrder === undefined) continue;
    const path = field(at, 'domain', 'devices', 'interfaces', i, 'bootOrder');
    if (bootOrder < 1) yield invalid(field(at, i, 'bootOrder'), `${path} is ${bootOrder}: boot orders begin with 1`);
    else if (orders.has(bootOrder)) yield invalid(path, taken(path));
    orders.add(bootOrder);
  }
};
