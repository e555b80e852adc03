// Admission of VirtualMachineBackups and their trackers: only where incremental backup is enabled, and one backup of a source at a time.
// Everything else about them is said by their schemas. Pure: the caller has read the namespace's backups.
import { isConditionTrue, type VirtualMachineBackup } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { allow, refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { sameReference } from '../reference.js';
import { type Cause, invalid } from '../rule.js';

const GATE_OFF = gateOff('IncrementalBackup', 'a backup of a VM');

function isOver({ status }: VirtualMachineBackup): boolean {
  const conditions = status?.conditions ?? [];
  return isConditionTrue(conditions, 'Complete') || isConditionTrue(conditions, 'Failed');
}

function faultWith(backup: VirtualMachineBackup, other: VirtualMachineBackup): Cause | undefined {
  const { name } = other.metadata;
  if (name === backup.metadata.name) return invalid('metadata.name', `VirtualMachineBackup "${name}" already exists: choose another name`);
  if (!sameReference(other.spec?.source, backup.spec?.source) || isOver(other)) return undefined;
  return invalid('spec.source', `VirtualMachineBackup "${name}" in progress for source: wait until it is complete, or delete it`);
}

export function admitBackupCreate(backup: VirtualMachineBackup, others: readonly VirtualMachineBackup[], config: ClusterConfig): Verdict {
  if (!config.isEnabled('IncrementalBackup')) return refuse(GATE_OFF);
  const fault = others.map((other) => faultWith(backup, other)).find((cause) => cause !== undefined);
  return verdictOf(fault ? [fault] : []);
}

export const admitBackupTrackerCreate = (config: ClusterConfig): Verdict =>
  config.isEnabled('IncrementalBackup') ? allow() : refuse(GATE_OFF);
