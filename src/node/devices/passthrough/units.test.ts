// What goes to guests of what a node has: groups, drivers, sets of USB devices, and what is said about the rest.
import { describe, expect, it } from 'vitest';
import type { PermittedDevices } from '../../../core/devices/permitted.js';
import type { Mdev, UsbDevice, WantedFunction } from './sysfs.js';
import { type Inventory, type Offer, offersOf, type Unit } from './units.js';

const PERMITTED: PermittedDevices = {
  pci: new Map([
    ['10de:1eb8', 'nvidia.com/T4'],
    ['10de:10f8', 'nvidia.com/audio'],
  ]),
  mdev: new Map([
    ['GRID_T4-1Q', 'nvidia.com/1Q'],
    ['i915-GVTg_V5_4', 'intel.com/gvt'],
  ]),
  usb: [
    { resourceName: 'a.com/pair', members: [usbId(1, 1), usbId(2, 2)] },
    { resourceName: 'a.com/stick', members: [usbId(1, 1)] },
  ],
  problems: [],
};

function usbId(vendor: number, product: number) {
  return { vendor, product };
}

const gpu = (address: string, group: string | undefined, more: Partial<WantedFunction> = {}): WantedFunction => ({
  address,
  id: '10de:1eb8',
  driver: 'vfio-pci',
  isBridge: false,
  groupMembers: [address],
  cdevs: [],
  isVgpu: false,
  ...(group === undefined ? {} : { group }),
  ...more,
});

const mdev = (uuid: string, typeName: string, group?: string): Mdev => ({
  uuid,
  typeId: typeName || 'i915-GVTg_V5_4',
  typeName,
  parent: '0000:65:00.0',
  numaNode: 1,
  ...(group === undefined ? {} : { group }),
});

const usb = (bus: number, device: number, vendor: number): UsbDevice => ({
  bus,
  device,
  vendor,
  product: vendor,
  path: `/dev/bus/usb/00${bus}/00${device}`,
});

const pciOf = (wanted: readonly WantedFunction[], others: Inventory['pci']['all'] = new Map()): Partial<Inventory> => ({
  pci: { wanted, all: new Map([...wanted.map((one) => [one.address, one] as const), ...others]) },
});

const look = (inventory: Partial<Inventory>, before: readonly Offer[] = [], permitted = PERMITTED) =>
  offersOf(permitted, { pci: { all: new Map(), wanted: [] }, mdevs: [], usb: [], ...inventory }, before);

/** resource id: addresses. */
const told = ({ offers }: { readonly offers: readonly Offer[] }): string[] =>
  offers.flatMap(({ resourceName, units }) =>
    units.map(({ id, addresses, isLost }) => `${resourceName} ${id}: ${addresses.join(' ')}${isLost ? ' lost' : ''}`),
  );

describe('PCI devices', () => {
  const sound = { address: '0000:65:00.1', id: '10de:10f8', isBridge: false };
  const held = new Map([['0000:65:00.1', { ...sound, driver: 'snd_hda_intel' }]]);
  const pair = { groupMembers: ['0000:65:00.0', '0000:65:00.1'] };

  it.each<[string, Partial<Inventory>, string[], string[]]>([
    [
      'one each group',
      pciOf([gpu('0000:65:00.0', '7'), gpu('0000:66:00.0', '8')]),
      ['nvidia.com/T4 7: 0000:65:00.0', 'nvidia.com/T4 8: 0000:66:00.0'],
      [],
    ],
    [
      'a group goes as a whole',
      pciOf([gpu('0000:65:00.0', '7', pair), gpu('0000:65:00.1', '7', pair)]),
      ['nvidia.com/T4 7: 0000:65:00.0 0000:65:00.1'],
      [],
    ],
    [
      'resources that share a group',
      pciOf([gpu('0000:65:00.0', '7', pair), gpu('0000:65:00.1', '7', { ...pair, id: '10de:10f8' })]),
      ['nvidia.com/T4 7: 0000:65:00.0', 'nvidia.com/audio 7: 0000:65:00.1'],
      [],
    ],
    [
      'a driver of a vendor for passthrough',
      pciOf([gpu('0000:65:00.0', '7', { driver: 'mlx5_vfio_pci' })]),
      ['nvidia.com/T4 7: 0000:65:00.0'],
      [],
    ],
    ['a vGPU of its vendor', pciOf([gpu('0000:65:00.4', '9', { driver: 'nvidia', isVgpu: true })]), ['nvidia.com/T4 9: 0000:65:00.4'], []],
    [
      'the host uses it',
      pciOf([gpu('0000:65:00.0', '7', { driver: 'nvidia' })]),
      [],
      ['0000:65:00.0 (10de:1eb8) is held by the driver nvidia'],
    ],
    ['no driver has it', pciOf([gpu('0000:65:00.0', '7', { driver: '' })]), [], ['is held by no driver']],
    ['no IOMMU', pciOf([gpu('0000:65:00.0', undefined)]), [], ['is guarded by no IOMMU']],
    [
      'the host uses a part of the group',
      pciOf([gpu('0000:65:00.0', '7', pair)], held),
      [],
      ['shares IOMMU group 7 with 0000:65:00.1 (10de:10f8), which the driver snd_hda_intel'],
    ],
    [
      'a part without driver',
      pciOf([gpu('0000:65:00.0', '7', pair)], new Map([['0000:65:00.1', { ...sound, driver: '' }]])),
      ['nvidia.com/T4 7: 0000:65:00.0'],
      [],
    ],
    [
      'a bridge in the group',
      pciOf([gpu('0000:65:00.0', '7', pair)], new Map([['0000:65:00.1', { ...sound, driver: 'shpchp', isBridge: true }]])),
      ['nvidia.com/T4 7: 0000:65:00.0'],
      [],
    ],
    ['not permitted', pciOf([gpu('0000:65:00.0', '7', { id: '8086:1572' })]), [], []],
  ])('%s', (_, inventory, offers, findings) => {
    const found = look(inventory);
    expect(told(found)).toEqual(offers);
    expect(found.findings.map(({ message }) => message)).toEqual(findings.map((text) => expect.stringContaining(text)));
  });

  it('come with the nodes that VFIO needs and the NUMA node they are next to', () => {
    const [offer] = look(pciOf([gpu('0000:65:00.0', '7', { numaNode: 1, cdevs: ['vfio3'] })])).offers;
    const expected: Unit = {
      id: '7',
      addresses: ['0000:65:00.0'],
      nodes: ['/dev/vfio/vfio', '/dev/vfio/7'],
      extraNodes: ['/dev/vfio/devices/vfio3'],
      numaNode: 1,
    };
    expect(offer).toEqual({ kind: 'pci', resourceName: 'nvidia.com/T4', units: [expected] });
  });

  it('are lost when they cannot be used any more, found again when they can, and forgotten with their permission', () => {
    const both = look(pciOf([gpu('0000:65:00.0', '7'), gpu('0000:66:00.0', '8')]));
    const one = look(pciOf([gpu('0000:66:00.0', '8')]), both.offers);
    expect(told(one)).toEqual(['nvidia.com/T4 8: 0000:66:00.0', 'nvidia.com/T4 7: 0000:65:00.0 lost']);
    const none = look({}, one.offers);
    expect(told(none)).toEqual(['nvidia.com/T4 8: 0000:66:00.0 lost', 'nvidia.com/T4 7: 0000:65:00.0 lost']);
    expect(told(look(pciOf([gpu('0000:65:00.0', '7'), gpu('0000:66:00.0', '8')]), none.offers))).toEqual(told(both));
    expect(told(look({}, one.offers, { ...PERMITTED, pci: new Map() }))).toEqual([]);
  });
});

describe('mediated devices', () => {
  it('go by the name of their type, or its id where it has no name', () => {
    const found = look({
      mdevs: [mdev('u1', 'GRID_T4-1Q', '70'), mdev('u2', 'GRID_T4-2Q', '71'), mdev('u3', '', '72'), mdev('u4', 'GRID_T4-1Q')],
    });
    expect(told(found)).toEqual(['nvidia.com/1Q 70: u1', 'intel.com/gvt 72: u3']);
    expect(found.findings.map(({ message }) => message)).toEqual([expect.stringContaining('u4 of 0000:65:00.0 has no IOMMU group')]);
    expect(found.offers[0]?.units[0]).toMatchObject({ nodes: ['/dev/vfio/vfio', '/dev/vfio/70'], numaNode: 1 });
  });

  it('leave the list when they are removed', () => {
    const { offers } = look({ mdevs: [mdev('u1', 'GRID_T4-1Q', '70')] });
    expect(told(look({}, offers))).toEqual([]);
  });
});

describe('USB devices', () => {
  const sets = (usbs: readonly UsbDevice[], before: readonly Offer[] = []): string[] => told(look({ usb: usbs }, before));

  it.each<[string, UsbDevice[], string[]]>([
    ['sets first, then what is left', [usb(1, 2, 1), usb(1, 3, 2), usb(1, 4, 1)], ['a.com/pair 1:2+1:3: 1:2 1:3', 'a.com/stick 1:4: 1:4']],
    ['no half sets', [usb(1, 3, 2)], []],
    [
      'several sets',
      [usb(1, 2, 1), usb(1, 3, 2), usb(2, 2, 1), usb(2, 3, 2)],
      ['a.com/pair 1:2+1:3: 1:2 1:3', 'a.com/pair 2:2+2:3: 2:2 2:3'],
    ],
    ['none that is not permitted', [usb(1, 2, 9)], []],
  ])('%s', (_, usbs, expected) => {
    expect(sets(usbs)).toEqual(expected);
  });

  it('a set stays as it was put together: a guest may have it', () => {
    const before = look({ usb: [usb(1, 2, 1), usb(1, 3, 2), usb(2, 2, 1), usb(2, 3, 2)] }).offers;
    expect(sets([usb(1, 3, 2), usb(2, 2, 1), usb(2, 3, 2)], before)).toEqual(['a.com/pair 2:2+2:3: 2:2 2:3']);
    // Another device on the same number is not the one that left.
    expect(sets([usb(1, 2, 9), usb(1, 3, 2), usb(2, 2, 1), usb(2, 3, 2)], before)).toEqual(['a.com/pair 2:2+2:3: 2:2 2:3']);
  });

  it('a set of equals needs one device each', () => {
    const usbs = [{ resourceName: 'a.com/two', members: [usbId(1, 1), usbId(1, 1)] }];
    const found = (plugged: UsbDevice[]): string[] => told(look({ usb: plugged }, [], { ...PERMITTED, usb: usbs }));
    expect(found([usb(1, 2, 1)])).toEqual([]);
    expect(found([usb(1, 2, 1), usb(1, 3, 1)])).toEqual(['a.com/two 1:2+1:3: 1:2 1:3']);
  });
});
