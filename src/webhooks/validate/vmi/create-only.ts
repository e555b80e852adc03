// What holds for a VMI that is about to exist, but not for a template that may still be completed: volumes attached, memory asked for,
// Hyper-V features consistent, devices that the architecture has. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { allowsPower } from '../../../core/config/cluster-lookups.js';
import { brokenRequirements } from '../../../core/defaults/hyperv.js';
import { type Causes, invalid, notSupported, type Rule, required } from '../rule.js';
import { memoryOf } from './amounts.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const RESERVED_PATHS = ['/var/run/kubevirt', '/var/run/libvirt'];

function* containerPathCauses(volume: Volume, isDisk: boolean, isFilesystem: boolean, at: FieldPath): Causes {
  const source = volume.containerPath;
  if (!source) return;
  const who = `containerPath volume "${volume.name}"`;
  if (isDisk) yield invalid(at, `${who} is a directory: show it by a filesystem, not by a disk`);
  if (!isFilesystem) yield invalid(at, `${who} is not shown to the guest: add a filesystem of its name to domain.devices.filesystems`);
  const reserved = RESERVED_PATHS.find((p) => source.path.startsWith(p));
  if (reserved)
    yield invalid(field(at, 'containerPath', 'path'), `${who} is under ${reserved}, which KubeVirt itself uses: choose another path`);
}

/** The paths say `domain.volumes`, as they always have. */
export const attachedVolumes: SpecRule = function* (spec, at) {
  const disks = new Set((spec.domain.devices.disks ?? []).map((d) => d.name));
  const filesystems = new Set((spec.domain.devices.filesystems ?? []).map((f) => f.name));
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    if (volume.memoryDump) continue;
    const path = field(at, 'domain', 'volumes', i);
    const [isDisk, isFilesystem] = [disks.has(volume.name), filesystems.has(volume.name)];
    if (!isDisk && !isFilesystem)
      yield invalid(
        field(path, 'name'),
        `volume "${volume.name}" is attached to nothing: add a disk or filesystem of this name, or remove the volume`,
      );
    yield* containerPathCauses(volume, isDisk, isFilesystem, path);
  }
};

export const memoryAsked: SpecRule = function* (spec, at) {
  const { memory } = spec.domain;
  if (memoryOf(spec, 'requests') !== 0n || memory?.guest !== undefined || memory?.hugepages !== undefined) return;
  const [guest, pages] = [field(at, 'domain', 'memory', 'guest'), field(at, 'domain', 'memory', 'hugepages', 'pageSize')];
  const request = field(at, 'domain', 'resources', 'requests', 'memory');
  yield required('', `no memory requested: set at least one of ${guest}, ${pages} and ${request}`);
};

/** The paths repeat `domain.features.hyperv`, as they always have. */
export const hyperv: SpecRule = function* (spec, at) {
  const features = spec.domain.features;
  if (!features?.hyperv) return;
  const own = field(at, 'domain', 'features', 'hyperv');
  const base = field(own, 'domain', 'features', 'hyperv');
  for (const { feature, requires } of brokenRequirements(features.hyperv)) {
    yield invalid(field(base, feature), `hyperv ${feature} requires ${requires}, which is off: switch ${requires} on, or ${feature} off`);
  }
  yield* evmcsCauses(spec);
  if (features.hypervPassthrough) {
    yield invalid(own, 'hyperv and hypervPassthrough exclude each other: name the features, or pass through what the node has');
  }
};

function* evmcsCauses(spec: VirtualMachineInstanceSpec): Causes {
  const evmcs = spec.domain.features?.hyperv?.evmcs;
  if (!evmcs || evmcs.enabled === false) return;
  const list = spec.domain.cpu?.features ?? [];
  if (list.length === 0)
    yield required('spec.domain.cpu.features', 'hyperv evmcs needs the CPU feature vmx: add it with the policy require');
  for (const [i, { name, policy }] of list.entries()) {
    if (name === 'vmx' && policy !== 'require') {
      yield invalid(`spec.domain.cpu.features[${i}].policy`, 'hyperv evmcs needs the CPU feature vmx: set its policy to require');
    }
  }
}

const VIDEO_TYPES: Readonly<Record<string, readonly string[]>> = {
  amd64: ['vga', 'cirrus', 'virtio', 'ramfb', 'bochs'],
  arm64: ['virtio', 'ramfb'],
  s390x: ['virtio'],
};
const POWER_VIDEO_TYPES = ['vga', 'virtio'];

const videoTypes = (arch: string, config: ClusterConfig): readonly string[] | undefined =>
  arch === 'ppc64le' && allowsPower(config) ? POWER_VIDEO_TYPES : VIDEO_TYPES[arch];

function* powerCauses(spec: VirtualMachineInstanceSpec, at: FieldPath): Causes {
  if (spec.domain.firmware?.bootloader?.efi) {
    yield notSupported(field(at, 'domain', 'firmware', 'bootloader', 'efi'), 'ppc64le guests boot with Open Firmware only: take efi out');
  }
}

function* arm64Causes(spec: VirtualMachineInstanceSpec, at: FieldPath): Causes {
  const { firmware, cpu, devices } = spec.domain;
  if (firmware?.bootloader?.bios) {
    yield notSupported(field(at, 'domain', 'firmware', 'bootloader', 'bios'), 'arm64 has no BIOS: use bootloader.efi');
  }
  if (cpu?.model && cpu.model !== 'host-passthrough') {
    yield notSupported(field(at, 'domain', 'cpu', 'model'), `CPU model ${cpu.model} is not supported on arm64: use host-passthrough`);
  }
  for (const [i, disk] of (devices.disks ?? []).entries()) {
    for (const target of ['disk', 'cdrom', 'lun'] as const) {
      if (['', 'virtio', 'scsi'].includes(disk[target]?.bus ?? '')) continue;
      const path = field(at, 'domain', 'devices', 'disks', i, target, 'bus');
      yield notSupported(path, `bus ${disk[target]?.bus} is not supported on arm64: use virtio or scsi`);
    }
  }
  if (devices.watchdog) yield notSupported(field(at, 'domain', 'devices', 'watchdog'), 'arm64 has no watchdog device: take it out');
  if (devices.sound) yield notSupported(field(at, 'domain', 'devices', 'sound'), 'arm64 has no sound device: take it out');
}

function* watchdogCauses(spec: VirtualMachineInstanceSpec, at: FieldPath): Causes {
  const { watchdog } = spec.domain.devices;
  if (!watchdog) return;
  const [own, other, message] =
    spec.architecture === 's390x'
      ? ([watchdog.diag288, watchdog.i6300esb, 'the watchdog of s390x is diag288: set it and no other'] as const)
      : ([watchdog.i6300esb, watchdog.diag288, `the watchdog of ${spec.architecture} is i6300esb: set it and no other`] as const);
  if (!own || other) yield notSupported(field(at, 'domain', 'devices', 'watchdog'), message);
}

export const architecture: SpecRule = function* (spec, at, config) {
  const arch = spec.architecture ?? '';
  const types = videoTypes(arch, config);
  if (!types) {
    yield invalid(field(at, 'architecture'), `architecture "${arch}" is not supported: use one of ${Object.keys(VIDEO_TYPES).join(', ')}`);
    return;
  }
  if (arch === 'ppc64le') yield* powerCauses(spec, at);
  if (arch === 'arm64') yield* arm64Causes(spec, at);
  else yield* watchdogCauses(spec, at);
  const { video } = spec.domain.devices;
  if (video && !types.includes(video.type ?? '')) {
    yield notSupported(
      field(at, 'domain', 'devices', 'video', 'type'),
      `video type "${video.type ?? ''}" is not supported on ${arch}: use one of ${types.join(', ')}`,
    );
  }
};
