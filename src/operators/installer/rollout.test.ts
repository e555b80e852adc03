// Rolled out or not, in which words; which nodes count; which order a rollout takes.
import { describe, expect, it } from 'vitest';
import type { DaemonSet, Deployment, KubeVirt, Node, Pod } from '../../api/index.js';
import { changesShape, clusterShape } from './cluster-shape.js';
import { troubleOf } from './pod-trouble.js';
import { rolloutGap } from './rollout.js';
import { activeKubeVirt, isNewer, rolloutOrder } from './target.js';

const deployment = (status: Deployment['status'], generation = 2): Deployment => ({
  kind: 'Deployment',
  metadata: { name: 'd', generation },
  spec: { replicas: 2, selector: {}, template: {} },
  ...(status ? { status } : {}),
});
const daemonSet = (status: Partial<NonNullable<DaemonSet['status']>>): DaemonSet =>
  ({ kind: 'DaemonSet', metadata: { name: 'd', generation: 2 }, status: { observedGeneration: 2, ...status } }) as DaemonSet;

describe('rolloutGap', () => {
  const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
  const refused = { type: 'ReplicaFailure', status: 'True', message: 'quota exceeded' };
  it.each<[string, Deployment | DaemonSet | undefined, string | undefined]>([
    ['nothing yet', undefined, 'd does not exist yet'],
    ['done', deployment(done), undefined],
    ['not looked at', deployment({ ...done, observedGeneration: 1 }), 'd was changed and is not looked at yet'],
    ['one missing', deployment({ ...done, availableReplicas: 1 }), '1 of 2 pods of deployment d are ready'],
    ['old pods left', deployment({ ...done, replicas: 3 }), '2 of 2 pods of deployment d are ready'],
    ['refused', deployment({ observedGeneration: 2, conditions: [refused] }), '0 of 2 pods of deployment d are ready (quota exceeded)'],
    ['agents done', daemonSet({ desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 }), undefined],
    ['agents missing', daemonSet({ desiredNumberScheduled: 3, updatedNumberScheduled: 3 }), '0 of 3 pods of daemonset d are ready'],
  ])('%s', (_title, workload, expected) => {
    expect(rolloutGap(workload, 'd', [])).toBe(expected);
  });

  it.each<[string, object, string | undefined]>([
    ['starting', { containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ContainerCreating' } } }] }, undefined],
    ['running, not ready', { containerStatuses: [{ name: 'c', state: { running: {} } }] }, undefined],
    ['init done', { initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 0 } } }] }, undefined],
    [
      'no node',
      { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes are available' }] },
      '0/2 nodes are available',
    ],
    [
      'no image',
      { containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x"' } } }] },
      'container c: ImagePullBackOff: Back-off pulling image "x"',
    ],
    [
      'crashing',
      {
        initContainerStatuses: [
          {
            name: 'i',
            state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting' } },
            lastState: { terminated: { exitCode: 1, message: '{"level":"fatal"}\ncannot connect to libvirt\n' } },
          },
        ],
      },
      'container i: CrashLoopBackOff: cannot connect to libvirt',
    ],
    [
      'ended',
      { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 2, message: 'unknown flag' } } }] },
      'container c: ended with code 2: unknown flag',
    ],
  ])('says what the pods suffer from: %s', (_title, status, expected) => {
    const pod = { metadata: { name: 'p', namespace: 'ns' }, status } as Pod;
    expect(troubleOf([pod])).toBe(expected && `pod p: ${expected}`);
    const gap = '1 of 2 pods of deployment d are ready';
    expect(rolloutGap(deployment({ ...done, availableReplicas: 1 }), 'd', [pod])).toBe(expected ? `${gap} (pod p: ${expected})` : gap);
    expect(rolloutGap(deployment(done), 'd', [pod])).toBeUndefined();
  });
});

describe('cluster shape', () => {
  const node = (architecture: string, labels: Record<string, string> = {}, unschedulable = false): Node =>
    ({ metadata: { name: 'n', labels }, spec: { unschedulable }, status: { nodeInfo: { architecture } } }) as unknown as Node;

  it('counts nodes that take pods and prefers the control plane for the architecture', () => {
    const control = { 'node-role.kubernetes.io/control-plane': '' };
    expect(clusterShape([node('arm64', control), node('amd64'), node('amd64', {}, true)])).toEqual({
      schedulableNodes: 2,
      defaultArchitecture: 'arm64',
    });
    expect(clusterShape([])).toEqual({ schedulableNodes: 0, defaultArchitecture: undefined });
  });

  it('ignores what nodes report all day', () => {
    expect(changesShape(node('amd64', { a: '1' }), node('amd64'))).toBe(false);
    expect(changesShape(node('amd64', {}, true), node('amd64'))).toBe(true);
    expect(changesShape(node('amd64'), undefined)).toBe(true);
  });
});

describe('target', () => {
  it.each([
    ['v1.10.0', 'v1.9.3', true],
    ['v1.9.3', 'v1.10.0', false],
    ['v1.0.0', 'v1.0.0', false],
    ['v1.0.1-rc2', 'v1.0.1-rc1', true],
  ])('%s newer than %s: %s', (version, than, expected) => {
    expect(isNewer(version, than)).toBe(expected);
  });

  it('chooses the order by what is installed', () => {
    const target = { version: 'v2', registry: '', id: 'new', config: '' };
    expect(rolloutOrder({}, target)).toBe('fresh');
    expect(rolloutOrder({ observedDeploymentID: 'new', observedKubeVirtVersion: 'v2' }, target)).toBe('steady');
    expect(rolloutOrder({ observedDeploymentID: 'old', observedKubeVirtVersion: 'v1' }, target)).toBe('update');
    expect(rolloutOrder({ observedDeploymentID: 'old', observedKubeVirtVersion: 'v3' }, target)).toBe('fresh');
  });

  it('takes the oldest CR of the own namespace', () => {
    const kv = (name: string, namespace: string, creationTimestamp: string): KubeVirt => ({
      metadata: { name, namespace, creationTimestamp, uid: name },
      spec: {},
    });
    const all = [kv('b', 'own', '2026-01-02T00:00:00Z'), kv('a', 'own', '2026-01-01T00:00:00Z'), kv('z', 'other', '2025-01-01T00:00:00Z')];
    expect(activeKubeVirt(all, 'own')?.metadata.name).toBe('a');
    expect(activeKubeVirt(all, 'empty')).toBeUndefined();
  });
});
