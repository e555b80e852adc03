// Hypervisor features: ACPI, APIC, SMM, KVM's and Hyper-V's own, and what an emulated or pinned guest needs on top.
import type { FeatureAPIC, FeatureState, Features } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { DomainFeatures } from '../domain.js';
import type { Scope } from '../scope.js';
import type { Fragment, Step } from '../step.js';
import { hyperv, stateOf } from './hyperv.js';
import { domainType } from './hypervisor.js';

type Needs =
  | 'vmi'
  | 'domain'
  | 'arch'
  | 'placement'
  | 'translationCacheMiB'
  | 'hypervisor'
  | 'hypervisorDevicePresent'
  | 'allowEmulation'
  | 'crossArchEmulation'
  | 'hostArch'
  | 'emulators';

export const features: Step<Needs> = {
  name: 'features',
  render: (scope): Fragment => ({
    features: {
      ...asked(scope),
      kvm: kvm(scope),
      pmu: pmu(scope),
      vmport: scope.domain.features && scope.arch.vmport ? { state: false } : undefined,
      tcg: translationCache(scope),
    },
  }),
};

function asked({ domain: { features }, arch }: Pick<Scope, Needs>): DomainFeatures {
  if (!features) return {};
  if (!arch.x86Features) refuseX86(features, arch.name);
  return {
    acpi: arch.acpi && features.acpi?.enabled !== false,
    apic: arch.x86Features && isOn(features.apic) ? apic(features.apic, arch.name) : undefined,
    ...askedOfX86(features),
  };
}

/** The end-of-interrupt shortcut is off unless it is asked for. */
const apic = (asked: FeatureAPIC | undefined, arch: string): DomainFeatures['apic'] =>
  asked?.endOfInterrupt && arch === 'amd64' ? { eoi: true } : {};

function askedOfX86({ smm, hyperv: enlightenments, hypervPassthrough, pvspinlock }: Features): DomainFeatures {
  const passed = hypervPassthrough?.enabled === true ? ({ mode: 'passthrough' } as const) : undefined;
  return {
    smm: isOn(smm) ? {} : undefined,
    hyperv: enlightenments ? hyperv(enlightenments) : passed,
    pvspinlock: stateOf(pvspinlock),
  };
}

function refuseX86({ hyperv, hypervPassthrough, smm, pvspinlock }: Features, arch: string): void {
  const wanted = {
    hyperv: hyperv !== undefined,
    hypervPassthrough: hypervPassthrough?.enabled === true,
    smm: isOn(smm),
    pvspinlock: isOn(pvspinlock),
  };
  const [name] = Object.entries(wanted).find(([, isAsked]) => isAsked) ?? [];
  if (name) throw new KvError('Invalid', `spec.domain.features.${name}: there is no such feature on ${arch}: take it out`);
}

const isOn = (feature: Pick<FeatureState, 'enabled'> | undefined): boolean => feature !== undefined && feature.enabled !== false;

/** A guest on dedicated CPUs may spin instead of yielding; only amd64 guests know the hint. */
function kvm({ vmi, domain, placement }: Pick<Scope, Needs>): DomainFeatures['kvm'] {
  const hidden = domain.features?.kvm && { state: domain.features.kvm.hidden === true };
  const dedicated = placement && vmi.spec.architecture === 'amd64' ? { state: true } : undefined;
  return hidden || dedicated ? { hidden, 'hint-dedicated': dedicated } : undefined;
}

/** Performance counters cost latency in real-time guests and are not available to TDX guests. */
function pmu({ domain, placement, arch }: Pick<Scope, Needs>): DomainFeatures['pmu'] {
  // POWER's cannot be switched off.
  const realtime = arch.x86Features && placement !== undefined && domain.cpu?.realtime !== undefined;
  const tdx = domain.features !== undefined && domain.launchSecurity?.tdx !== undefined;
  return realtime || tdx ? { state: false } : undefined;
}

function translationCache(scope: Pick<Scope, Needs>): DomainFeatures['tcg'] {
  if (scope.translationCacheMiB === undefined || domainType(scope) !== 'qemu') return undefined;
  return { 'tb-cache': { unit: 'MiB', value: scope.translationCacheMiB } };
}
