// Devices of the host handed to the guest. Which ones is decided in core/devices; here they get their elements.
import { type PassedDevice, passGpus, passHostDevices, passSriov } from '../../devices/index.js';
import type { DomainHostDevice } from '../domain-devices.js';
import type { Scope } from '../scope.js';
import { type Fragment, NOTHING, type Step } from '../step.js';
import { aliased, bootOrder, pciPlace } from './device.js';

type Needs = 'vmi' | 'devices' | 'libvirtVersion' | 'env' | 'claimedDevices' | 'sriovAddresses' | 'migrationTarget' | 'vgpuLiveMigration';

export const hostDevices: Step<Needs> = {
  name: 'host-devices',
  render(scope): Fragment {
    if (scope.migrationTarget) return scope.vgpuLiveMigration ? migratedGpu(scope) : NOTHING;
    const passed = [
      ...passHostDevices(scope.devices.hostDevices ?? [], scope, scope.vmi.spec.architecture),
      ...passGpus(scope.devices.gpus ?? [], scope),
      ...passSriov(scope.vmi.spec, scope.sriovAddresses, scope),
    ];
    return { devices: { hostdev: passed.map((device) => hostDevice(canShow(scope) ? device : withoutScreen(device))) } };
  },
};

/** A screen that was not asked for is left out where there is none to show it on; libvirt would refuse it. */
const canShow = ({ devices, libvirtVersion }: Pick<Scope, Needs>): boolean =>
  devices.autoattachGraphicsDevice !== false || libvirtVersion === undefined;

const withoutScreen = ({ display: _display, ramFb: _ramFb, ...device }: PassedDevice): PassedDevice => device;

/** A single mediated GPU moves with its guest; any other device must be given back before and attached again after a migration. */
function migratedGpu(scope: Pick<Scope, Needs>): Fragment {
  const gpus = passGpus(scope.devices.gpus ?? [], scope);
  const only = gpus.length === 1 && gpus[0]?.kind === 'mdev' ? gpus : [];
  return { devices: { hostdev: only.map(hostDevice) } };
}

function hostDevice(passed: PassedDevice): DomainHostDevice {
  const shown = { display: passed.display, ramfb: passed.ramFb };
  const { kind: type } = passed;
  const named = aliased(passed.alias);
  if (passed.kind === 'usb') return { type, mode: 'subsystem', source: { address: { bus: passed.bus, device: passed.device } }, ...named };
  if (passed.kind === 'mdev')
    return { type, mode: 'subsystem', model: passed.model, ...shown, source: { address: { uuid: passed.uuid } }, ...named };
  return {
    type,
    managed: false,
    ...shown,
    source: { address: { ...passed.host } },
    boot: bootOrder(passed.bootOrder),
    address: passed.guest && pciPlace(passed.guest),
    ...named,
  };
}
