// Which Hyper-V enlightenments need which others. Defaulting switches missing ones on; admission names those that the user switched off.
// Pure but for switchOnRequired, which changes the spec it is handed.
import type { FeatureHyperv, VirtualMachineInstanceSpec } from '../../api/index.js';

type FeatureName = keyof FeatureHyperv;

/** In the order in which they are looked at: whoever needs something comes before it. */
const REQUIRES: readonly (readonly [FeatureName, FeatureName])[] = [
  ['evmcs', 'vapic'],
  ['ipi', 'vpindex'],
  ['tlbflush', 'vpindex'],
  ['synictimer', 'synic'],
  ['synic', 'vpindex'],
];

export interface BrokenRequirement {
  readonly feature: FeatureName;
  readonly requires: FeatureName;
}

const stateOf = (hyperv: FeatureHyperv, name: FeatureName): boolean | undefined => hyperv[name]?.enabled;

/** Features that are on while what they need is not. */
export function brokenRequirements(hyperv: FeatureHyperv): BrokenRequirement[] {
  return REQUIRES.filter(([feature, requires]) => stateOf(hyperv, feature) === true && stateOf(hyperv, requires) !== true).map(
    ([feature, requires]) => ({ feature, requires }),
  );
}

/** The nested-virtualisation enlightenment works only with the vmx CPU feature. */
function requireVmx(spec: VirtualMachineInstanceSpec): void {
  const cpu = spec.domain.cpu ?? {};
  spec.domain.cpu = cpu;
  const features = cpu.features ?? [];
  cpu.features = features;
  const vmx = features.find((f) => f.name === 'vmx');
  if (vmx) vmx.policy = 'require';
  else features.push({ name: 'vmx', policy: 'require' });
}

/** Stops at the first requirement that the user switched off: admission reports it. */
export function switchOnRequired(spec: VirtualMachineInstanceSpec): void {
  const hyperv = spec.domain.features?.hyperv;
  if (!hyperv) return;
  for (const [feature, requires] of REQUIRES) {
    if (stateOf(hyperv, feature) !== true) continue;
    const state = stateOf(hyperv, requires);
    if (state === false) return;
    if (state === undefined) hyperv[requires] = { ...hyperv[requires], enabled: true };
  }
  if (hyperv.evmcs && hyperv.evmcs.enabled !== false) requireVmx(spec);
}
