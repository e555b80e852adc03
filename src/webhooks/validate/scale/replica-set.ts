// Admission of VirtualMachineInstanceReplicaSets: a sound VMI template and a selector that matches it. Pure.
import { field } from '../../../api/field-path.js';
import type { VirtualMachineInstanceReplicaSet } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type Causes, required } from '../rule.js';
import { graceAnnotations } from '../vmi/grace.js';
import { vmiSpecCauses, withdrawnGates } from '../vmi/rules.js';
import { ownSelector } from './selector.js';

function* causes({ spec }: VirtualMachineInstanceReplicaSet, creating: boolean, config: ClusterConfig): Causes {
  const { selector, template } = spec;
  if (!template?.spec) {
    yield required('spec.template', 'missing virtual machine template: give spec.template the spec of the VMIs to run');
    return;
  }
  yield* graceAnnotations(template.spec, template.metadata?.annotations, field('spec', 'template', 'metadata'), config);
  yield* vmiSpecCauses(template.spec, field('spec', 'template', 'spec'), config);
  yield* ownSelector(selector, template.metadata, 'spec');
  if (creating) yield* withdrawnGates(template.spec, config);
}

export const admitReplicaSet = (set: VirtualMachineInstanceReplicaSet, creating: boolean, config: ClusterConfig): Verdict =>
  verdictOf(causes(set, creating, config));
