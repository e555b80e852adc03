// What the node agents of both ends make of the launchers' reports.
import { describe, expect, it } from 'vitest';
import { NODE, NOW, nodeDomain, nodeVmi } from '../../../test/builders/node-vm.js';
import type { MigrationReport } from '../../api/domain-report.js';
import { metaTime } from '../../base/clock.js';
import { isLeaving, sourceState, targetState } from './migration.js';

const START = '2026-01-01T12:00:00Z';
const END = '2026-01-01T12:01:00Z';
const vmi = (migrationState: object) => nodeVmi({ status: { phase: 'Running', migrationState } });
const reporting = (migration: MigrationReport | undefined, state: 'Running' | 'Paused' = 'Running', reason = 'Unknown') =>
  nodeDomain(state, { reason, spec: migration ? { migration } : {} });
const leaving = { migrationUid: 'm1', sourceNode: NODE, targetNode: 'other' };
const coming = { migrationUid: 'm1', sourceNode: 'other', targetNode: NODE };

describe('sourceState', () => {
  it.each<[string, object, MigrationReport | undefined, object]>([
    ['has begun', leaving, { uid: 'm1', startTimestamp: START, mode: 'PreCopy' }, { ...leaving, startTimestamp: START, mode: 'PreCopy' }],
    [
      'is being cancelled',
      leaving,
      { uid: 'm1', startTimestamp: START, abortStatus: 'Aborting' },
      { ...leaving, startTimestamp: START, abortStatus: 'Aborting' },
    ],
    [
      'has failed',
      leaving,
      { uid: 'm1', startTimestamp: START, endTimestamp: END, failed: true, failureReason: 'no', abortStatus: 'Succeeded' },
      { ...leaving, startTimestamp: START, endTimestamp: END, failed: true, failureReason: 'no', abortStatus: 'Succeeded' },
    ],
    [
      'has succeeded: the target says when',
      leaving,
      { uid: 'm1', startTimestamp: START, endTimestamp: END, completed: true },
      { ...leaving, startTimestamp: START },
    ],
    ['is another one', leaving, { uid: 'm0', startTimestamp: START }, leaving],
    ['is unknown to the launcher', leaving, undefined, leaving],
    ['is over', { ...leaving, failed: true }, { uid: 'm1', startTimestamp: START }, { ...leaving, failed: true }],
    ['comes here', coming, { uid: 'm1', startTimestamp: START }, coming],
  ])('%s', (_title, state, report, expected) => {
    expect(sourceState(vmi(state), reporting(report), NODE)).toEqual(expected);
  });

  it('is none without a migration', () => {
    expect(sourceState(nodeVmi(), reporting({ uid: 'm1' }), NODE)).toBeUndefined();
  });
});

describe('targetState', () => {
  const detected = { ...coming, targetNodeDomainDetected: true };
  const ready = { ...detected, targetNodeDomainReadyTimestamp: metaTime(NOW) };

  it.each<[string, object, ReturnType<typeof reporting> | undefined, object]>([
    ['nothing has come', coming, undefined, coming],
    ['the guest begins to come', coming, reporting(undefined, 'Paused', 'Migration'), detected],
    ['it runs', coming, reporting(undefined), ready],
    ['it stands as its user left it', coming, reporting(undefined, 'Paused', 'User'), ready],
    ['it is whole', coming, reporting({ uid: 'm1', endTimestamp: END, completed: true }), { ...ready, endTimestamp: END }],
    ['an earlier one was whole', coming, reporting({ uid: 'm0', endTimestamp: END, completed: true }), ready],
    [
      'it became ready before',
      { ...ready, targetNodeDomainReadyTimestamp: START },
      reporting(undefined),
      { ...ready, targetNodeDomainReadyTimestamp: START },
    ],
    ['it goes elsewhere', leaving, reporting(undefined), leaving],
  ])('%s', (_title, state, domain, expected) => {
    expect(targetState(vmi(state), domain, { node: NODE, now: NOW })).toEqual(expected);
  });
});

describe('isLeaving', () => {
  it.each<[string, object, boolean]>([
    ['once it has begun', { ...leaving, startTimestamp: START }, true],
    ['not before', leaving, false],
    ['not when it failed', { ...leaving, startTimestamp: START, failed: true }, false],
    ['not when it comes', { ...coming, startTimestamp: START }, false],
  ])('%s', (_title, state, expected) => {
    expect(isLeaving(vmi(state), NODE)).toBe(expected);
  });
});
