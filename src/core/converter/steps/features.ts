// Hypervisor features: ACPI, APIC, SMM, KVM's and Hyper-V's own, and what an emulated or pinned guest needs on top.
import type { FeatureAPIC, FeatureState, Features } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { Scope } from '../scope.js';
import type { Step } from '../step.js';
import { el, onOff, stateOf, type XmlChild, type XmlNode } from '../xml.js';
import { hyperv } from './hyperv.js';
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
  render: (scope) => ({
    elements: [
      el('features', {}, [...asked(scope), kvm(scope), pmu(scope), scope.domain.features && vmport(scope), translationCache(scope)]),
    ],
  }),
};

function asked({ domain: { features }, arch }: Pick<Scope, Needs>): XmlChild[] {
  if (!features) return [];
  if (!arch.x86Features) refuseX86(features, arch.name);
  return [
    arch.acpi && features.acpi?.enabled !== false && el('acpi'),
    arch.x86Features && isOn(features.apic) && apic(features.apic, arch.name),
    ...askedOfX86(features),
  ];
}

/** The end-of-interrupt shortcut is off unless it is asked for. */
const apic = (asked: FeatureAPIC | undefined, arch: string): XmlNode =>
  el('apic', { eoi: asked?.endOfInterrupt && arch === 'amd64' ? 'on' : undefined });

function askedOfX86({ smm, hyperv: hypervFeatures, hypervPassthrough, pvspinlock }: Features): XmlChild[] {
  return [
    isOn(smm) && el('smm'),
    hypervFeatures ? hyperv(hypervFeatures) : hypervPassthrough?.enabled === true && el('hyperv', { mode: 'passthrough' }),
    pvspinlock && el('pvspinlock', { state: stateOf(pvspinlock) }),
  ];
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
function kvm({ vmi, domain, placement }: Pick<Scope, Needs>): XmlNode | undefined {
  const hidden = domain.features?.kvm && el('hidden', { state: onOff(domain.features.kvm.hidden === true) });
  const dedicated = placement && vmi.spec.architecture === 'amd64' && el('hint-dedicated', { state: 'on' });
  return hidden || dedicated ? el('kvm', {}, [hidden, dedicated]) : undefined;
}

/** Performance counters cost latency in real-time guests and are not available to TDX guests. */
function pmu({ domain, placement, arch }: Pick<Scope, Needs>): XmlChild {
  // POWER's cannot be switched off.
  const realtime = arch.x86Features && placement !== undefined && domain.cpu?.realtime !== undefined;
  const tdx = domain.features !== undefined && domain.launchSecurity?.tdx !== undefined;
  return (realtime || tdx) && el('pmu', { state: 'off' });
}

const vmport = ({ arch }: Pick<Scope, Needs>): XmlChild => arch.vmport && el('vmport', { state: 'off' });

function translationCache(scope: Pick<Scope, Needs>): XmlChild {
  if (scope.translationCacheMiB === undefined || domainType(scope) !== 'qemu') return undefined;
  return el('tcg', {}, [{ ...el('tb-cache', { unit: 'MiB' }), text: String(scope.translationCacheMiB) }]);
}
