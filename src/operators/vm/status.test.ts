import { describe, expect, it } from 'vitest';
import { NOW, vm, vmi } from '../../../test/builders/objects.js';
import type { Condition, VirtualMachine, VirtualMachineInstance, VirtualMachineStateChangeRequest } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { Seen } from './decide.js';
import { startRevision } from './revision.js';
import { startDelaySeconds } from './start-failure.js';
import { isTooEarly, nextVmStatus, remainingRequests, restartRequired, type StatusInput } from './status.js';

const seen = (parts: Partial<Seen> = {}): Seen => ({
  vm: vm(),
  vmi: undefined,
  revisions: [],
  dataVolumes: new Map(),
  templateClaims: new Set(),
  hasCdi: true,
  config: clusterConfigOf({}),
  settled: true,
  ...parts,
});
const input = (s: Partial<Seen>, rest: Partial<StatusInput> = {}): StatusInput => ({
  seen: seen(s),
  pvcs: new Map(),
  plan: {},
  createPending: false,
  deletePending: false,
  now: NOW,
  random: 0,
  ...rest,
});
const condition = (type: string, status: string, reason: string): Condition => ({
  type,
  status,
  reason,
  lastTransitionTime: '2026-01-01T11:00:00Z',
});
const brief = (conditions: readonly Condition[] | undefined): string[] =>
  (conditions ?? []).map((c) => `${c.type}=${c.status} ${c.reason ?? ''}`);

describe('nextVmStatus', () => {
  it('says that nothing runs', () => {
    const status = nextVmStatus(input({ vm: vm({ spec: { runStrategy: 'Halted' } }) }));
    expect(status).toMatchObject({ created: false, ready: false, printableStatus: 'Stopped', runStrategy: 'Halted' });
    expect(brief(status.conditions as Condition[])).toEqual(['Ready=False VMINotExists']);
  });

  it('mirrors the conditions of the VMI, and drops those that it lost', () => {
    const old = [condition('Paused', 'True', 'PausedByUser'), condition('Failure', 'True', 'FailedCreate')];
    const instance = vmi({
      status: { phase: 'Running' },
      conditions: [condition('Ready', 'True', ''), condition('LiveMigratable', 'True', '')],
    });
    const status = nextVmStatus(input({ vm: vm({ status: { conditions: old } }), vmi: instance }));
    expect(brief(status.conditions as Condition[]).sort()).toEqual(['LiveMigratable=True ', 'Ready=True ']);
    expect(status).toMatchObject({ created: true, ready: true, printableStatus: 'Running', desiredGeneration: 1 });
  });

  it('is the same object value when nothing changed', () => {
    const first = nextVmStatus(input({ vmi: vmi({ status: { phase: 'Running' } }) }));
    const again = nextVmStatus(input({ vm: vm({ status: first }), vmi: vmi({ status: { phase: 'Running' } }) }, { now: NOW + 60_000 }));
    expect(again).toEqual(first);
  });

  it('counts a guest that never ran once, and starts the back-off', () => {
    const failed = vmi({ status: { phase: 'Failed' } });
    const status = nextVmStatus(input({ vmi: failed }));
    expect(status.startFailure).toEqual({
      consecutiveFailCount: 1,
      lastFailedVMIUID: 'vmi-uid',
      retryAfterTimestamp: '2026-01-01T12:00:10Z',
    });
    expect(nextVmStatus(input({ vm: vm({ status }), vmi: failed })).startFailure).toEqual(status.startFailure);
  });

  it('forgets the failures of a guest that ran', () => {
    const ran = vmi({
      status: { phase: 'Failed', phaseTransitionTimestamps: [{ phase: 'Running', phaseTransitionTimestamp: '2026-01-01T11:00:00Z' }] },
    });
    expect(
      nextVmStatus(input({ vm: vm({ status: { startFailure: { consecutiveFailCount: 3 } } }), vmi: ran })).startFailure,
    ).toBeUndefined();
  });

  it('appends one start request for a failed guest of RerunOnFailure', () => {
    const state = { vm: vm({ spec: { runStrategy: 'RerunOnFailure' } }), vmi: vmi({ status: { phase: 'Failed' } }) };
    expect(nextVmStatus(input(state, { plan: { requestStart: true } })).stateChangeRequests).toEqual([{ action: 'Start' }]);
  });
});

describe('remainingRequests', () => {
  const stop: VirtualMachineStateChangeRequest = { action: 'Stop', uid: 'vmi-uid' };
  const start: VirtualMachineStateChangeRequest = { action: 'Start' };
  const strategy = (runStrategy: string): VirtualMachine => vm({ spec: { runStrategy } });
  const manual = strategy('Manual');
  const rerun = strategy('RerunOnFailure');
  const ended = (phase: string): VirtualMachineInstance => vmi({ status: { phase } });
  it.each<[string, VirtualMachine, VirtualMachineStateChangeRequest[], VirtualMachineInstance | undefined, (typeof stop)[]]>([
    ['a stop is done when the instance is gone', manual, [stop, start], undefined, [start]],
    ['a stop for another instance is done', manual, [{ action: 'Stop', uid: 'old' }], vmi(), []],
    ['a stop waits while its instance is there', manual, [stop, start], vmi(), [stop, start]],
    ['a start is done when an instance lives', manual, [start], ended('Pending'), []],
    ['a start is done when its instance has ended before anybody looked', manual, [start], ended('Failed'), []],
    ['the same where a guest that ended well is not started again', rerun, [start], ended('Succeeded'), []],
    ['the start of a failed instance’s successor waits', rerun, [start], ended('Failed'), [start]],
    ['a start waits for an instance that goes', manual, [start], vmi({ metadata: { deletionTimestamp: '2026-01-01T11:59:00Z' } }), [start]],
  ])('%s', (_title, machine, stateChangeRequests, instance, expected) => {
    expect(remainingRequests({ ...machine, status: { stateChangeRequests } }, instance)).toEqual(expected);
  });

  const paused: VirtualMachineStateChangeRequest = { action: 'Start', data: { paused: 'true' } };
  it.each([
    ['forgets a start that its VM was turned off after', 'Always', vmi(), [stop, start], [stop]],
    ['keeps one that was asked for since', 'Halted', undefined, [start], [start]],
    ['keeps one that asks for a paused guest: that is meant for a VM that is off', 'Always', undefined, [paused], [paused]],
  ])('%s', (_title, runStrategy, instance, stateChangeRequests, expected) => {
    expect(remainingRequests({ ...strategy('Halted'), status: { runStrategy, stateChangeRequests } }, instance)).toEqual(expected);
  });
});

describe('restartRequired', () => {
  const revisions = [startRevision(vm())];
  const instance = vmi({ status: { phase: 'Running', virtualMachineRevisionName: 'revision-start-vm-vm-uid-1' } });
  it.each([
    ['not while the template is what runs', vm(), undefined],
    ['when the template differs', vm({ spec: { template: { spec: { domain: { devices: {} } } } } }), 'True'],
  ])('%s', (_title, machine, expected) => {
    expect(restartRequired(seen({ vm: machine, vmi: instance, revisions }))?.status).toBe(expected);
  });
});

describe('startDelaySeconds', () => {
  it.each([
    [1, 10],
    [2, 40],
    [3, 90],
    [5, 250],
    [6, 300],
    [100, 300],
  ])('failure %i waits %i s', (failures, seconds) => {
    expect(startDelaySeconds(failures, 0)).toBe(seconds);
  });
  it('never exceeds the longest wait, whatever chance adds', () => {
    expect(startDelaySeconds(5, 0.99)).toBe(300);
  });
});

describe('isTooEarly', () => {
  it.each([
    ['a VMI created just now without a word of its own', vmi({ metadata: { creationTimestamp: '2026-01-01T12:00:00Z' } }), true],
    ['an old one', vmi(), false],
    ['none', undefined, false],
  ])('%s', (_title, instance, expected) => {
    expect(isTooEarly(seen({ vmi: instance }), NOW)).toBe(expected);
  });

  it.each([
    ['a VM deleted just now', '2026-01-01T11:59:59Z', vmi(), true],
    ['one whose guest takes its time', '2026-01-01T11:59:56Z', vmi(), false],
    ['one without a guest', '2026-01-01T11:59:59Z', undefined, false],
  ])('%s', (_title, deletionTimestamp, instance, expected) => {
    expect(isTooEarly(seen({ vm: vm({ metadata: { deletionTimestamp } }), vmi: instance }), NOW)).toBe(expected);
  });
});
