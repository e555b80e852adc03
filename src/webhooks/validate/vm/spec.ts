// The spec of a VirtualMachine: its template as a VMI spec, run strategy, DataVolume templates, hot-plug ceilings. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachineSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { isLiveUpdate } from '../../../core/config/cluster-lookups.js';
import { memoryHotplugProblem } from '../../../core/defaults/index.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid, type Rule, required } from '../rule.js';
import { graceAnnotations } from '../vmi/grace.js';
import { metadataCauses } from '../vmi/metadata.js';
import { vmiSpecCauses } from '../vmi/rules.js';
import { dataVolumeTemplates } from './data-volume-templates.js';

const RUN_STRATEGIES = ['Halted', 'Manual', 'Always', 'RerunOnFailure', 'Once'];

const runStrategy: Rule<VirtualMachineSpec> = function* (spec, at, config) {
  const { running, runStrategy: strategy } = spec;
  const path = field(at, 'runStrategy');
  if (running !== undefined && strategy !== undefined) {
    yield invalid(field(at, 'running'), 'running and runStrategy exclude each other: keep runStrategy, as running is deprecated');
  }
  if (running === undefined && strategy === undefined)
    yield invalid(field(at, 'running'), `RunStrategy must be specified: set runStrategy to one of ${RUN_STRATEGIES.join(', ')}`);
  if (strategy === undefined || RUN_STRATEGIES.includes(strategy)) return;
  if (strategy !== 'WaitAsReceiver') yield invalid(path, `Invalid RunStrategy (${strategy}): use one of ${RUN_STRATEGIES.join(', ')}`);
  else if (!config.isEnabled('DecentralizedLiveMigration')) {
    yield invalid(path, gateOff('DecentralizedLiveMigration', `runStrategy ${strategy}`));
  }
};

const liveUpdate: Rule<VirtualMachineSpec> = function* (spec, at, config) {
  const vmi = spec.template.spec;
  if (!vmi || !isLiveUpdate(config)) return;
  const { cpu, memory } = vmi.domain;
  const { sockets = 0, maxSockets = 0 } = cpu ?? {};
  if (sockets !== 0 && maxSockets !== 0 && sockets > maxSockets) {
    const path = field(at, 'template', 'spec', 'domain', 'cpu', 'sockets');
    yield invalid(path, `${sockets} sockets are more than maxSockets ${maxSockets}: lower the first or raise the second`);
  }
  if (memory?.maxGuest === undefined) return;
  const problem = memoryHotplugProblem(vmi, memory.maxGuest);
  if (problem) yield invalid(field(at, 'template', 'spec', 'domain', 'memory', 'guest'), `${problem}: change it, or leave maxGuest out`);
};

export function* vmSpecCauses(spec: VirtualMachineSpec, at: FieldPath, config: ClusterConfig, isOwnAccount: boolean): Causes {
  const vmi = spec.template?.spec;
  if (!vmi) {
    yield required(field(at, 'template'), 'missing virtual machine template: describe the guest under template.spec');
    return;
  }
  const metadata = field(at, 'template', 'metadata');
  yield* metadataCauses(spec.template.metadata, metadata, config, isOwnAccount);
  yield* graceAnnotations(vmi, spec.template.metadata?.annotations, metadata, config);
  yield* vmiSpecCauses(vmi, field(at, 'template', 'spec'), config);
  yield* dataVolumeTemplates(spec, at, config);
  yield* runStrategy(spec, at, config);
  yield* liveUpdate(spec, at, config);
}
