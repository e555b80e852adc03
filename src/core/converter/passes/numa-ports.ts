// Gate PCINUMAAwareTopology: a guest that sees NUMA cells of its node sees each passed PCI device beside the cell it is next to on the node. One
// expander bus a cell, one port on it a device. Called by assemble.ts once all other PCI controllers are there; pure, the launcher
// has read the devices' cells.
import { KvError } from '../../../base/errors.js';
import type { Domain } from '../domain.js';
import type { Address, DomainController, DomainHostDevice } from '../domain-devices.js';
import type { Scope } from '../scope.js';
import { deviceName } from '../steps/device.js';

type Needs = 'vmi' | 'onPcie' | 'placement' | 'topology' | 'pciNodes';

/** Bus numbers are a byte, and the last buses are the expanders'. */
const BUSES = 256;
/** Slots of an expander bus. */
const SLOTS = 32;

interface Placed {
  readonly device: DomainHostDevice;
  /** On the node: 0000:3b:00.0. */
  readonly place: string;
  /** Of the guest. */
  readonly cell: number;
}

export function placeBesideCells(domain: Domain, scope: Pick<Scope, Needs>): Domain {
  const { devices = {} } = domain;
  const { hostdev = [], controller = [] } = devices;
  if (!scope.onPcie || !scope.pciNodes || !scope.placement?.numa) return domain;
  // The VMI's own choice of an address stays.
  const placed = hostdev.filter(({ type, address }) => type === 'pci' && address === undefined).map((device) => placedOn(device, scope));
  if (placed.length === 0) return domain;
  const first = 1 + Math.max(0, ...controller.flatMap(({ type, index }) => (type === 'pci' && index !== undefined ? [index] : [])));
  const { controllers, addresses } = layOut(placed, first);
  const moved = hostdev.map((device) => {
    const address = addresses.get(device);
    return address ? { ...device, address } : device;
  });
  return { ...domain, devices: { ...devices, controller: [...controller, ...controllers], hostdev: moved } };
}

function placedOn(device: DomainHostDevice, { placement, topology, pciNodes = {} }: Pick<Scope, Needs>): Placed {
  const place = placeOf(device.source?.address ?? {});
  const cells = topology?.cells ?? [];
  // On a node with a single cell the kernel need not say where a device is.
  const node = pciNodes[place] ?? (cells.length === 1 ? cells[0]?.id : undefined);
  const remedy = 'take cpu.numa.guestMappingPassthrough out, or the device';
  const what = `device ${deviceName(device) ?? ''} (${place}) cannot be shown to the guest beside its NUMA cell`;
  if (node === undefined) throw new KvError('Invalid', `${what}: the node does not tell which cell that is; ${remedy}`);
  const guestCells = placement?.numa?.cells ?? [];
  const cell = guestCells.find(({ hostCell }) => hostCell === node);
  if (!cell) {
    const seen = guestCells.map(({ hostCell }) => hostCell).join(', ');
    throw new KvError(
      'Invalid',
      `${what}: that is cell ${node} of the node, and the CPUs of the pod are of cell ${seen}; have the kubelet align them ` +
        `(topology manager policy single-numa-node), or ${remedy}`,
    );
  }
  return { device, place, cell: cell.id };
}

const hex = (text = ''): string => text.replace(/^0x/, '');
const placeOf = ({ domain, bus, slot, function: fn }: Address): string =>
  `${hex(domain)}:${hex(bus)}:${hex(slot)}.${hex(fn)}`.toLowerCase();

interface Layout {
  readonly controllers: readonly DomainController[];
  readonly addresses: ReadonlyMap<DomainHostDevice, Address>;
}

/** From the first free index on; bus numbers from the top down, so that each expander has one for itself and one for each of its ports. */
function layOut(placed: readonly Placed[], first: number): Layout {
  const controllers: DomainController[] = [];
  const addresses = new Map<DomainHostDevice, Address>();
  for (const cell of [...new Set(placed.map((each) => each.cell))].sort((a, b) => a - b)) {
    const here = placed.filter((each) => each.cell === cell).sort((a, b) => (a.place < b.place ? -1 : 1));
    const expander = first + controllers.length;
    const busNr = BUSES - controllers.length - 1 - here.length;
    if (here.length > SLOTS || busNr <= expander + here.length) {
      throw new KvError('Invalid', `${placed.length} passed PCI devices are more than NUMA cells of a guest have buses for: pass fewer`);
    }
    controllers.push({ type: 'pci', index: expander, model: 'pcie-expander-bus', target: { busNr, node: cell } });
    for (const [slot, { device }] of here.entries()) {
      const port = expander + 1 + slot;
      controllers.push({ type: 'pci', index: port, model: 'pcie-root-port', address: pciAddress(expander, slot) });
      addresses.set(device, pciAddress(port, 0));
    }
  }
  return { controllers, addresses };
}

const byte = (value: number): string => `0x${value.toString(16).padStart(2, '0')}`;

/** libvirt's bus is the index of a controller. */
const pciAddress = (bus: number, slot: number): Address => ({
  type: 'pci',
  domain: '0x0000',
  bus: byte(bus),
  slot: byte(slot),
  function: '0x0',
});
