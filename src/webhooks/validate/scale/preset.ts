// Admission of VirtualMachineInstancePresets: what they fill into VMIs must be sound by itself. Pure.
import { field } from '../../../api/field-path.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import type { VirtualMachineInstancePreset } from '../../mutate/preset.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type Causes, required } from '../rule.js';
import { diskCauses } from '../vmi/disks.js';
import { firmware } from '../vmi/machine.js';

function* causes({ spec }: VirtualMachineInstancePreset, config: ClusterConfig): Causes {
  const { domain } = spec;
  if (!domain) {
    yield required('spec.domain', 'missing domain: a preset without one would change no VMI');
    return;
  }
  yield* diskCauses(domain.devices?.disks ?? [], field('spec', 'domain', 'devices', 'disks'));
  yield* firmware({ domain }, 'spec', config);
}

export const admitPreset = (preset: VirtualMachineInstancePreset, config: ClusterConfig): Verdict => verdictOf(causes(preset, config));
