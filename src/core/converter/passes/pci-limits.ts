// Which PCI addresses of the VMI's choice a PCIe machine can have: the root bus, or a bus of its own for the device. Used by limits.ts.
import { type PciAddress, parsePciAddress } from '../../devices/index.js';
import { busOf } from '../io-threads.js';
import type { Scope } from '../scope.js';
import { type Fault, firstOf } from './fault.js';

interface Placed {
  readonly field: string;
  readonly text: string;
  readonly address: PciAddress;
  /** The device is no PCIe device and sits behind a bridge of the old kind. */
  readonly isConventional: boolean;
}

const CONVENTIONAL_CARDS = ['e1000', 'rtl8139', 'ne2k_pci', 'pcnet'];

function placedDevices({ devices, domain }: Pick<Scope, 'devices' | 'domain'>): Placed[] {
  const isTransitional = domain.devices.useVirtioTransitional === true;
  const disks = (devices.disks ?? []).map((disk, i) => ({
    field: `devices.disks[${i}].disk.pciAddress`,
    text: disk.disk?.pciAddress ?? '',
    isConventional: isTransitional && busOf(disk) === 'virtio',
  }));
  const interfaces = (devices.interfaces ?? []).map(({ model = 'virtio', pciAddress = '', sriov }, i) => ({
    field: `devices.interfaces[${i}].pciAddress`,
    text: pciAddress,
    isConventional: !sriov && (CONVENTIONAL_CARDS.includes(model) || (isTransitional && model === 'virtio')),
  }));
  return [...disks, ...interfaces].flatMap((device) => {
    const address = parsePciAddress(device.text);
    return address ? [{ ...device, address }] : [];
  });
}

export function pciAddresses(scope: Pick<Scope, 'devices' | 'domain' | 'onPcie'>): Fault | undefined {
  const placed = placedDevices(scope);
  return firstOf(placed.map((device, i) => () => slotFault(device, scope.onPcie) ?? sharedFault(device, placed.slice(0, i))));
}

function slotFault({ field, text, address, isConventional }: Placed, onPcie: boolean): Fault | undefined {
  if (Number(address.domain) !== 0) return { field, why: `${text} is outside of the guest's only PCI domain: begin it with 0000` };
  if (onPcie && Number(address.bus) === 0) return undefined;
  const isFirst = Number(address.slot) === 0;
  if (isConventional || !onPcie)
    return isFirst ? { field, why: `${text}: slot 00 of a bridge is the bridge's own; use slot 01 or above` } : undefined;
  return isFirst ? undefined : { field, why: `${text}: a PCIe port has slot 00 only; use bus 00, or slot 00 of another bus` };
}

const sharedFault = ({ field, text, address }: Placed, others: readonly Placed[]): Fault | undefined => {
  const other = others.find((each) => Object.entries(address).every(([part, value]) => each.address[part as keyof PciAddress] === value));
  return other && { field, why: `${text} is the address of ${other.field} already: give each device its own` };
};
