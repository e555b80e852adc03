import { describe, expect, it } from 'vitest';
import { compact, factsOf, guest } from '../../../test/builders/domain.js';
import { assemble, buildDomain } from './assemble.js';
import type { Domain } from './domain.js';
import type { AnyStep } from './order.js';
import { STEPS } from './order.js';
import { buildScope } from './scope.js';

const step = (name: string, fragment: ReturnType<AnyStep['render']>): AnyStep => ({ name, render: () => fragment });
const scope = buildScope(guest(), factsOf());

describe('assemble', () => {
  it('merges elements and devices in the order of the steps', () => {
    const steps = [
      step('one', { type: 'kvm', devices: { disk: [{ model: '1' }], vsock: {} } }),
      step('two', { os: { smbios: undefined }, vcpu: undefined, devices: { disk: [{ model: '2' }], rng: [{}], emulator: undefined } }),
    ];
    expect(compact(assemble(scope, steps))).toBe(
      '<domain type="kvm"><os/><devices><disk model="1"/><disk model="2"/><vsock/><rng/></devices></domain>',
    );
  });

  it.each<[string, Domain, string]>([
    ['an attribute', { type: 'kvm' }, 'converter step two sets type of the domain, which another step has set'],
    ['a domain element', { cpu: {} }, 'converter step two sets cpu of the domain, which another step has set'],
    ['a single device', { devices: { memballoon: {} } }, 'converter step two sets memballoon of the domain, which another step has set'],
  ])('refuses %s set twice', (_title, fragment, message) => {
    expect(() => assemble(scope, [step('one', fragment), step('two', fragment)])).toThrow(message);
  });

  it('has steps of distinct names', () => {
    expect(new Set(STEPS.map(({ name }) => name)).size).toBe(STEPS.length);
  });
});

describe('spare PCIe ports', () => {
  const ports = (memory: string, hotplugPorts = true) => {
    const domain = buildDomain(guest({ domain: { memory: { guest: memory } } }), factsOf({ hotplugPorts }));
    return compact(domain).match(/model="pcie-root-port"/g)?.length ?? 0;
  };

  it('depend on the size of the guest', () => {
    expect([ports('256Mi'), ports('4Gi'), ports('4Gi', false)]).toEqual([9, 16, 0]);
  });

  it('follow an explicit root', () => {
    const xml = compact(buildDomain(guest(), factsOf({ hotplugPorts: true })));
    expect(xml).toContain('<controller type="pci" index="0" model="pcie-root"/><controller type="pci" index="1" model="pcie-root-port"/>');
  });

  it('do not exist where there is no PCIe', () => {
    const s390x = guest({ spec: { architecture: 's390x' } });
    expect(compact(buildDomain(s390x, factsOf({ hostArch: 's390x', hotplugPorts: true })))).not.toContain('pcie-root');
  });
});

describe('placement on the root complex', () => {
  const annotations = { 'kubevirt.io/placePCIDevicesOnRootComplex': 'true' };
  const slots = (xml: string): string[] => [...xml.matchAll(/bus="0x00" slot="(0x[0-9a-f]+)"/g)].map(([, slot]) => slot ?? '');

  it('fills free slots, interfaces first', () => {
    const xml = compact(buildDomain(guest({ annotations }), factsOf({ hotplugPorts: true })));
    expect(xml).toContain('<alias name="ua-default"/><address type="pci" domain="0x0000" bus="0x00" slot="0x02" function="0x0"/>');
    // interface, usb, scsi and serial controllers, disk, balloon in this order
    expect(slots(xml).sort()).toEqual(['0x02', '0x03', '0x04', '0x05', '0x06', '0x07']);
    expect(xml).not.toContain('pcie-root-port');
  });

  it('leaves given addresses alone', () => {
    const devices = { disks: [{ name: 'root', disk: { bus: 'virtio', pciAddress: '0000:81:01.0' } }] };
    const xml = compact(buildDomain(guest({ annotations, devices }), factsOf()));
    expect(slots(xml)).toHaveLength(5);
    expect(xml).toContain('<address type="pci" domain="0x0000" bus="0x81" slot="0x01" function="0x0"/>');
  });

  it('says when the bus is full', () => {
    const many = Array.from({ length: 30 }, (_, i) => ({ name: `d${i}`, disk: { bus: 'virtio' } }));
    const volumes = many.map(({ name }) => ({ name, emptyDisk: { capacity: '1Gi' } }));
    expect(() => buildDomain(guest({ annotations, devices: { disks: many }, spec: { volumes } }), factsOf())).toThrow(
      'No space left on the root PCI bus: 35 devices, 28 slots',
    );
  });
});
