// Devices of the node beside the NUMA cells of the guest.
import { describe, expect, it } from 'vitest';
import { compact, factsOf, type GuestParts, guest } from '../../../../test/builders/domain.js';
import { buildDomain } from '../assemble.js';
import type { DomainFacts } from '../facts.js';

const cell = (id: number, cpus: readonly number[]) => ({
  id,
  cpus: cpus.map((cpu) => ({ id: cpu, siblings: [] })),
  distances: [],
});

const DEVICES: GuestParts['devices'] = {
  gpus: [
    { name: 'near', deviceName: 'v.com/gpu' },
    { name: 'far', deviceName: 'v.com/gpu' },
  ],
  hostDevices: [{ name: 'nic', deviceName: 'v.com/nic' }],
};
const numa: GuestParts = {
  domain: {
    cpu: { cores: 4, dedicatedCpuPlacement: true, numa: { guestMappingPassthrough: {} } },
    memory: { guest: '512Mi', hugepages: { pageSize: '2Mi' } },
  },
  devices: DEVICES,
};

/** The pod has CPUs of the node's cells 1 and 2, which are 0 and 1 in the guest. */
const FACTS: Partial<DomainFacts> = {
  cpuSet: [4, 5, 8, 9],
  topology: { cells: [cell(0, [0, 1, 2, 3]), cell(1, [4, 5, 6, 7]), cell(2, [8, 9, 10, 11])] },
  env: { PCI_RESOURCE_V_COM_GPU: '0000:3b:00.0,0000:af:00.0', PCI_RESOURCE_V_COM_NIC: '0000:18:00.1' },
  pciNodes: { '0000:3b:00.0': 1, '0000:18:00.1': 1, '0000:af:00.0': 2 },
};

const xmlOf = (parts: GuestParts, facts: Partial<DomainFacts> = {}): string =>
  compact(buildDomain(guest(parts), factsOf({ ...FACTS, ...facts })));
const buses = (xml: string): string[] => xml.match(/<controller type="pci"(?:[^>]*\/>|.*?<\/controller>)/g) ?? [];
/** Name of each device, with the bus that it is on. */
const places = (xml: string): string[] =>
  [...xml.matchAll(/<hostdev .*?<\/hostdev>/g)].map(([device]) => {
    const name = /<alias name="([^"]+)"/.exec(device)?.[1];
    const bus = /<address type="pci" domain="0x0000" bus="(0x\w+)" slot="0x00"/.exec(device)?.[1];
    return `${name} ${bus}`;
  });

describe('devices beside NUMA cells', () => {
  it('are on ports of an expander bus of their cell', () => {
    const xml = xmlOf(numa);
    const port = (index: number, bus: string, slot: string): string =>
      `<controller type="pci" index="${index}" model="pcie-root-port"><address type="pci" domain="0x0000" bus="${bus}" slot="${slot}" function="0x0"/></controller>`;
    expect(buses(xml)).toEqual([
      '<controller type="pci" index="1" model="pcie-expander-bus"><target busNr="253"><node>0</node></target></controller>',
      port(2, '0x01', '0x00'),
      port(3, '0x01', '0x01'),
      '<controller type="pci" index="4" model="pcie-expander-bus"><target busNr="251"><node>1</node></target></controller>',
      port(5, '0x04', '0x00'),
    ]);
    expect(places(xml)).toEqual(['ua-hostdevice-nic 0x02', 'ua-gpu-near 0x03', 'ua-gpu-far 0x05']);
  });

  it('come after the spare ports', () => {
    const xml = xmlOf(numa, { hotplugPorts: true });
    const ports = buses(xml).findIndex((bus) => bus.includes('pcie-expander-bus'));
    expect(buses(xml)[ports]).toContain(`index="${ports}"`);
    expect(new Set(buses(xml).map((bus) => /index="(\d+)"/.exec(bus)?.[1])).size).toBe(buses(xml).length);
  });

  it('are where the VMI wants them, if it says so', () => {
    const sriov: GuestParts = {
      ...numa,
      spec: {
        networks: [{ name: 'vf', multus: { networkName: 'vf' } }],
      },
      devices: { interfaces: [{ name: 'vf', sriov: {}, pciAddress: '0000:00:07.0' }] },
    };
    const xml = xmlOf(sriov, { sriovAddresses: { vf: '0000:18:00.1' } });
    expect(xml).toContain('slot="0x07"');
    expect(buses(xml)).toEqual([]);
  });

  it('need no word of the kernel on a node with a single cell', () => {
    const xml = xmlOf(numa, { cpuSet: [0, 1, 2, 3], topology: { cells: [cell(0, [0, 1, 2, 3])] }, pciNodes: {} });
    expect(places(xml)).toEqual(['ua-hostdevice-nic 0x02', 'ua-gpu-near 0x03', 'ua-gpu-far 0x04']);
  });

  it('keep their places with the annotation for the root complex', () => {
    const xml = xmlOf({ ...numa, annotations: { 'kubevirt.io/placePCIDevicesOnRootComplex': 'true' } });
    expect(places(xml)).toEqual(['ua-hostdevice-nic 0x02', 'ua-gpu-near 0x03', 'ua-gpu-far 0x05']);
  });

  it.each<[string, GuestParts, Partial<DomainFacts>]>([
    ['the gate', numa, { pciNodes: undefined } as never],
    ['cells in the guest', { ...numa, domain: { cpu: { cores: 4, dedicatedCpuPlacement: true } } }, {}],
    ['PCI devices', { domain: numa.domain ?? {} }, {}],
  ])('are nowhere without %s', (_, parts, facts) => {
    expect(xmlOf(parts, facts)).not.toContain('pcie-expander-bus');
  });

  it.each<[string, Partial<DomainFacts>, RegExp]>([
    [
      'of which the kernel knows no cell',
      { pciNodes: { '0000:3b:00.0': 1, '0000:18:00.1': 1 } },
      /^device gpu-far \(0000:af:00\.0\) .*: the node does not tell which cell that is; take/,
    ],
    [
      'of a cell that the guest has no CPUs of',
      { pciNodes: { ...FACTS.pciNodes, '0000:af:00.0': 0 } },
      /^device gpu-far \(0000:af:00\.0\) .*: that is cell 0 of the node, and the CPUs of the pod are of cell 1, 2; have the kubelet align/,
    ],
  ])('keep a guest from starting with one %s', (_, facts, message) => {
    expect(() => xmlOf(numa, facts)).toThrow(message);
  });

  it('cannot be more than there are slots', () => {
    const names = Array.from({ length: 33 }, (_, i) => `0000:18:${i.toString(16).padStart(2, '0')}.0`);
    const many = { ...numa, devices: { hostDevices: names.map((_, i) => ({ name: `d${i}`, deviceName: 'v.com/nic' })) } };
    const facts = { env: { PCI_RESOURCE_V_COM_NIC: names.join(',') }, pciNodes: Object.fromEntries(names.map((name) => [name, 1])) };
    expect(() => xmlOf(many, facts)).toThrow(/^33 passed PCI devices are more than/);
  });
});
