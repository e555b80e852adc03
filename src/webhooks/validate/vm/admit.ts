// Admission of a VirtualMachine on create, update and status update. Pure: the caller has read the VM's VMI if there is one. Stages stop
// at the first that refuses, as the later ones rely on the earlier. The template is judged with its instance type and preference applied.
import { isDeepStrictEqual } from 'node:util';
import { isDeleting, type VirtualMachine, type VirtualMachineInstance } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { defaultVmiSpec } from '../../../core/defaults/index.js';
import type { Chosen } from '../../../core/instancetype/index.js';
import { allow, refuse, type Verdict, verdictOf } from '../../verdict.js';
import type { Causes } from '../rule.js';
import { discontinuedBindings, withdrawnGates } from '../vmi/rules.js';
import { templateNamespaces } from './data-volume-templates.js';
import { inProgressCauses } from './in-progress.js';
import { unmetRequirements, withChosen } from './instancetype.js';
import { vmSpecCauses } from './spec.js';
import { volumeRequestCauses } from './volume-requests.js';

export interface VmRequest {
  readonly vm: VirtualMachine;
  /** On updates. */
  readonly old?: VirtualMachine;
  readonly vmi?: VirtualMachineInstance;
  /** The instance type and preference that it names, as far as they were found. */
  readonly chosen?: Chosen;
  readonly namespace: string;
  readonly isOwnAccount: boolean;
}

const RUNNING_DEPRECATED = 'spec.running is deprecated, please use spec.runStrategy instead: Always for true, Halted for false';

/** The first stage that has causes. */
function firstRefusal(stages: readonly (() => Causes)[]): Verdict | undefined {
  for (const stage of stages) {
    const verdict = verdictOf(stage());
    if (!verdict.allowed) return verdict;
  }
  return undefined;
}

function defaulted(vm: VirtualMachine, config: ClusterConfig): { vm: VirtualMachine } | { problem: string } {
  const spec = vm.spec.template?.spec;
  if (!spec) return { vm };
  const result = defaultVmiSpec(spec, config);
  if (!result.ok) return { problem: result.error };
  return { vm: { ...vm, spec: { ...vm.spec, template: { ...vm.spec.template, spec: result.value } } } };
}

export function admitVm(request: VmRequest, config: ClusterConfig): Verdict {
  const { vm, old, vmi, chosen = {}, namespace, isOwnAccount } = request;
  if (isDeleting(vm)) return allow();
  const applied = withChosen(vm, chosen);
  if ('causes' in applied) return verdictOf(applied.causes);
  const full = defaulted(applied.vm, config);
  if ('problem' in full) return refuse(full.problem);
  const { spec } = full.vm;
  const template = spec.template?.spec;
  const templatesChanged = !old || !isDeepStrictEqual(old.spec.dataVolumeTemplates, vm.spec.dataVolumeTemplates);
  const refusal = firstRefusal([
    () => unmetRequirements(template, chosen),
    () => (!old && vm.spec.template?.spec ? withdrawnGates(vm.spec.template.spec, config) : []),
    () => (!old && template ? discontinuedBindings(template, 'spec', config) : []),
    () => vmSpecCauses(spec, 'spec', config, isOwnAccount),
    () => (templatesChanged ? templateNamespaces(vm.spec, vm.metadata.namespace ?? namespace) : []),
    () => inProgressCauses(vm, old),
    () => volumeRequestCauses(vm, vmi, config),
  ]);
  return refusal ?? allow(vm.spec.running === undefined ? [] : [RUNNING_DEPRECATED]);
}

export function admitVmStatus(request: VmRequest, config: ClusterConfig): Verdict {
  const { vm, old, vmi } = request;
  const refusal = firstRefusal([() => volumeRequestCauses(vm, vmi, config), () => inProgressCauses(vm, old)]);
  return refusal ?? allow();
}
