// Smaller devices of a VMI: inputs, sound, video, panic devices, GPUs with ramfb, host devices, filesystems, vsock, metrics. Pure.

import { field } from '../../../api/field-path.js';
import type { GPU, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { allowsPersistentReservation } from '../../../core/config/cluster-lookups.js';
import { invalid, type Rule } from '../rule.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const PANIC_MODELS = ['hyperv', 'isa', 'pvpanic'];
const IO_THREADS_POLICIES = ['shared', 'auto', 'supplementalPool'];

export const inputs: SpecRule = function* (spec, at) {
  for (const [i, { bus = '', type }] of (spec.domain.devices.inputs ?? []).entries()) {
    const path = field(at, 'domain', 'devices', 'inputs', i);
    if (!['virtio', 'usb', ''].includes(bus)) yield invalid(field(path, 'bus'), 'Input device can have only virtio or usb bus.');
    if (type !== 'tablet') yield invalid(field(path, 'type'), 'Input device can have only tablet type.');
  }
};

export const ioThreads: SpecRule = function* (spec, at) {
  const { ioThreadsPolicy: policy, ioThreads: threads } = spec.domain;
  if (policy === undefined) return;
  if (!IO_THREADS_POLICIES.includes(policy)) {
    yield invalid(field(at, 'domain', 'ioThreadsPolicy'), `Invalid IOThreadsPolicy (${policy})`);
  }
  if (policy === 'supplementalPool' && (threads?.supplementalPoolThreadCount ?? 0) < 1) {
    yield invalid(
      field(at, 'domain', 'ioThreads', 'count'),
      'the number of iothreads needs to be set and positive for the dedicated policy',
    );
  }
};

/** Display and ramfb are on unless switched off. */
function hasRamFb({ virtualGPUOptions }: GPU): boolean {
  const display = virtualGPUOptions?.display;
  return display !== undefined && display.enabled !== false && display.ramFB?.enabled !== false;
}

export const ramFb: SpecRule = function* (spec, at) {
  if ((spec.domain.devices.gpus ?? []).filter(hasRamFb).length > 1) {
    yield invalid(field(at, 'GPUs'), 'configuring multiple displays with ramfb is not valid ');
  }
};

export const hostDevices: SpecRule = function* (spec, at, config) {
  if (spec.domain.devices.hostDevices === undefined || config.isEnabled('HostDevices')) return;
  yield invalid(field(at, 'HostDevices'), 'Host Devices feature gate is not enabled in kubevirt-config');
};

export const sound: SpecRule = function* (spec, at) {
  const device = spec.domain.devices.sound;
  if (!device) return;
  const path = field(at, 'Sound');
  if (!['', 'ich9', 'ac97'].includes(device.model ?? '')) {
    yield invalid(path, "Sound device type is not supported. Options: 'ich9' or 'ac97'");
  }
  if (!device.name) yield invalid(path, 'Sound device requires a name field.');
};

export const vsock: SpecRule = function* (spec, at, config) {
  if (spec.domain.devices.autoattachVSOCK !== true || config.isEnabled('VSOCK')) return;
  yield invalid(field(at, 'domain', 'devices', 'autoattachVSOCK'), 'VSOCK feature gate is not enabled in kubevirt-config');
};

export const persistentReservation: SpecRule = function* (spec, at, config) {
  const asked = (spec.domain.devices.disks ?? []).some((d) => d.lun?.reservation);
  if (!asked || allowsPersistentReservation(config)) return;
  yield invalid(field(at, 'domain', 'devices', 'disks', 'luns', 'reservation'), 'persistent reservation is not enabled in kubevirt config');
};

export const downwardMetrics: SpecRule = function* (spec, at, config) {
  if (spec.domain.devices.downwardMetrics === undefined || config.isEnabled('DownwardMetrics')) return;
  yield invalid(
    field(at, 'domain', 'devices', 'downwardMetrics'),
    'downwardMetrics virtio serial is not allowed: DownwardMetrics feature gate is not enabled',
  );
};

export const filesystems: SpecRule = function* (spec, at, config) {
  if (config.isEnabled('EnableVirtioFsStorageVolumes')) return;
  const byName = new Map((spec.volumes ?? []).map((v) => [v.name, v]));
  for (const { name } of spec.domain.devices.filesystems ?? []) {
    const volume = byName.get(name);
    if (volume?.persistentVolumeClaim || volume?.dataVolume) {
      yield invalid(field(at, 'domain', 'devices', 'filesystems'), 'virtiofs is not allowed: virtiofs feature gate is not enabled for PVC');
    }
  }
};

export const video: SpecRule = function* (spec, at) {
  if (!spec.domain.devices.video || spec.domain.devices.autoattachGraphicsDevice !== false) return;
  yield invalid(field(at, 'video'), 'Video configuration is not allowed when autoattachGraphicsDevice is set to false');
};

export const panicDevices: SpecRule = function* (spec, at, config) {
  const list = spec.domain.devices.panicDevices ?? [];
  if (list.length === 0) return;
  const path = field(at, 'domain', 'devices', 'panicDevices');
  const arch = spec.architecture || config.defaultArchitecture;
  if (arch === 's390x') yield invalid(path, `custom panic devices are not supported on ${arch} architecture`);
  for (const [i, { model }] of list.entries()) {
    if (model !== undefined && !PANIC_MODELS.includes(model)) {
      yield invalid(field(path, i, 'model'), `invalid PanicDeviceModel(${model})`);
    }
  }
};
