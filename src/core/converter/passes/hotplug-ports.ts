// Spare PCIe ports, so that disks and interfaces can be plugged into the running guest: libvirt makes just enough ports for the devices it is
// given and cannot add any later.
import type { Scope } from '../scope.js';
import { childOf, el, type XmlNode } from '../xml.js';
import { mapDevices } from './devices-of.js';
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

export function addHotplugPorts(domain: XmlNode, scope: Pick<Scope, 'vmi' | 'onPcie' | 'hotplugPorts'>): XmlNode {
  const onRoot = scope.vmi.metadata.annotations?.['kubevirt.io/placePCIDevicesOnRootComplex'] === 'true';
  if (!scope.hotplugPorts || !scope.onPcie || onRoot) return domain;
  const bytes = BigInt(childOf(domain, 'memory')?.text ?? '0');
  const { total, free } = bytes > LARGE_GUEST ? LARGE : SMALL;
  return mapDevices(domain, (devices) => {
    const ports = Math.min(Math.max(total, pciDevices(devices).length + free), MOST_PORTS);
    const hasRoot = devices.some(({ attrs }) => attrs.model === 'pcie-root');
    const root = hasRoot ? [] : [el('controller', { type: 'pci', index: 0, model: 'pcie-root' })];
    return [
      ...devices,
      ...root,
      ...Array.from({ length: ports }, (_, i) => el('controller', { type: 'pci', index: i + 1, model: 'pcie-root-port' })),
    ];
  });
}
