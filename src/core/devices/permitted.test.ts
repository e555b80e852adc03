// What the list of permitted devices comes to, and what is said about one that cannot be meant.
import { describe, expect, it } from 'vitest';
import type { PermittedHostDevices } from '../../api/index.js';
import { permittedDevices } from './permitted.js';

const pci = (pciVendorSelector: string, resourceName: string, externalResourceProvider?: boolean) => ({
  pciVendorSelector,
  resourceName,
  ...(externalResourceProvider === undefined ? {} : { externalResourceProvider }),
});
const usb = (resourceName: string, ...ids: [string, string][]) => ({
  resourceName,
  selectors: ids.map(([vendor, product]) => ({ vendor, product })),
});

describe('permittedDevices', () => {
  it('tells the devices of each resource', () => {
    const found = permittedDevices({
      pciHostDevices: [pci('10DE:1EB8', 'nvidia.com/T4'), pci('10de:1db6', 'nvidia.com/T4'), pci('8086:0b60', 'intel.com/qat', true)],
      mediatedDevices: [{ mdevNameSelector: 'GRID T4-1Q', resourceName: 'nvidia.com/GRID_T4-1Q' }],
      usb: [usb('kubevirt.io/stick', ['46f4', '0001'], ['0x8564', '1000'])],
    });
    expect([...found.pci]).toEqual([
      ['10de:1eb8', 'nvidia.com/T4'],
      ['10de:1db6', 'nvidia.com/T4'],
    ]);
    expect([...found.mdev]).toEqual([['GRID_T4-1Q', 'nvidia.com/GRID_T4-1Q']]);
    const members = [
      { vendor: 0x46f4, product: 1 },
      { vendor: 0x8564, product: 0x1000 },
    ];
    expect(found.usb).toEqual([{ resourceName: 'kubevirt.io/stick', members }]);
    expect(found.problems).toEqual([]);
  });

  it.each<[string, PermittedHostDevices, string[], number]>([
    ['nothing', {}, [], 0],
    [
      'a selector that is no id',
      { pciHostDevices: [pci('10de', 'a.com/x')] },
      ['pciHostDevices[0] (a.com/x) is left out: pciVendorSelector 10de'],
      0,
    ],
    [
      'one id for two resources',
      { pciHostDevices: [pci('10de:1eb8', 'a.com/x'), pci('10de:1eb8', 'a.com/y')] },
      ['pciHostDevices[0] (a.com/x) has no effect: pciHostDevices[1] gives 10de:1eb8 to a.com/y'],
      1,
    ],
    [
      'one resource for two kinds',
      { pciHostDevices: [pci('10de:1eb8', 'a.com/x')], usb: [usb('a.com/x', ['1', '2'])] },
      ['usb[0] (a.com/x) is left out: pciHostDevices[0] has the same resourceName'],
      1,
    ],
    [
      'one resource twice, where somebody else serves the other',
      { pciHostDevices: [pci('10de:1eb8', 'a.com/x', true)], usb: [usb('a.com/x', ['1', '2'])] },
      [],
      1,
    ],
    ['no domain', { pciHostDevices: [pci('10de:1eb8', 'gpu')] }, ['pciHostDevices[0] (gpu) is left out: the kubelet takes no such'], 0],
    [
      'a domain of Kubernetes',
      { pciHostDevices: [pci('10de:1eb8', 'x.kubernetes.io/gpu')] },
      ['pciHostDevices[0] (x.kubernetes.io/gpu) is left'],
      0,
    ],
    [
      'our own',
      { pciHostDevices: [pci('10de:1eb8', 'devices.kubevirt.io/kvm')] },
      ["pciHostDevices[0] (devices.kubevirt.io/kvm) is left out: the resource is one of KubeVirt's"],
      0,
    ],
    ['no USB device', { usb: [{ resourceName: 'a.com/x' }] }, ['usb[0] (a.com/x) is left out: it selects no device'], 0],
    ['no USB number', { usb: [usb('a.com/x', ['46f4', 'stick'])] }, ['usb[0] (a.com/x) is left out: stick is no vendor or product'], 0],
    ['no type', { mediatedDevices: [{ mdevNameSelector: ' ', resourceName: 'a.com/x' }] }, ['mediatedDevices[0] (a.com/x) is left out'], 0],
  ])('%s', (_, given, problems, kept) => {
    const found = permittedDevices(given);
    expect(found.problems).toEqual(problems.map((text) => expect.stringContaining(text)));
    expect(found.pci.size + found.mdev.size + found.usb.length).toBe(kept);
  });
});
