// Smaller devices of a VMI: inputs, sound, video, panic devices, GPUs with ramfb, host devices, filesystems, vsock, metrics. Pure.

import { field } from '../../../api/field-path.js';
import type { GPU, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { allowsPersistentReservation } from '../../../core/config/cluster-lookups.js';
import { gateOff } from '../gate-off.js';
import { invalid, type Rule } from '../rule.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const PANIC_MODELS = ['hyperv', 'isa', 'pvpanic'];
const IO_THREADS_POLICIES = ['shared', 'auto', 'supplementalPool'];

export const inputs: SpecRule = function* (spec, at) {
  for (const [i, { bus = '', type }] of (spec.domain.devices.inputs ?? []).entries()) {
    const path = field(at, 'domain', 'devices', 'inputs', i);
    if (!['virtio', 'usb', ''].includes(bus))
      yield invalid(field(path, 'bus'), `bus ${bus} cannot carry an input device: use virtio or usb`);
    if (type !== 'tablet') yield invalid(field(path, 'type'), `input type "${type}" is not supported: use tablet`);
  }
};

export const ioThreads: SpecRule = function* (spec, at) {
  const { ioThreadsPolicy: policy, ioThreads: threads } = spec.domain;
  if (policy === undefined) return;
  if (!IO_THREADS_POLICIES.includes(policy)) {
    yield invalid(
      field(at, 'domain', 'ioThreadsPolicy'),
      `ioThreadsPolicy ${policy} does not exist: use one of ${IO_THREADS_POLICIES.join(', ')}`,
    );
  }
  if (policy === 'supplementalPool' && (threads?.supplementalPoolThreadCount ?? 0) < 1) {
    yield invalid(
      field(at, 'domain', 'ioThreads', 'count'),
      'the policy supplementalPool needs threads: set domain.ioThreads.supplementalPoolThreadCount to 1 or more',
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
    yield invalid(
      field(at, 'GPUs'),
      'one GPU at most can show the boot screen: set virtualGPUOptions.display.ramFB.enabled to false for the others',
    );
  }
};

export const hostDevices: SpecRule = function* (spec, at, config) {
  if (spec.domain.devices.hostDevices === undefined || config.isEnabled('HostDevices')) return;
  yield invalid(field(at, 'HostDevices'), gateOff('HostDevices', field(at, 'domain', 'devices', 'hostDevices')));
};

export const sound: SpecRule = function* (spec, at) {
  const device = spec.domain.devices.sound;
  if (!device) return;
  const path = field(at, 'Sound');
  if (!['', 'ich9', 'ac97'].includes(device.model ?? '')) {
    yield invalid(path, `sound model ${device.model} is not supported: use ich9 or ac97`);
  }
  if (!device.name) yield invalid(path, 'the sound device has no name: give it one');
};

export const vsock: SpecRule = function* (spec, at, config) {
  if (spec.domain.devices.autoattachVSOCK !== true || config.isEnabled('VSOCK')) return;
  const path = field(at, 'domain', 'devices', 'autoattachVSOCK');
  yield invalid(path, gateOff('VSOCK', path));
};

export const persistentReservation: SpecRule = function* (spec, at, config) {
  const asked = (spec.domain.devices.disks ?? []).some((d) => d.lun?.reservation);
  if (!asked || allowsPersistentReservation(config)) return;
  yield invalid(
    field(at, 'domain', 'devices', 'disks', 'luns', 'reservation'),
    'persistent reservations are not enabled: set spec.configuration.persistentReservationConfiguration.enabled of the KubeVirt resource',
  );
};

export const downwardMetrics: SpecRule = function* (spec, at, config) {
  if (spec.domain.devices.downwardMetrics === undefined || config.isEnabled('DownwardMetrics')) return;
  const path = field(at, 'domain', 'devices', 'downwardMetrics');
  yield invalid(path, gateOff('DownwardMetrics', path));
};

export const filesystems: SpecRule = function* (spec, at, config) {
  if (config.isEnabled('EnableVirtioFsStorageVolumes')) return;
  const byName = new Map((spec.volumes ?? []).map((v) => [v.name, v]));
  for (const { name } of spec.domain.devices.filesystems ?? []) {
    const volume = byName.get(name);
    if (volume?.persistentVolumeClaim || volume?.dataVolume) {
      yield invalid(
        field(at, 'domain', 'devices', 'filesystems'),
        gateOff('EnableVirtioFsStorageVolumes', `filesystem "${name}" on a claim`),
      );
    }
  }
};

export const video: SpecRule = function* (spec, at) {
  if (!spec.domain.devices.video || spec.domain.devices.autoattachGraphicsDevice !== false) return;
  yield invalid(field(at, 'video'), 'a video device needs a graphics device: take it out, or do not set autoattachGraphicsDevice to false');
};

export const panicDevices: SpecRule = function* (spec, at, config) {
  const list = spec.domain.devices.panicDevices ?? [];
  if (list.length === 0) return;
  const path = field(at, 'domain', 'devices', 'panicDevices');
  const arch = spec.architecture || config.defaultArchitecture;
  if (['s390x', 'ppc64le'].includes(arch)) yield invalid(path, `${arch} brings a panic device of its own: take panicDevices out`);
  for (const [i, { model }] of list.entries()) {
    if (model !== undefined && !PANIC_MODELS.includes(model)) {
      yield invalid(field(path, i, 'model'), `panic device model ${model} does not exist: use one of ${PANIC_MODELS.join(', ')}`);
    }
  }
};
