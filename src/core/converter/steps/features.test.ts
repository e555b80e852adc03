import { describe, expect, it } from 'vitest';
import { factsOf, type GuestParts, guest, rendered } from '../../../../test/builders/domain.js';
import type { Features } from '../../../api/index.js';
import type { DomainFacts } from '../facts.js';
import { features } from './features.js';

const VMPORT = '<vmport state="off"/>';
const HOST: Partial<DomainFacts> = { cpuSet: [0], topology: { cells: [{ id: 0, cpus: [{ id: 0, siblings: [] }], distances: [] }] } };

const inside = (parts: GuestParts, facts: Partial<DomainFacts> = {}): string | undefined =>
  rendered(features, guest(parts), factsOf(facts))[0]?.replace(/^<features>|<\/features>$/g, '');

describe('asked features', () => {
  it.each<[string, Features, string]>([
    ['ACPI by default', {}, `<acpi/>${VMPORT}`],
    ['no ACPI', { acpi: { enabled: false } }, VMPORT],
    ['APIC and SMM', { apic: {}, smm: {} }, `<acpi/><apic/><smm/>${VMPORT}`],
    ['neither APIC nor SMM', { apic: { enabled: false }, smm: { enabled: false } }, `<acpi/>${VMPORT}`],
    ['hidden KVM', { kvm: { hidden: true } }, `<acpi/><kvm><hidden state="on"/></kvm>${VMPORT}`],
    ['shown KVM', { kvm: {} }, `<acpi/><kvm><hidden state="off"/></kvm>${VMPORT}`],
    ['spinlocks', { pvspinlock: { enabled: false } }, `<acpi/><pvspinlock state="off"/>${VMPORT}`],
    ['Hyper-V passthrough', { hypervPassthrough: { enabled: true } }, `<acpi/><hyperv mode="passthrough"/>${VMPORT}`],
    [
      'enlightenments before passthrough',
      { hypervPassthrough: { enabled: true }, hyperv: { relaxed: {} } },
      `<acpi/><hyperv><relaxed state="on"/></hyperv>${VMPORT}`,
    ],
    [
      'enlightenments with values',
      {
        hyperv: {
          spinlocks: { spinlocks: 4096 },
          vendorid: { vendorid: 'me', enabled: false },
          synictimer: { direct: {} },
          tlbflush: { direct: { enabled: false }, extended: {} },
          evmcs: { enabled: false },
        },
      },
      '<acpi/><hyperv><spinlocks state="on" retries="4096"/><stimer state="on"><direct state="on"/></stimer>' +
        '<vendor_id state="off" value="me"/><tlbflush state="on"><direct state="off"/><extended state="on"/></tlbflush>' +
        `<evmcs state="off"/></hyperv>${VMPORT}`,
    ],
  ])('%s', (_title, given, want) => {
    expect(inside({ domain: { features: given } })).toBe(want);
  });
});

describe('features of the guest’s kind', () => {
  it.each<[string, GuestParts, Partial<DomainFacts>, string]>([
    ['nothing asked', {}, {}, '<features/>'],
    ['no VMware port on arm64', { domain: { features: {} } }, { hostArch: 'arm64' }, '<acpi/>'],
    ['dedicated CPUs', { domain: { cpu: { dedicatedCpuPlacement: true } } }, HOST, '<kvm><hint-dedicated state="on"/></kvm>'],
    [
      'real time',
      { domain: { cpu: { dedicatedCpuPlacement: true, realtime: {} } } },
      HOST,
      '<kvm><hint-dedicated state="on"/></kvm><pmu state="off"/>',
    ],
    ['TDX', { domain: { features: {}, launchSecurity: { tdx: {} } } }, {}, `<acpi/><pmu state="off"/>${VMPORT}`],
    [
      'a bounded translation cache when emulated',
      { domain: { features: {} } },
      { hypervisorDevicePresent: false, allowEmulation: true, translationCacheMiB: 32 },
      `<acpi/>${VMPORT}<tcg><tb-cache unit="MiB">32</tb-cache></tcg>`,
    ],
    ['no translation cache with hardware', { domain: { features: {} } }, { translationCacheMiB: 32 }, `<acpi/>${VMPORT}`],
  ])('%s', (_title, parts, facts, want) => {
    expect(inside(parts, facts)).toBe(want);
  });
});
