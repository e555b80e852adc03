// Which policy rules a migration, and what it overrides.
import { describe, expect, it } from 'vitest';
import { clusterConfigOf } from '../config/cluster-config.js';
import { clusterMigrationConfiguration, type MigrationPolicy, type MigrationPolicySpec, matchingPolicy, withPolicy } from './policy.js';

type Selectors = NonNullable<MigrationPolicySpec['selectors']>;
const policy = (name: string, selectors?: Selectors, spec: MigrationPolicySpec = {}): MigrationPolicy => ({
  metadata: { name },
  spec: { ...spec, ...(selectors ? { selectors } : {}) },
});
const ofVmi = (labels: Record<string, string>): Selectors => ({ virtualMachineInstanceSelector: labels });
const ofNamespace = (labels: Record<string, string>): Selectors => ({ namespaceSelector: labels });

describe('matchingPolicy', () => {
  const vmi = { metadata: { name: 'vm', labels: { a: '1', b: '2' } } };
  const namespace = { metadata: { name: 'ns', labels: { x: '1', y: '2' } } };
  it.each<[string, MigrationPolicy[], string | undefined]>([
    ['no policy', [], undefined],
    ['another value', [policy('p', ofVmi({ a: '2' }))], undefined],
    ['one of two selectors fails', [policy('p', { ...ofVmi({ a: '1' }), ...ofNamespace({ x: '2' }) })], undefined],
    ['no selectors', [policy('p')], undefined],
    ['empty selectors', [policy('p', ofVmi({}))], 'p'],
    ['most labels', [policy('one', ofVmi({ a: '1' })), policy('two', ofNamespace({ x: '1', y: '2' }))], 'two'],
    ['labels of the VMI', [policy('a', ofNamespace({ x: '1' })), policy('b', ofVmi({ a: '1' }))], 'b'],
    ['first by name', [policy('z', ofVmi({ a: '1' })), policy('m', ofVmi({ b: '2' }))], 'm'],
  ])('%s', (_title, policies, expected) => {
    expect(matchingPolicy(policies, vmi, namespace)?.metadata.name).toBe(expected);
  });

  it('takes a namespace that is not known as one without labels', () => {
    expect(matchingPolicy([policy('p', ofNamespace({ x: '1' }))], vmi, undefined)).toBeUndefined();
  });
});

describe('withPolicy', () => {
  const cluster = clusterMigrationConfiguration(clusterConfigOf({}));
  it.each<[string, MigrationPolicySpec, object]>([
    ['nothing', {}, { allowPostCopy: false, allowWorkloadDisruption: false, bandwidthPerMigration: '0' }],
    ['post-copy implies disruption', { allowPostCopy: true }, { allowPostCopy: true, allowWorkloadDisruption: true }],
    ['unless said apart', { allowPostCopy: true, allowWorkloadDisruption: false }, { allowPostCopy: true, allowWorkloadDisruption: false }],
    ['zero counts', { completionTimeoutPerGiB: 0 }, { completionTimeoutPerGiB: 0 }],
    ['experiments', { experimental: { compression: 'zstd' } }, { experimental: { compression: 'zstd' } }],
  ])('%s', (_title, spec, expected) => {
    expect(withPolicy(cluster, policy('p', {}, spec))).toMatchObject(expected);
  });

  it('overrides experiments field by field', () => {
    const before = { ...cluster, experimental: { compression: 'none', downtimeTuning: { initialMs: 5, steps: 3 } } };
    const spec = { experimental: { downtimeTuning: { steps: 7 }, stallDetector: { switchoverTimeout: 9 } } };
    expect(withPolicy(before, policy('p', {}, spec)).experimental).toEqual({
      compression: 'none',
      downtimeTuning: { initialMs: 5, steps: 7 },
      stallDetector: { switchoverTimeout: 9 },
    });
  });

  it('is the cluster configuration without a policy', () => {
    const config = clusterConfigOf({ migrations: { allowPostCopy: true, disableTLS: true } });
    expect(withPolicy(clusterMigrationConfiguration(config), undefined)).toMatchObject({
      allowPostCopy: true,
      allowWorkloadDisruption: true,
      disableTLS: true,
    });
  });
});
