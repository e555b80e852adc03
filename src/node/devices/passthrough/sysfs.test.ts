// What is read from the /sys of a host: sample trees in the shape of the kernel's.
import { beforeEach, describe, expect, it } from 'vitest';
import { addMdev, addMdevType, addPci, addUsb, pciDir, type SampleHost, sampleHost } from '../../../../test/fakes/sample-sysfs.js';
import { scratchDir } from '../../../../test/fakes/scratch.js';
import { readMdevs, readPci, readUsb } from './sysfs.js';

let host: SampleHost;
beforeEach(() => {
  host = sampleHost(scratchDir());
});

describe('PCI', () => {
  it('reads what it takes to pass a function on, of those that are wanted', async () => {
    addPci(host, { address: '0000:65:00.0', id: '10de:1eb8', driver: 'vfio-pci', group: '7', numaNode: 1 });
    addPci(host, { address: '0000:65:00.1', id: '10de:10f8', driver: 'snd_hda_intel', group: '7', classCode: '40300' });
    addPci(host, { address: '0000:64:00.0', id: '8086:2030', driver: 'pcieport', group: '7', classCode: '60400' });
    host.file(`${pciDir('0000:65:00.0')}/vfio-dev/vfio3/dev`, '511:3\n');
    const { all, wanted } = await readPci(host.root, (id) => id === '10de:1eb8');
    expect(wanted).toEqual([
      {
        address: '0000:65:00.0',
        id: '10de:1eb8',
        driver: 'vfio-pci',
        isBridge: false,
        group: '7',
        groupMembers: ['0000:64:00.0', '0000:65:00.0', '0000:65:00.1'],
        numaNode: 1,
        cdevs: ['vfio3'],
        isVgpu: false,
      },
    ]);
    expect([...all.values()].map(({ address, driver, isBridge }) => [address, driver, isBridge])).toEqual([
      ['0000:64:00.0', 'pcieport', true],
      ['0000:65:00.0', 'vfio-pci', false],
      ['0000:65:00.1', 'snd_hda_intel', false],
    ]);
  });

  it('knows a virtual function that is a vGPU', async () => {
    addPci(host, { address: '0000:65:00.0', id: '10de:2237', driver: 'nvidia' });
    addPci(host, { address: '0000:65:00.4', id: '10de:2237', driver: 'nvidia' });
    addPci(host, { address: '0000:65:00.5', id: '10de:2237' });
    host.file(`${pciDir('0000:65:00.0')}/sriov_totalvfs`, '16\n');
    for (const [at, type] of ['600', '600', '0'].entries()) {
      host.file(`${pciDir(`0000:65:00.${[0, 4, 5][at]}`)}/nvidia/current_vgpu_type`, `${type}\n`);
    }
    const { wanted } = await readPci(host.root, () => true);
    expect(wanted.map(({ driver, isVgpu, group, numaNode }) => [driver, isVgpu, group, numaNode])).toEqual([
      ['nvidia', false, undefined, undefined],
      ['nvidia', true, undefined, undefined],
      ['', false, undefined, undefined],
    ]);
  });
});

it('reads mediated devices with the type they are of', async () => {
  const named = { parent: '0000:65:00.0', id: 'nvidia-222', name: 'GRID T4-1Q', available: 0 };
  const unnamed = { parent: '0000:00:02.0', id: 'i915-GVTg_V5_4', available: 1 };
  addPci(host, { address: '0000:65:00.0', id: '10de:1eb8', driver: 'nvidia', numaNode: 1 });
  addMdevType(host, named);
  addMdevType(host, unnamed);
  addMdev(host, '0f2b7a3c-0000-4000-8000-000000000001', named, '70');
  addMdev(host, '0f2b7a3c-0000-4000-8000-000000000002', unnamed, '71');
  expect(await readMdevs(host.root)).toEqual([
    {
      uuid: '0f2b7a3c-0000-4000-8000-000000000001',
      typeId: 'nvidia-222',
      typeName: 'GRID_T4-1Q',
      parent: '0000:65:00.0',
      group: '70',
      numaNode: 1,
    },
    { uuid: '0f2b7a3c-0000-4000-8000-000000000002', typeId: 'i915-GVTg_V5_4', typeName: '', parent: '0000:00:02.0', group: '71' },
  ]);
});

it('reads USB devices in the order of their addresses, without hubs of controllers and interfaces', async () => {
  addUsb(host, '1-10', [1, 12], '46f4/1/0');
  addUsb(host, '1-2', [1, 3], '8564/1000/1100');
  addUsb(host, 'usb1', [1, 1], '1d6b/2/612');
  expect(await readUsb(host.root)).toEqual([
    { bus: 1, device: 3, vendor: 0x8564, product: 0x1000, path: '/dev/bus/usb/001/003' },
    { bus: 1, device: 12, vendor: 0x46f4, product: 1, path: '/dev/bus/usb/001/012' },
  ]);
});

it('finds nothing on a host without such buses', async () => {
  expect(await readPci(host.root, () => true)).toEqual({ all: new Map(), wanted: [] });
  expect(await readMdevs(host.root)).toEqual([]);
  expect(await readUsb(host.root)).toEqual([]);
});
