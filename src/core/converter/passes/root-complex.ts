// Annotation kubevirt.io/placePCIDevicesOnRootComplex: devices go straight onto the root bus instead of behind ports, for guests that cannot
// enumerate ports.
import { KvError } from '../../../base/errors.js';
import type { Scope } from '../scope.js';
import { childOf, el, type XmlNode } from '../xml.js';
import { mapDevices } from './devices-of.js';
import { pciDevices } from './pci-devices.js';

/** Slots of the root bus that QEMU or libvirt use themselves: host bridge, VGA, first sound card, SATA. */
const RESERVED = new Set([0x00, 0x01, 0x1b, 0x1f]);
const SLOTS = 0x20;

export function placeOnRootComplex(domain: XmlNode, { vmi, arch }: Pick<Scope, 'vmi' | 'arch'>): XmlNode {
  if (!arch.pcie || vmi.metadata.annotations?.['kubevirt.io/placePCIDevicesOnRootComplex'] !== 'true') return domain;
  return mapDevices(domain, (devices) => {
    const unplaced = pciDevices(devices).filter((node) => childOf(node, 'address') === undefined);
    const slots = freeSlots(unplaced.length);
    const addresses = new Map(unplaced.map((node, i) => [node, rootAddress(slots[i] ?? 0)]));
    return devices.map((node) => {
      const address = addresses.get(node);
      return address ? { ...node, children: [...node.children, address] } : node;
    });
  });
}

function freeSlots(count: number): number[] {
  const slots = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !RESERVED.has(slot));
  if (count <= slots.length) return slots.slice(0, count);
  throw new KvError(
    'Invalid',
    `No space left on the root PCI bus: ${count} devices, ${slots.length} slots; remove devices or the placement annotation`,
  );
}

const rootAddress = (slot: number): XmlNode =>
  el('address', { type: 'pci', domain: '0x0000', bus: '0x00', slot: `0x${slot.toString(16).padStart(2, '0')}`, function: '0x0' });
