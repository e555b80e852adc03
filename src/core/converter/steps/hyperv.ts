// Hyper-V enlightenments: each is on unless it says otherwise; some carry a value or refinements.
import type { FeatureHyperv, FeatureState } from '../../../api/index.js';
import type { HypervFeatures } from '../domain.js';

/** A feature is on unless it says otherwise; one that is not mentioned is left to libvirt. */
export const stateOf = (feature: Pick<FeatureState, 'enabled'> | undefined): { readonly state: boolean } | undefined =>
  feature && { state: feature.enabled !== false };

export function hyperv(given: FeatureHyperv): HypervFeatures {
  const { spinlocks, synictimer, tlbflush, vendorid } = given;
  return {
    relaxed: stateOf(given.relaxed),
    vapic: stateOf(given.vapic),
    spinlocks: spinlocks && { ...stateOf(spinlocks), retries: spinlocks.spinlocks },
    vpindex: stateOf(given.vpindex),
    runtime: stateOf(given.runtime),
    synic: stateOf(given.synic),
    stimer: synictimer && { ...stateOf(synictimer), direct: stateOf(synictimer.direct) },
    reset: stateOf(given.reset),
    vendor_id: vendorid && { ...stateOf(vendorid), value: vendorid.vendorid },
    frequencies: stateOf(given.frequencies),
    reenlightenment: stateOf(given.reenlightenment),
    tlbflush: tlbflush && { ...stateOf(tlbflush), direct: stateOf(tlbflush.direct), extended: stateOf(tlbflush.extended) },
    ipi: stateOf(given.ipi),
    evmcs: stateOf(given.evmcs),
  };
}
