// Disks and their volumes, and boot orders: positive and unique across disks and interfaces. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { Disk, VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { type Causes, invalid, type Rule, required } from '../rule.js';

const taken = (path: FieldPath): string => `Boot order for ${path} already set for a different device.`;

function* missingVolume(disk: Disk, at: FieldPath, config: ClusterConfig): Causes {
  if (!disk.cdrom) yield invalid(field(at, 'name'), `${field(at, 'Name')} '${disk.name}' not found.`);
  else if (!config.isEnabled('DeclarativeHotplugVolumes')) {
    yield invalid(field(at, 'name'), 'DeclarativeHotplugVolumes feature gate not enabled, cannot define an empty CD-ROM disk');
  }
}

function* volumeFits(disk: Disk, volume: Volume, at: FieldPath): Causes {
  if (disk.lun && !volume.persistentVolumeClaim && !volume.dataVolume) {
    const path = field(at, 'lun');
    yield invalid(path, `${path} can only be mapped to a DataVolume or PersistentVolumeClaim volume.`);
  }
  if (!volume.downwardMetrics) return;
  const path = field(at, 'disk');
  const bus = disk.disk?.bus ?? '';
  if (!disk.disk) yield required(path, `DownwardMetrics volume must be mapped to a disk, but disk is not set on ${path}.`);
  else if (bus !== 'virtio' && bus !== '') {
    yield invalid(field(path, 'bus'), `DownwardMetrics volume must be mapped to virtio bus, but ${field(path, 'bus')} is set to ${bus}`);
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
    if (bootOrder < 1) yield invalid(field(at, i, 'bootOrder'), `${field(at, i)} must have a boot order > 0, if supplied`);
    else if (orders.has(bootOrder)) yield invalid(path, taken(path));
    orders.add(bootOrder);
  }
};
