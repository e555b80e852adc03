// Each row was seen refused by libvirt 11.3 with QEMU 10 of the architecture.
import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest } from '../../../../test/builders/domain.js';
import { buildDomain } from '../assemble.js';
import type { Arch } from '../facts.js';

const convert = (arch: Arch, parts: GuestParts): string | undefined =>
  buildDomain(guest({ ...parts, spec: { architecture: arch } }), factsOf({ hostArch: arch, libvirtVersion: 11_003_000 })).name;

const rows: [Arch, string, GuestParts][] = [
  ['arm64', 'clock.timer.hpet', { domain: { clock: { timer: { hpet: {} } } } }],
  ['arm64', 'clock.timer.kvm', { domain: { clock: { timer: { kvm: {} } } } }],
  ['s390x', 'clock.timer.hyperv', { domain: { clock: { timer: { hyperv: {} } } } }],
  ['arm64', 'features.pvspinlock', { domain: { features: { acpi: { enabled: false }, pvspinlock: {} } } }],
  ['s390x', 'features.hyperv', { domain: { features: { acpi: { enabled: false }, hyperv: { relaxed: {} } } } }],
  ['s390x', 'features.acpi', { domain: { features: { acpi: {} } } }],
  ['s390x', 'firmware.bootloader.bios.useSerial', { domain: { firmware: { bootloader: { bios: { useSerial: true } } } } }],
  ['arm64', 'devices.panicDevices', { devices: { panicDevices: [{ model: 'isa' }] } }],
  ['s390x', 'devices.clientPassthrough', { devices: { clientPassthrough: {} } }],
  ['s390x', 'devices.sound', { devices: { sound: { name: 's' } } }],
  ['s390x', 'devices.tpm', { devices: { tpm: {} } }],
  ['s390x', 'devices.inputs', { devices: { inputs: [{ name: 't', type: 'tablet' }] } }],
  ['s390x', 'devices.interfaces', { devices: { interfaces: [{ name: 'default', masquerade: {}, acpiIndex: 5 }] } }],
  ['s390x', 'devices.disks', { devices: { disks: [{ name: 'root', disk: { bus: 'sata' } }] } }],
];

describe('what an architecture lacks', () => {
  it.each(rows)('%s: %s', (arch, field, parts) => {
    expect(() => convert(arch, parts)).toThrow(`spec.domain.${field}: ${arch} guests have no such thing`);
    expect(convert('amd64', parts)).toBe('default_vm');
  });

  it('s390x: a USB device of the node', () => {
    const parts: GuestParts = { devices: { hostDevices: [{ name: 'h', deviceName: 'v.com/key' }] }, spec: { architecture: 's390x' } };
    const facts = factsOf({ hostArch: 's390x', libvirtVersion: 11_003_000, env: { USB_RESOURCE_V_COM_KEY: '1:3' } });
    expect(() => buildDomain(guest(parts), facts)).toThrow('spec.domain.devices.hostDevices: s390x guests have no USB');
  });

  it.each<[Arch, GuestParts]>([
    [
      'arm64',
      { domain: { clock: { timer: { hpet: { present: false } } }, features: { acpi: {} } }, devices: { tpm: { persistent: true } } },
    ],
    ['s390x', { domain: { features: { acpi: { enabled: false } } }, devices: { inputs: [{ name: 't', type: 'tablet', bus: 'virtio' }] } }],
  ])('%s has the rest', (arch, parts) => {
    expect(convert(arch, parts)).toBe('default_vm');
  });
});
