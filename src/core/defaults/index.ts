// The public face of the defaults.
export { hasPcieHotplug, isArm64, isS390x } from './architecture.js';
export { canonicalVmiSpec } from './canonical.js';
export { type BrokenRequirement, brokenRequirements } from './hyperv.js';
export { memoryHotplugProblem } from './live-update.js';
export { defaultVm, type VmDefaultsContext } from './vm.js';
export { type DefaultsContext, defaultVmi, PCI_TOPOLOGY_ANNOTATION } from './vmi.js';
export { defaultVmiSpec, setDefaultNetwork, setMissingDisks } from './vmi-spec.js';
