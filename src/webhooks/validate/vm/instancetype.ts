// What a VM's instance type and preference make of its template before it is checked, and whether the result gives the guest what the
// preference requires. Pure; what could not be found counts as not chosen, as the VM controller reports that on the VM.
import type { VirtualMachine, VirtualMachineInstanceSpec } from '../../../api/index.js';
import {
  applyTo,
  type Chosen,
  conflictMessage,
  requirementShortfall,
  spreadProblem,
  TEMPLATE_ROOT,
} from '../../../core/instancetype/index.js';
import type { Cause, Causes } from '../rule.js';

type Applied = { readonly vm: VirtualMachine } | { readonly causes: readonly Cause[] };

const invalid = (field: string, message: string): Cause => ({ type: 'FieldValueInvalid', field, message });

/** A copy of the VM with both applied, or every conflict. */
export function withChosen(vm: VirtualMachine, chosen: Chosen): Applied {
  const { spec, metadata = {} } = vm.spec.template ?? {};
  if (!spec || (!chosen.instancetype && !chosen.preference)) return { vm };
  const uneven = spreadProblem(chosen.instancetype, chosen.preference);
  if (uneven) return { causes: [invalid('instancetype.spec.cpu.guest', uneven)] };
  const template = structuredClone({ spec, metadata });
  const conflicts = applyTo(template, chosen, TEMPLATE_ROOT);
  if (conflicts.length > 0) return { causes: conflicts.map((field) => invalid(field, conflictMessage([field]))) };
  return { vm: { ...vm, spec: { ...vm.spec, template } } };
}

/** `spec` is the template's with its defaults. */
export function* unmetRequirements(spec: VirtualMachineInstanceSpec | undefined, { instancetype, preference }: Chosen): Causes {
  if (!preference || !spec) return;
  const shortfall = requirementShortfall({ instancetype, preference, spec });
  if (!shortfall) return;
  const message = `failure checking preference requirements: ${shortfall.message}`;
  yield { type: 'FieldValueNotFound', field: shortfall.fields.join(', '), message };
}
