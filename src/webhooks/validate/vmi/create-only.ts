// What holds for a VMI that is about to exist, but not for a template that may still be completed: volumes attached, memory asked for,
// Hyper-V features consistent, devices that the architecture has. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import { brokenRequirements } from '../../../core/defaults/hyperv.js';
import { type Causes, invalid, notSupported, type Rule, required } from '../rule.js';
import { memoryOf } from './amounts.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const RESERVED_PATHS = ['/var/run/kubevirt', '/var/run/libvirt'];

function* containerPathCauses(volume: Volume, isDisk: boolean, isFilesystem: boolean, at: FieldPath): Causes {
  const source = volume.containerPath;
  if (!source) return;
  const who = `ContainerPath volume '${volume.name}'`;
  if (isDisk) yield invalid(at, `${who} must be mapped to a filesystem, not a disk`);
  if (!isFilesystem) yield invalid(at, `${who} must have a matching filesystem defined in spec.domain.devices.filesystems`);
  const reserved = RESERVED_PATHS.find((p) => source.path.startsWith(p));
  if (reserved) yield invalid(field(at, 'containerPath', 'path'), `${who} uses reserved path prefix '${reserved}'`);
}

/** The paths say `domain.volumes`, as they always have. */
export const attachedVolumes: SpecRule = function* (spec, at) {
  const disks = new Set((spec.domain.devices.disks ?? []).map((d) => d.name));
  const filesystems = new Set((spec.domain.devices.filesystems ?? []).map((f) => f.name));
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    if (volume.memoryDump) continue;
    const path = field(at, 'domain', 'volumes', i);
    const [isDisk, isFilesystem] = [disks.has(volume.name), filesystems.has(volume.name)];
    if (!isDisk && !isFilesystem) yield invalid(field(path, 'name'), `${field(path, 'name')} '${volume.name}' not found.`);
    yield* containerPathCauses(volume, isDisk, isFilesystem, path);
  }
};

export const memoryAsked: SpecRule = function* (spec, at) {
  const { memory } = spec.domain;
  if (memoryOf(spec, 'requests') !== 0n || memory?.guest !== undefined || memory?.hugepages !== undefined) return;
  const [guest, pages] = [field(at, 'domain', 'memory', 'guest'), field(at, 'domain', 'memory', 'hugepages', 'pageSize')];
  const request = field(at, 'domain', 'resources', 'requests', 'memory');
  yield required('', `no memory requested, at least one of '${guest}', '${pages}' or '${request}' must be set`);
};

/** The paths repeat `domain.features.hyperv`, as they always have. */
export const hyperv: SpecRule = function* (spec, at) {
  const features = spec.domain.features;
  if (!features?.hyperv) return;
  const own = field(at, 'domain', 'features', 'hyperv');
  const base = field(own, 'domain', 'features', 'hyperv');
  for (const { feature, requires } of brokenRequirements(features.hyperv)) {
    yield invalid(field(base, feature), `'${field(base, feature)}' requires '${field(base, requires)}', which was disabled.`);
  }
  yield* evmcsCauses(spec);
  if (features.hypervPassthrough) {
    yield invalid(
      own,
      'Cannot explicitly set hyperV features if HypervPassthrough is being used. Please use either HyperV or HypervPassthrough.',
    );
  }
};

function* evmcsCauses(spec: VirtualMachineInstanceSpec): Causes {
  const evmcs = spec.domain.features?.hyperv?.evmcs;
  if (!evmcs || evmcs.enabled === false) return;
  const list = spec.domain.cpu?.features ?? [];
  if (list.length === 0) yield required('spec.domain.cpu.features', 'vmx cpu feature is required when evmcs is set');
  for (const [i, { name, policy }] of list.entries()) {
    if (name === 'vmx' && policy !== 'require') {
      yield invalid(`spec.domain.cpu.features[${i}].policy`, 'vmx cpu feature has to be set to require policy');
    }
  }
}

const VIDEO_TYPES: Readonly<Record<string, readonly string[]>> = {
  amd64: ['vga', 'cirrus', 'virtio', 'ramfb', 'bochs'],
  arm64: ['virtio', 'ramfb'],
  s390x: ['virtio'],
};

function* arm64Causes(spec: VirtualMachineInstanceSpec, at: FieldPath): Causes {
  const { firmware, cpu, devices } = spec.domain;
  if (firmware?.bootloader?.bios) {
    yield notSupported(
      field(at, 'domain', 'firmware', 'bootloader', 'bios'),
      'Arm64 does not support bios boot, please change to uefi boot',
    );
  }
  if (cpu?.model && cpu.model !== 'host-passthrough') {
    yield notSupported(field(at, 'domain', 'cpu', 'model'), 'currently, host-passthrough is the only model supported on Arm64');
  }
  for (const [i, disk] of (devices.disks ?? []).entries()) {
    for (const target of ['disk', 'cdrom', 'lun'] as const) {
      if (['', 'virtio', 'scsi'].includes(disk[target]?.bus ?? '')) continue;
      const path = field(at, 'domain', 'devices', 'disks', i, target, 'bus');
      yield notSupported(path, 'Arm64 not support this disk bus type, please use virtio or scsi');
    }
  }
  if (devices.watchdog) yield notSupported(field(at, 'domain', 'devices', 'watchdog'), 'Arm64 not support Watchdog device');
  if (devices.sound) yield notSupported(field(at, 'domain', 'devices', 'sound'), 'Arm64 not support sound device');
}

function* watchdogCauses(spec: VirtualMachineInstanceSpec, at: FieldPath): Causes {
  const { watchdog } = spec.domain.devices;
  if (!watchdog) return;
  const [own, other, message] =
    spec.architecture === 's390x'
      ? ([watchdog.diag288, watchdog.i6300esb, 's390x only supports Diag288 watchdog device'] as const)
      : ([watchdog.i6300esb, watchdog.diag288, 'amd64 only supports I6300ESB watchdog device'] as const);
  if (!own || other) yield notSupported(field(at, 'domain', 'devices', 'watchdog'), message);
}

export const architecture: SpecRule = function* (spec, at) {
  const arch = spec.architecture ?? '';
  const types = VIDEO_TYPES[arch];
  if (!types) {
    yield invalid(field(at, 'architecture'), `unsupported architecture: ${arch}`);
    return;
  }
  if (arch === 'arm64') yield* arm64Causes(spec, at);
  else yield* watchdogCauses(spec, at);
  const { video } = spec.domain.devices;
  if (video && !types.includes(video.type ?? '')) {
    yield notSupported(
      field(at, 'domain', 'devices', 'video', 'type'),
      `video model '${video.type ?? ''}' is not supported on ${arch} architecture`,
    );
  }
};
