// Devices of the host handed to the guest. Which ones is decided in core/devices; here they get their elements.
import { type PassedDevice, type PciAddress, passGpus, passHostDevices, passSriov } from '../../devices/index.js';
import type { Scope } from '../scope.js';
import { NOTHING, type Step } from '../step.js';
import { el, type XmlNode } from '../xml.js';
import { alias, bootOrder, pciAddressEl } from './device.js';

type Needs = 'vmi' | 'devices' | 'libvirtVersion' | 'env' | 'claimedDevices' | 'sriovAddresses' | 'migrationTarget' | 'vgpuLiveMigration';

export const hostDevices: Step<Needs> = {
  name: 'host-devices',
  render(scope) {
    if (scope.migrationTarget) return scope.vgpuLiveMigration ? migratedGpu(scope) : NOTHING;
    const passed = [
      ...passHostDevices(scope.devices.hostDevices ?? [], scope, scope.vmi.spec.architecture),
      ...passGpus(scope.devices.gpus ?? [], scope),
      ...passSriov(scope.vmi.spec, scope.sriovAddresses, scope),
    ];
    return { devices: passed.map((device) => hostDevice(canShow(scope) ? device : withoutScreen(device))) };
  },
};

/** A screen that was not asked for is left out where there is none to show it on; libvirt would refuse it. */
const canShow = ({ devices, libvirtVersion }: Pick<Scope, Needs>): boolean =>
  devices.autoattachGraphicsDevice !== false || libvirtVersion === undefined;

const withoutScreen = ({ display: _display, ramFb: _ramFb, ...device }: PassedDevice): PassedDevice => device;

/** A single mediated GPU moves with its guest; any other device must be given back before and attached again after a migration. */
function migratedGpu(scope: Pick<Scope, Needs>) {
  const gpus = passGpus(scope.devices.gpus ?? [], scope);
  const only = gpus.length === 1 && gpus[0]?.kind === 'mdev' ? gpus : [];
  return { devices: only.map(hostDevice) };
}

function hostDevice(passed: PassedDevice): XmlNode {
  const shown = { display: passed.display && 'on', ramfb: passed.ramFb && 'on' };
  const { kind: type } = passed;
  if (passed.kind === 'usb') {
    return el('hostdev', { type, mode: 'subsystem' }, [source({ bus: passed.bus, device: passed.device }), alias(passed.alias)]);
  }
  if (passed.kind === 'mdev') {
    return el('hostdev', { type, mode: 'subsystem', model: passed.model, ...shown }, [source({ uuid: passed.uuid }), alias(passed.alias)]);
  }
  return el('hostdev', { type, managed: 'no', ...shown }, [
    source(passed.host),
    bootOrder(passed.bootOrder),
    passed.guest && pciAddressEl(passed.guest),
    alias(passed.alias),
  ]);
}

const source = (address: Readonly<Record<string, string>> | PciAddress): XmlNode => el('source', {}, [el('address', { ...address })]);
