// Hyper-V enlightenments: each is on unless it says otherwise; some carry a value or refinements.
import type { FeatureHyperv, FeatureState } from '../../../api/index.js';
import { el, stateOf, type XmlNode } from '../xml.js';

const state = (tag: string, feature: FeatureState | undefined): XmlNode | undefined => feature && el(tag, { state: stateOf(feature) });

export function hyperv(given: FeatureHyperv): XmlNode {
  const { spinlocks, synictimer, tlbflush, vendorid } = given;
  return el('hyperv', {}, [
    state('relaxed', given.relaxed),
    state('vapic', given.vapic),
    spinlocks && el('spinlocks', { state: stateOf(spinlocks), retries: spinlocks.spinlocks }),
    state('vpindex', given.vpindex),
    state('runtime', given.runtime),
    state('synic', given.synic),
    synictimer && el('stimer', { state: stateOf(synictimer) }, [state('direct', synictimer.direct)]),
    state('reset', given.reset),
    vendorid && el('vendor_id', { state: stateOf(vendorid), value: vendorid.vendorid }),
    state('frequencies', given.frequencies),
    state('reenlightenment', given.reenlightenment),
    tlbflush && el('tlbflush', { state: stateOf(tlbflush) }, [state('direct', tlbflush.direct), state('extended', tlbflush.extended)]),
    state('ipi', given.ipi),
    state('evmcs', given.evmcs),
  ]);
}
