// Hypervisor features: ACPI, APIC, SMM, KVM's and Hyper-V's own, and what an emulated or pinned guest needs on top.
import type { Features } from '../../../api/index.js';
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
      el('features', {}, [
        ...asked(scope.domain.features),
        kvm(scope),
        pmu(scope),
        scope.domain.features && vmport(scope),
        translationCache(scope),
      ]),
    ],
  }),
};

function asked(features: Features | undefined): XmlChild[] {
  if (!features) return [];
  const { acpi, apic, smm, hyperv: hypervFeatures, hypervPassthrough, pvspinlock } = features;
  return [
    acpi?.enabled !== false && el('acpi'),
    apic && apic.enabled !== false && el('apic'),
    smm && smm.enabled !== false && el('smm'),
    hypervFeatures ? hyperv(hypervFeatures) : hypervPassthrough?.enabled === true && el('hyperv', { mode: 'passthrough' }),
    pvspinlock && el('pvspinlock', { state: stateOf(pvspinlock) }),
  ];
}

/** A guest on dedicated CPUs may spin instead of yielding; only amd64 guests know the hint. */
function kvm({ vmi, domain, placement }: Pick<Scope, Needs>): XmlNode | undefined {
  const hidden = domain.features?.kvm && el('hidden', { state: onOff(domain.features.kvm.hidden === true) });
  const dedicated = placement && vmi.spec.architecture === 'amd64' && el('hint-dedicated', { state: 'on' });
  return hidden || dedicated ? el('kvm', {}, [hidden, dedicated]) : undefined;
}

/** Performance counters cost latency in real-time guests and are not available to TDX guests. */
function pmu({ domain, placement }: Pick<Scope, Needs>): XmlChild {
  const realtime = placement !== undefined && domain.cpu?.realtime !== undefined;
  const tdx = domain.features !== undefined && domain.launchSecurity?.tdx !== undefined;
  return (realtime || tdx) && el('pmu', { state: 'off' });
}

const vmport = ({ arch }: Pick<Scope, Needs>): XmlChild => arch.vmport && el('vmport', { state: 'off' });

function translationCache(scope: Pick<Scope, Needs>): XmlChild {
  if (scope.translationCacheMiB === undefined || domainType(scope) !== 'qemu') return undefined;
  return el('tcg', {}, [{ ...el('tb-cache', { unit: 'MiB' }), text: String(scope.translationCacheMiB) }]);
}
