// The public face of the room: instance types and preferences, from reference to expanded VM.
export type { Template } from './apply-instancetype.js';
export { applyAutoattach } from './apply-preference.js';
export { applyTo, type Chosen, conflictMessage, type ExpandFailure, expandVm, TEMPLATE_ROOT } from './expand.js';
export { inferMatchers, type ReadSource, type VolumeSource } from './infer.js';
export {
  type ControllerRevision,
  type Family,
  type Found,
  findSpec,
  type InstancetypeReader,
  type Lookup,
  lookupOf,
  type Reference,
  specFrom,
} from './lookup.js';
export { requirementShortfall, type Shortfall } from './requirements.js';
export { preferredTopology, spreadOptions, spreadProblem, topologyNamed } from './topology.js';
