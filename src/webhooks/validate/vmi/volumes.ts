// Volumes of a VMI: unique names, one source each, what single sources need. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid, notFound, type Rule, required } from '../rule.js';
import { bytes } from './amounts.js';
import { cloudInitCauses } from './cloud-init.js';
import { imagePathCauses } from './machine.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const SOURCES = [
  'persistentVolumeClaim',
  'sysprep',
  'cloudInitNoCloud',
  'cloudInitConfigDrive',
  'containerDisk',
  'ephemeral',
  'emptyDisk',
  'hostDisk',
  'dataVolume',
  'configMap',
  'secret',
  'downwardAPI',
  'serviceAccount',
  'downwardMetrics',
  'memoryDump',
  'containerPath',
] as const satisfies readonly (keyof Volume)[];

const AT_MOST_ONE = [
  ['serviceAccount', 'serviceAccount'],
  ['downwardMetrics', 'downwardMetric'],
  ['memoryDump', 'memory dump'],
] as const;

function* hostDisk(volume: Volume, at: FieldPath, config: ClusterConfig): Causes {
  const disk = volume.hostDisk;
  if (!disk) return;
  const path = field(at, 'hostDisk');
  if (!config.isEnabled('HostDisk')) yield invalid(at, gateOff('HostDisk', `${at} of type hostDisk`));
  if (!disk.path) yield notFound(field(path, 'path'), `${field(path, 'path')} is missing: say where on the node the image is`);
  if (disk.type !== 'Disk' && disk.type !== 'DiskOrCreate') {
    const type = field(path, 'type');
    yield invalid(type, `${type} is "${disk.type}": use Disk for an image that exists, DiskOrCreate for one that may be made`);
  }
  if (disk.type === 'Disk' && bytes(disk.capacity) !== 0n) {
    const capacity = field(path, 'capacity');
    yield invalid(
      capacity,
      `${capacity} has no meaning for an image that exists: leave it out, or set ${field(path, 'type')} to DiskOrCreate`,
    );
  }
}

function* neededNames(volume: Volume, at: FieldPath): Causes {
  const needed: readonly (readonly [boolean, string | undefined, FieldPath])[] = [
    [volume.configMap !== undefined, volume.configMap?.name, field(at, 'configMap', 'name')],
    [volume.secret !== undefined, volume.secret?.secretName, field(at, 'secret', 'secretName')],
    [volume.serviceAccount !== undefined, volume.serviceAccount?.serviceAccountName, field(at, 'serviceAccount', 'serviceAccountName')],
  ];
  for (const [given, name, path] of needed) {
    if (given && !name) yield invalid(path, `${path} is missing: name the object that the volume shows`);
  }
}

function* one(volume: Volume, at: FieldPath, config: ClusterConfig): Causes {
  if (volume.dataVolume && !volume.dataVolume.name)
    yield required(field(at, 'name'), "the dataVolume has no name: set it to the DataVolume's");
  const sources = SOURCES.filter((s) => volume[s] !== undefined).length;
  if (sources !== 1) yield invalid(at, `${at} must have exactly one source type set, and has ${sources}: split it, or name its source`);
  yield* cloudInitCauses(volume, at);
  if (volume.downwardMetrics && !config.isEnabled('DownwardMetrics')) {
    yield invalid(at, gateOff('DownwardMetrics', `${at} of type downwardMetrics`));
  }
  yield* hostDisk(volume, at, config);
  yield* neededNames(volume, at);
}

export const volumes: SpecRule = function* (spec, base, config) {
  const list = spec.volumes ?? [];
  const path = field(base, 'volumes');
  const firstOf = new Map<string, number>();
  for (const [i, volume] of list.entries()) {
    const first = firstOf.get(volume.name);
    if (first === undefined) firstOf.set(volume.name, i);
    else yield invalid(field(path, i, 'name'), `${field(path, i)} and ${field(path, first)} are both named "${volume.name}": rename one`);
    yield* one(volume, field(path, i), config);
  }
  for (const [source, label] of AT_MOST_ONE) {
    if (list.filter((v) => v[source] !== undefined).length > 1)
      yield invalid(path, `${path} may hold one ${label} volume at most: remove the others`);
  }
};

export const containerDiskPaths: SpecRule = function* (spec, at) {
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    if (volume.containerDisk?.path) yield* imagePathCauses(volume.containerDisk.path, field(at, 'volumes', i, 'containerDisk'));
  }
};

export const noUtilityVolumes: SpecRule = function* (spec, at) {
  if (spec.utilityVolumes === undefined) return;
  yield invalid(field(at, 'utilityVolumes'), 'utility volumes are attached to running VMIs only: leave them out here');
};
