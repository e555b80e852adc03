// Spare PCIe ports, so that disks and interfaces can be plugged into the running guest: libvirt makes just enough ports for the devices it is
// given and cannot add any later.
import type { Domain } from '../domain.js';
import type { DomainController } from '../domain-devices.js';
import type { Scope } from '../scope.js';
import { pciDevices } from './pci-devices.js';

interface Ports {
  /** Ports in all, as long as enough of them stay free. */
  readonly total: number;
  readonly free: number;
}

const LARGE_GUEST = 2n * 1024n ** 3n;
const SMALL: Ports = { total: 8, free: 3 };
const LARGE: Ports = { total: 16, free: 6 };
/** A port is a slot of the root bus. */
const MOST_PORTS = 28;

const ROOT: DomainController = { type: 'pci', index: 0, model: 'pcie-root' };

export function addHotplugPorts(domain: Domain, scope: Pick<Scope, 'vmi' | 'onPcie' | 'hotplugPorts'>): Domain {
  const onRoot = scope.vmi.metadata.annotations?.['kubevirt.io/placePCIDevicesOnRootComplex'] === 'true';
  if (!scope.hotplugPorts || !scope.onPcie || onRoot) return domain;
  const { total, free } = (domain.memory?.value ?? 0n) > LARGE_GUEST ? LARGE : SMALL;
  const { devices = {} } = domain;
  const { controller = [] } = devices;
  const count = Math.min(Math.max(total, pciDevices(devices).length + free), MOST_PORTS);
  const port = (index: number): DomainController => ({ type: 'pci', index, model: 'pcie-root-port' });
  const root = controller.some(({ model }) => model === 'pcie-root') ? [] : [ROOT];
  const ports = Array.from({ length: count }, (_, i) => port(i + 1));
  return { ...domain, devices: { ...devices, controller: [...controller, ...root, ...ports] } };
}
