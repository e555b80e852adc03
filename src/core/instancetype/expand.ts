// A VM with its instance type and preference written out, as `expand-spec` answers and as admission checks it. Pure.
import type { VirtualMachine, VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec } from '../../api/index.js';
import { fail, ok, type Result } from '../../base/result.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { canonicalVmiSpec, defaultVmiSpec, setDefaultNetwork, setMissingDisks } from '../defaults/index.js';
import { applyInstancetype, type Template } from './apply-instancetype.js';
import { applyPreference } from './apply-preference.js';

export interface Chosen {
  readonly instancetype?: VirtualMachineInstancetypeSpec | undefined;
  readonly preference?: VirtualMachinePreferenceSpec | undefined;
}

export const TEMPLATE_ROOT = 'spec.template.spec';

export const conflictMessage = (fields: readonly string[]): string =>
  `VM field(s) ${fields.join(', ')} conflicts with selected instance type: remove them, or choose another instance type`;

/** Applies both to the template in place. Conflicts leave the template half done. */
export function applyTo(template: Template, { instancetype, preference }: Chosen, root = TEMPLATE_ROOT): string[] {
  const conflicts = instancetype ? applyInstancetype(instancetype, preference, template, root) : [];
  if (conflicts.length === 0 && preference) applyPreference(preference, template);
  return conflicts;
}

export interface ExpandFailure {
  readonly message: string;
  readonly conflicts?: readonly string[];
}

/** A copy of the VM without its references. */
function withoutReferences(vm: VirtualMachine): VirtualMachine {
  const { instancetype: _type, preference: _preference, ...spec } = vm.spec;
  if (!vm.status) return { ...vm, spec };
  const { instancetypeRef: _typeRef, preferenceRef: _preferenceRef, ...status } = vm.status;
  return { ...vm, spec, status };
}

export function expandVm(vm: VirtualMachine, chosen: Chosen, config: ClusterConfig): Result<VirtualMachine, ExpandFailure> {
  if (!vm.spec.instancetype && !vm.spec.preference) return ok(vm);
  const expanded = withoutReferences(structuredClone(vm));
  const { template } = expanded.spec;
  const spec = template.spec ?? { domain: { devices: {} } };
  const metadata = template.metadata ?? {};
  setMissingDisks(spec);
  const problem = setDefaultNetwork(spec, config);
  if (problem !== undefined) return fail({ message: problem });
  const conflicts = applyTo({ spec, metadata }, chosen);
  if (conflicts.length > 0) return fail({ message: conflictMessage(conflicts), conflicts });
  const defaulted = defaultVmiSpec(spec, config);
  if (!defaulted.ok) return fail({ message: defaulted.error });
  return ok({ ...expanded, spec: { ...expanded.spec, template: { metadata, spec: canonicalVmiSpec(defaulted.value) } } });
}
