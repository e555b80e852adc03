// Admission of VirtualMachineSnapshots: of a VirtualMachine, where snapshots are enabled, and unchanged once made. Pure.
import type { VirtualMachineSnapshot } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { unchangedSpec } from '../reference.js';
import { vmReference } from './vm-reference.js';

export function admitSnapshotCreate({ spec }: VirtualMachineSnapshot, config: ClusterConfig): Verdict {
  if (!config.isEnabled('Snapshot')) return refuse(gateOff('Snapshot', 'a snapshot'));
  return verdictOf(vmReference(spec?.source, 'spec.source'));
}

export const admitSnapshotUpdate = (next: VirtualMachineSnapshot, old: VirtualMachineSnapshot): Verdict =>
  verdictOf(unchangedSpec(next, old));
