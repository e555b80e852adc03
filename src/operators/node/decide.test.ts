import { describe, expect, it } from 'vitest';
import type { Node, Pod, VirtualMachineInstance } from '../../api/index.js';
import { decideNode, RECHECK_MS } from './decide.js';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);
const node = (beatAgoMs: number | undefined, schedulable = 'true'): Node =>
  ({
    metadata: {
      name: 'n1',
      labels: { 'kubevirt.io/schedulable': schedulable },
      ...(beatAgoMs === undefined ? {} : { annotations: { 'kubevirt.io/heartbeat': new Date(NOW - beatAgoMs).toISOString() } }),
    },
  }) as Node;
const vmi = (phase: string): VirtualMachineInstance =>
  ({ metadata: { name: 'v', uid: 'u' }, spec: { domain: { devices: {} } }, status: { phase } }) as VirtualMachineInstance;
const pod = (phase: string): Pod => ({ metadata: { name: 'p' }, status: { phase } }) as Pod;

describe('decideNode', () => {
  it.each([
    ['a node with a fresh heartbeat is left alone', node(60_000), [vmi('Running')], [pod('Running')], false, 0],
    ['silence of more than five minutes takes it out of scheduling', node(301_000), [vmi('Running')], [pod('Running')], true, 0],
    ['a marked node is not marked again', node(301_000, 'false'), [], [], false, 0],
    ['guests without a live pod are lost', node(301_000), [vmi('Running')], [pod('Failed')], true, 1],
    ['finished guests are not', node(301_000), [vmi('Succeeded')], [], true, 0],
    ['a vanished node takes its guests along', undefined, [vmi('Running')], [pod('Running')], false, 1],
    ['a node that never was ours is left alone', node(undefined), [], [], false, 0],
  ])('%s', (_title, seen, vmis, pods, marked, lost) => {
    const plan = decideNode({ name: 'n1', node: seen, vmis, podsOf: () => pods }, NOW);
    expect([plan.markUnschedulable, plan.lost.length]).toEqual([marked, lost]);
  });

  it('looks again as long as there is something to lose', () => {
    expect(decideNode({ name: 'n1', node: node(0), vmis: [], podsOf: () => [] }, NOW).recheckMs).toBe(RECHECK_MS);
    expect(decideNode({ name: 'n1', node: undefined, vmis: [], podsOf: () => [] }, NOW).recheckMs).toBeUndefined();
  });
});
