// The sentence for a field whose feature gate is off: which gate, and where it is switched on. Pure.
import { gateState } from '../../core/config/gates.js';

const WHERE = 'under spec.configuration.developerConfiguration of the KubeVirt resource';

/** `what` is the subject of the sentence. Gates that are on by default are off only when somebody listed them as disabled. */
export const gateOff = (gate: string, what: string): string =>
  `${what} needs the feature gate ${gate}, which is off: ` +
  (gateState(gate) === 'Beta' ? `take it out of disabledFeatureGates ${WHERE}` : `add it to featureGates ${WHERE}`);
