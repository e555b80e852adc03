// The table of eviction strategies.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../api/index.js';
import { clusterConfigOf } from '../config/cluster-config.js';
import { evictionStrategyOf, isMigrating, migratesOnEviction } from './strategy.js';

const vmi = (evictionStrategy?: string, status: object = {}): VirtualMachineInstance =>
  ({ metadata: { name: 'vm' }, spec: evictionStrategy ? { evictionStrategy } : {}, status }) as unknown as VirtualMachineInstance;
const migratable = { conditions: [{ type: 'LiveMigratable', status: 'True' }] };

describe('eviction strategy', () => {
  it.each<[string, VirtualMachineInstance, string | undefined, string, boolean]>([
    ['unset', vmi(undefined, migratable), undefined, 'None', false],
    ['from the cluster', vmi(), 'LiveMigrate', 'LiveMigrate', true],
    ['own over the cluster', vmi('None', migratable), 'LiveMigrate', 'None', false],
    ['LiveMigrate though it cannot', vmi('LiveMigrate'), undefined, 'LiveMigrate', true],
    ['LiveMigrateIfPossible and it can', vmi('LiveMigrateIfPossible', migratable), undefined, 'LiveMigrateIfPossible', true],
    ['LiveMigrateIfPossible and it cannot', vmi('LiveMigrateIfPossible'), undefined, 'LiveMigrateIfPossible', false],
    ['External', vmi('External', migratable), undefined, 'External', false],
  ])('%s', (_title, instance, cluster, strategy, migrates) => {
    const config = clusterConfigOf(cluster === undefined ? {} : { evictionStrategy: cluster });
    expect([evictionStrategyOf(instance, config), migratesOnEviction(instance, config)]).toEqual([strategy, migrates]);
  });

  it.each([
    ['never', {}, false],
    ['now', { migrationState: { startTimestamp: 't' } }, true],
    ['before', { migrationState: { startTimestamp: 't', endTimestamp: 'u' } }, false],
  ])('migrating: %s', (_title, status, expected) => {
    expect(isMigrating(vmi(undefined, status))).toBe(expected);
  });
});
