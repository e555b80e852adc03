// Which devices of a domain take a place on the PCI bus, in the order in which they are placed.
import { childOf, type XmlNode } from '../xml.js';

/** Buses themselves have no address. */
const BUSES = new Set(['pci-root', 'pcie-root', 'pcie-expander-bus']);

const KINDS: readonly { readonly tag: string; readonly onPci: (node: XmlNode) => boolean }[] = [
  { tag: 'interface', onPci: () => true },
  { tag: 'hostdev', onPci: ({ attrs }) => attrs.type === 'pci' },
  { tag: 'controller', onPci: ({ attrs }) => !BUSES.has(attrs.model ?? '') },
  { tag: 'disk', onPci: (node) => childOf(node, 'target')?.attrs.bus === 'virtio' },
  { tag: 'input', onPci: ({ attrs }) => attrs.bus === 'virtio' },
  { tag: 'watchdog', onPci: () => true },
  { tag: 'rng', onPci: () => true },
  { tag: 'memballoon', onPci: () => true },
];

/** Devices that have an address of another kind (a drive on a controller …) are not among them. */
export const pciDevices = (devices: readonly XmlNode[]): XmlNode[] =>
  KINDS.flatMap(({ tag, onPci }) => devices.filter((node) => node.tag === tag && onPci(node))).filter((node) => {
    const type = childOf(node, 'address')?.attrs.type;
    return type === undefined || type === 'pci';
  });
