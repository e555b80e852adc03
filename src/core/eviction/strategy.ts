// What becomes of a VMI whose launcher pod shall leave its node: its eviction strategy and whether that means a live migration. Called by
// the eviction webhook, the evacuation controller and the oracle. Pure.
import { isConditionTrue, type VirtualMachineInstance } from '../../api/index.js';
import type { ClusterConfig } from '../config/cluster-config.js';

/** The VMI's own strategy, else the cluster's. */
export const evictionStrategyOf = (vmi: VirtualMachineInstance, config: ClusterConfig): string =>
  vmi.spec.evictionStrategy ?? config.spec.evictionStrategy ?? 'None';

export const isMigratable = (vmi: VirtualMachineInstance): boolean => isConditionTrue(vmi.status?.conditions, 'LiveMigratable');

/** True where an eviction asks for a migration; LiveMigrate does so even for a VMI that cannot, so that the eviction stays blocked. */
export function migratesOnEviction(vmi: VirtualMachineInstance, config: ClusterConfig): boolean {
  const strategy = evictionStrategyOf(vmi, config);
  return strategy === 'LiveMigrate' || (strategy === 'LiveMigrateIfPossible' && isMigratable(vmi));
}

export function isMigrating(vmi: VirtualMachineInstance): boolean {
  const state = vmi.status?.migrationState;
  return state?.startTimestamp !== undefined && state.endTimestamp === undefined;
}
