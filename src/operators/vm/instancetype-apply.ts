// What a VM's instance type and preference make of the VMI that it starts, and of the template that a running VMI is compared with. Pure.
import type {
  ControllerRevision,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineInstanceSpec,
  VirtualMachineSpec,
} from '../../api/index.js';
import { fail, ok, type Result } from '../../base/result.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { setDefaultNetwork } from '../../core/defaults/index.js';
import { applyAutoattach, applyTo, type Chosen, conflictMessage, type Family, lookupOf, specFrom } from '../../core/instancetype/index.js';
import { keptName, REF } from './instancetype-revision.js';

const ANNOTATION = {
  VirtualMachineInstancetype: 'kubevirt.io/instancetype-name',
  VirtualMachineClusterInstancetype: 'kubevirt.io/cluster-instancetype-name',
  VirtualMachinePreference: 'kubevirt.io/preference-name',
  VirtualMachineClusterPreference: 'kubevirt.io/cluster-preference-name',
} as const;

const DEFAULT_INPUT = 'default-0';
const FAMILIES: readonly Family[] = ['instancetype', 'preference'];

function nameAnnotations(vm: VirtualMachine): Record<string, string> {
  const named = FAMILIES.flatMap((family) => {
    const object = lookupOf(vm, family)?.object;
    return object?.ok && object.value.name ? [[ANNOTATION[object.value.kind], object.value.name]] : [];
  });
  return Object.fromEntries(named) as Record<string, string>;
}

/** Bus and type are left to the preference, and then to the defaults. */
function addInput({ domain: { devices } }: VirtualMachineInstanceSpec): void {
  if (devices.autoattachInputDevice && !devices.inputs?.length)
    devices.inputs = [{ name: DEFAULT_INPUT } as NonNullable<typeof devices.inputs>[0]];
}

/** The VMI with both applied, or why they do not fit. Which devices there are is decided first: a preference speaks about them too. */
export function withChosen(
  given: VirtualMachineInstance,
  { vm, chosen, config }: { vm: VirtualMachine; chosen: Chosen; config: ClusterConfig },
): Result<VirtualMachineInstance, string> {
  const vmi = structuredClone(given);
  const { spec, metadata } = vmi;
  if (chosen.preference) applyAutoattach(chosen.preference, spec);
  addInput(spec);
  if (!chosen.instancetype && !chosen.preference) return ok(vmi);
  const problem = setDefaultNetwork(spec, config);
  if (problem !== undefined) return fail(problem);
  metadata.annotations = { ...metadata.annotations, ...nameAnnotations(vm) };
  const conflicts = applyTo({ spec, metadata }, chosen, 'spec');
  return conflicts.length > 0 ? fail(conflictMessage(conflicts)) : ok(vmi);
}

/** The spec as a start revision keeps it: with the revisions that it was started with, whatever the VM refers to later. */
export function withRevisionNames({ spec, status }: VirtualMachine): VirtualMachineSpec {
  const named = FAMILIES.flatMap((family) => {
    const matcher = spec[family];
    const revisionName = keptName(status?.[REF[family]]);
    return matcher && revisionName ? [[family, { ...matcher, revisionName }]] : [];
  });
  return { ...spec, ...Object.fromEntries(named) };
}

/**
 * The template's spec with instance type and preference applied, from kept revisions alone; undefined when one of them is not there: then
 * nothing can be said about it.
 */
export function appliedTemplate(vm: VirtualMachine, revisions: readonly ControllerRevision[]): VirtualMachineInstanceSpec | undefined {
  const found = FAMILIES.map((family) => {
    const lookup = lookupOf(vm, family);
    if (!lookup) return ok(undefined);
    const revision = revisions.find((r) => r.metadata.name === lookup.revision?.name);
    return revision ? specFrom({ ...lookup, family }, { revision }) : fail('not kept');
  });
  const [instancetype, preference] = found;
  if (!instancetype?.ok || !preference?.ok) return undefined;
  const { spec = { domain: { devices: {} } }, metadata = {} } = structuredClone(vm.spec.template);
  const chosen = { instancetype: instancetype.value, preference: preference.value } as Chosen;
  return applyTo({ spec, metadata }, chosen).length > 0 ? undefined : spec;
}

/**
 * The template's spec as it was when the guest was started and as it is now, both with what their instance types and preferences say;
 * undefined when a revision is missing.
 */
export function comparedTemplates(
  vm: VirtualMachine,
  at: VirtualMachineSpec,
  revisions: readonly ControllerRevision[],
): { started: VirtualMachineInstanceSpec | undefined; current: VirtualMachineInstanceSpec | undefined } | undefined {
  const refers = ({ instancetype, preference }: VirtualMachineSpec): boolean => Boolean(instancetype ?? preference);
  if (!refers(at) && !refers(vm.spec)) return { started: at.template.spec, current: vm.spec.template.spec };
  const { status: _, ...identity } = vm;
  const started = appliedTemplate({ ...identity, spec: at }, revisions);
  const current = appliedTemplate(vm, revisions);
  return started && current && { started, current };
}
