// How a VM refers to its instance type and preference, checked before anything is filled in; and what a preference says that must be fixed
// when the VM is written: architecture, machine type, storage class. Pure: the caller has read the preference.
import { type FieldPath, field } from '../../api/field-path.js';
import type { InstancetypeMatcher, VirtualMachine, VirtualMachinePreferenceSpec } from '../../api/index.js';
import type { Family } from '../../core/instancetype/index.js';
import { type Cause, type Causes, invalid, notFound, notSupported } from '../validate/rule.js';

const FAMILIES: readonly Family[] = ['instancetype', 'preference'];
const FAILURE_POLICIES = ['Ignore', 'Reject'];

function* changed(next: InstancetypeMatcher, at: FieldPath, old: InstancetypeMatcher | undefined): Causes {
  if (!old || !next.revisionName || next.revisionName !== old.revisionName || next.name === old.name) return;
  const what = 'the Matcher Name has been updated without updating the RevisionName';
  yield invalid(field(at, 'revisionName'), `${what}: remove revisionName, so that a new revision is kept`);
}

function* sound(matcher: InstancetypeMatcher, at: FieldPath): Causes {
  const { name, kind, inferFromVolume, inferFromVolumeFailurePolicy: policy } = matcher;
  if (!name && !inferFromVolume) yield notFound(at, `either name or inferFromVolume must be given in ${at}`);
  for (const [key, value] of Object.entries({ name, kind })) {
    if (inferFromVolume && value) yield notSupported(field(at, key), `${key} and inferFromVolume exclude each other: remove one of them`);
  }
  if (policy !== undefined && !FAILURE_POLICIES.includes(policy)) {
    yield invalid(field(at, 'inferFromVolumeFailurePolicy'), `there is no policy '${policy}': use one of ${FAILURE_POLICIES.join(', ')}`);
  }
}

type MatcherRule = (matcher: InstancetypeMatcher, at: FieldPath, old: InstancetypeMatcher | undefined) => Causes;
const RULES: readonly MatcherRule[] = [changed, sound];

/** The causes of the first check that has any; changes are looked at before the references themselves. */
export function matcherCauses(vm: VirtualMachine, old: VirtualMachine | undefined): readonly Cause[] {
  const checks = RULES.flatMap((rule) => FAMILIES.map((family) => ({ rule, family })));
  for (const { rule, family } of checks) {
    const matcher = vm.spec[family];
    const causes = matcher ? [...rule(matcher, field('spec', family), old?.spec[family])] : [];
    if (causes.length > 0) return causes;
  }
  return [];
}

/** Fills in place. */
export function fixPreferred(vm: VirtualMachine, preference: VirtualMachinePreferenceSpec | undefined): void {
  const spec = vm.spec.template?.spec;
  if (!preference || !spec) return;
  const { preferredArchitecture, machine, volumes } = preference;
  if (preferredArchitecture) spec.architecture ||= preferredArchitecture;
  if (machine?.preferredMachineType && !spec.domain.machine?.type) {
    spec.domain.machine = { ...spec.domain.machine, type: machine.preferredMachineType };
  }
  if (volumes?.preferredStorageClassName) fixStorageClass(vm, volumes.preferredStorageClassName);
}

function fixStorageClass(vm: VirtualMachine, storageClass: string): void {
  for (const { spec: volume } of vm.spec.dataVolumeTemplates ?? []) {
    for (const claim of [volume.pvc, volume.storage]) {
      if (claim && claim.storageClassName === undefined) claim.storageClassName = storageClass;
    }
  }
}
