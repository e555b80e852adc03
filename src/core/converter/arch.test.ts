// What POWER guests get in place of what the steps give to the others; those have rows in the tests of the steps.
import { describe, expect, it } from 'vitest';
import { compact, factsOf, type GuestParts, guest } from '../../../test/builders/domain.js';
import { archOf } from './arch.js';
import { buildDomain } from './assemble.js';

const domainOf = (parts: GuestParts): string =>
  compact(
    buildDomain(
      guest({ ...parts, spec: { architecture: 'ppc64le', ...parts.spec } }),
      factsOf({ hostArch: 'ppc64le', hotplugPorts: true }),
    ),
  );
const features = (given: object): GuestParts => ({ domain: { features: given } });

describe('ppc64le', () => {
  it.each<[string, GuestParts, string]>([
    ['the machine', {}, '<type arch="ppc64le" machine="pseries">hvm</type>'],
    ['no SMBIOS mode', {}, 'hvm</type></os>'],
    ['the console', {}, '<serial type="unix"><target type="spapr-vio-serial" port="0"/>'],
    ['a USB controller for keyboard and pointer', {}, '<controller type="usb" index="0" model="qemu-xhci"/>'],
    ['keyboard and pointer', {}, '<input type="tablet" bus="usb"/><input type="keyboard" bus="usb"/>'],
    ['a screen', {}, '<model type="vga" heads="1" vram="16384"/>'],
    ['no features of x86', features({ acpi: {}, apic: {}, hypervPassthrough: { enabled: false } }), '<features/>'],
    ['the watchdog', { devices: { watchdog: { name: 'w', i6300esb: { action: 'reset' } } } }, '<watchdog model="i6300esb" action="reset">'],
    ['a TPM', { devices: { tpm: {} } }, '<tpm model="tpm-spapr"><backend type="emulator" version="2.0"/></tpm>'],
    [
      'sockets to plug in',
      { domain: { cpu: { sockets: 1, cores: 1, threads: 1, maxSockets: 2 } } },
      '<vcpu id="1" enabled="no" hotpluggable="yes"/>',
    ],
    ['modern virtio devices', {}, '<disk device="disk" type="file" model="virtio-non-transitional">'],
  ])('has %s', (_title, parts, xml) => {
    expect(domainOf(parts)).toContain(xml);
  });

  it('has neither ports to plug into nor memory that grows nor option ROMs', () => {
    expect(domainOf({ domain: { memory: { guest: '1Gi', maxGuest: '2Gi' } } })).not.toMatch(/pcie|maxMemory|<rom/);
  });

  it.each<[string, GuestParts, string]>([
    [
      'EFI',
      { domain: { firmware: { bootloader: { efi: {} } } } },
      'spec.domain.firmware.bootloader.efi: ppc64le guests boot with Open Firmware',
    ],
    ['Hyper-V', features({ hyperv: { relaxed: {} } }), 'spec.domain.features.hyperv: there is no such feature on ppc64le'],
    ['all of Hyper-V', features({ hypervPassthrough: { enabled: true } }), 'spec.domain.features.hypervPassthrough: there is'],
    ['SMM', features({ smm: {} }), 'spec.domain.features.smm: there is'],
    ['spinlocks', features({ pvspinlock: {} }), 'spec.domain.features.pvspinlock: there is'],
    ['the watchdog of s390x', { devices: { watchdog: { name: 'w', diag288: {} } } }, "watchdog w can't be mapped"],
  ])('refuses %s', (_title, parts, message) => {
    expect(() => domainOf(parts)).toThrow(message);
  });
});

describe('archOf', () => {
  it.each([
    ['amd64', 'amd64'],
    ['x86_64', 'amd64'],
    ['aarch64', 'arm64'],
    ['ppc64le', 'ppc64le'],
    ['toString', undefined],
    ['', undefined],
  ])('%s', (name, arch) => {
    expect(archOf(name)).toBe(arch);
  });
});
