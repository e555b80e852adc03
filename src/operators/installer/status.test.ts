// The conditions of each situation, and that nothing moves when nothing is new.
import { describe, expect, it } from 'vitest';
import type { KubeVirtStatus } from '../../api/index.js';
import { nextStatus, type Situation, type StatusInput } from './status.js';

const target = { version: 'v2', registry: 'r', id: 'id2', config: '{}' };
const NOW = '2026-01-02T00:00:00Z';

const next = (situation: Situation, old: KubeVirtStatus = {}, more: Partial<StatusInput> = {}): KubeVirtStatus =>
  nextStatus({ old, situation, target, operatorVersion: 'v2', defaultArchitecture: 'amd64', now: NOW, ...more });
const said = ({ conditions }: KubeVirtStatus): string[] =>
  (conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`);

const ready = next({ kind: 'ready', generation: 3 });
const olderVersion: KubeVirtStatus = {
  ...ready,
  observedDeploymentID: 'id1',
  observedKubeVirtVersion: 'v1',
  observedKubeVirtRegistry: 'r0',
};

describe('nextStatus', () => {
  it.each<[string, Situation, KubeVirtStatus, string | undefined, string[]]>([
    [
      'first install',
      { kind: 'deploying', gap: '', created: false },
      {},
      'Deploying',
      ['Available False DeploymentInProgress', 'Progressing True DeploymentInProgress', 'Degraded False DeploymentInProgress'],
    ],
    [
      'everything created, not ready',
      { kind: 'deploying', gap: 'x', created: true },
      {},
      'Deploying',
      [
        'Created True AllResourcesCreated',
        'Available False DeploymentInProgress',
        'Progressing True DeploymentInProgress',
        'Degraded False DeploymentInProgress',
      ],
    ],
    [
      'update',
      { kind: 'deploying', gap: '', created: false },
      olderVersion,
      'Deployed',
      ['Available True UpdateInProgress', 'Progressing True UpdateInProgress', 'Degraded True UpdateInProgress'],
    ],
    [
      'ready',
      { kind: 'ready', generation: 3 },
      {},
      'Deployed',
      [
        'Created True AllResourcesCreated',
        'Available True AllComponentsReady',
        'Progressing False AllComponentsReady',
        'Degraded False AllComponentsReady',
      ],
    ],
    [
      'failed',
      { kind: 'failed', message: 'm' },
      {},
      'Deploying',
      [
        'Available False DeploymentFailed',
        'Progressing False DeploymentFailed',
        'Degraded True DeploymentFailed',
        'Synchronized False DeploymentFailed',
      ],
    ],
    [
      'deleting',
      { kind: 'deleting', gap: '' },
      ready,
      'Deleting',
      ['Available False DeletionInProgress', 'Progressing False DeletionInProgress', 'Degraded True DeletionInProgress'],
    ],
    ['duplicate', { kind: 'duplicate' }, {}, undefined, ['Synchronized False ExistingDeployment']],
    ['deleted', { kind: 'deleted' }, {}, 'Deleted', []],
    ['deletion failed', { kind: 'deletion-failed', message: 'm' }, {}, 'Deleting', ['Synchronized False DeletionFailed']],
  ])('%s', (_title, situation, old, phase, expected) => {
    const status = next(situation, old);
    expect([status.phase, said(status)]).toEqual([phase, expected]);
  });

  it('observes a target only when it is ready', () => {
    expect(ready).toMatchObject({ observedDeploymentID: 'id2', observedKubeVirtVersion: 'v2', observedGeneration: 3 });
    expect(next({ kind: 'deploying', gap: '', created: true }).observedDeploymentID).toBeUndefined();
  });

  it('is equal when nothing is new, whatever the time', () => {
    expect(next({ kind: 'ready', generation: 3 }, ready, { now: '2027-01-01T00:00:00Z' })).toEqual(ready);
  });

  it('moves both times when only the message changes', () => {
    const first = next({ kind: 'deploying', gap: 'waiting for a', created: false });
    const later = '2026-01-03T00:00:00Z';
    const second = next({ kind: 'deploying', gap: 'waiting for b', created: false }, first, { now: later });
    expect(second.conditions?.[1]).toMatchObject({ lastProbeTime: later, lastTransitionTime: later });
    expect(second.conditions?.[1]?.message).toBe('Deploying version v2 with registry r: waiting for b');
  });

  it('forgets a failure when it goes on', () => {
    const failed = next({ kind: 'failed', message: 'm' });
    expect(said(next({ kind: 'ready', generation: 1 }, failed))).not.toContain('Synchronized False DeploymentFailed');
  });
});
