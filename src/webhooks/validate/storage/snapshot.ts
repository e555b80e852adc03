// Admission of VirtualMachineSnapshots: of a VirtualMachine, where snapshots are enabled, and unchanged once made. Pure.
import type { KubeObject } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { type ObjectReference, unchangedSpec } from '../reference.js';
import { vmReference } from './vm-reference.js';

export interface VirtualMachineSnapshot extends KubeObject {
  readonly spec: { readonly source: ObjectReference; readonly deletionPolicy?: string; readonly failureDeadline?: string };
  readonly status?: { readonly sourceUID?: string; readonly virtualMachineSnapshotContentName?: string };
}

export function admitSnapshotCreate({ spec }: VirtualMachineSnapshot, config: ClusterConfig): Verdict {
  if (!config.isEnabled('Snapshot')) return refuse(gateOff('Snapshot', 'a snapshot'));
  return verdictOf(vmReference(spec?.source, 'spec.source'));
}

export const admitSnapshotUpdate = (next: VirtualMachineSnapshot, old: VirtualMachineSnapshot): Verdict =>
  verdictOf(unchangedSpec(next, old));
