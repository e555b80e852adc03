// Annotation kubevirt.io/placePCIDevicesOnRootComplex: devices go straight onto the root bus instead of behind ports, for guests that cannot
// enumerate ports.
import { KvError } from '../../../base/errors.js';
import type { Domain } from '../domain.js';
import type { Address } from '../domain-devices.js';
import type { Scope } from '../scope.js';
import { mapPciDevices, pciDevices } from './pci-devices.js';

/** Slots of the root bus that QEMU or libvirt use themselves: host bridge, VGA, first sound card, SATA. */
const RESERVED = new Set([0x00, 0x01, 0x1b, 0x1f]);
const SLOTS = 0x20;

export function placeOnRootComplex(domain: Domain, { vmi, arch }: Pick<Scope, 'vmi' | 'arch'>): Domain {
  if (!arch.pcie || vmi.metadata.annotations?.['kubevirt.io/placePCIDevicesOnRootComplex'] !== 'true') return domain;
  const { devices = {} } = domain;
  const slots = freeSlots(pciDevices(devices).filter(({ address }) => address === undefined).length);
  const placed = mapPciDevices(devices, (device) => (device.address ? device : { ...device, address: rootAddress(slots.shift() ?? 0) }));
  return { ...domain, devices: placed };
}

function freeSlots(count: number): number[] {
  const slots = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !RESERVED.has(slot));
  if (count <= slots.length) return slots.slice(0, count);
  throw new KvError(
    'Invalid',
    `No space left on the root PCI bus: ${count} devices, ${slots.length} slots; remove devices or the placement annotation`,
  );
}

const rootAddress = (slot: number): Address => ({
  type: 'pci',
  domain: '0x0000',
  bus: '0x00',
  slot: `0x${slot.toString(16).padStart(2, '0')}`,
  function: '0x0',
});
