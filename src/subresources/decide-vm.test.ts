// Every row of the life-cycle verbs of a VirtualMachine: what is patched, or why it is refused.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { type Decision, decideRestart, decideStart, decideStop, ownOf } from './decide-vm.js';

const vm = (spec: object, status?: object): VirtualMachine =>
  ({ metadata: { name: 'test', namespace: 'default' }, spec: { template: {}, ...spec }, ...(status ? { status } : {}) }) as VirtualMachine;
const strategy = (runStrategy: string, status?: object): VirtualMachine => vm({ runStrategy }, status);
const vmi = (phase: string, grace?: number): VirtualMachineInstance =>
  ({
    metadata: { name: 'test', uid: 'u-1' },
    spec: { domain: { devices: {} }, ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }) },
    status: { phase },
  }) as VirtualMachineInstance;

/** One line a patch operation, or the refusal's code and sentence. */
function told(decision: Decision): string[] {
  if ('refusal' in decision)
    return [`${decision.refusal.code} ${decision.refusal.message.replace(/^Operation cannot be fulfilled on .*?": /, '')}`];
  return decision.steps.flatMap(({ target, operations }) =>
    operations.map((o) => `${target} ${o.op} ${o.path} ${JSON.stringify(o.value)}`),
  );
}

const REQUESTS = '/status/stateChangeRequests';
const requested = (...changes: object[]): string[] => [
  'vm-status test /status null',
  `vm-status add /status ${JSON.stringify({ stateChangeRequests: changes })}`,
];
const START = { action: 'Start' };
const PAUSED_START = { action: 'Start', data: { paused: 'true' } };
const STOP = { action: 'Stop', uid: 'u-1' };
const RECOVERY = expect.stringMatching(/^409 VM recovery required: Volume migration failed/);

describe('start', () => {
  it.each([
    ['Halted', strategy('Halted'), undefined, {}, ['vm test /spec/runStrategy "Halted"', 'vm replace /spec/runStrategy "Always"']],
    ['running: false', vm({ running: false }), undefined, {}, ['vm test /spec/running false', 'vm replace /spec/running true']],
    ['Halted, paused', strategy('Halted'), undefined, { paused: true }, requested(PAUSED_START)],
    ['Manual', strategy('Manual'), undefined, {}, requested(START)],
    ['Manual, final VMI', strategy('Manual'), vmi('Failed'), {}, requested(STOP, START)],
    ['RerunOnFailure', strategy('RerunOnFailure'), undefined, { paused: true }, requested(PAUSED_START)],
    ['RerunOnFailure, succeeded VMI', strategy('RerunOnFailure'), vmi('Succeeded'), {}, requested(STOP, START)],
    [
      'RerunOnFailure, failed VMI',
      strategy('RerunOnFailure'),
      vmi('Failed'),
      {},
      ['409 RerunOnFailure does not support starting VM from failed state'],
    ],
    ['Always', strategy('Always'), undefined, {}, ['409 Always does not support manual start requests']],
    ['Once', strategy('Once'), undefined, {}, ['409 Once does not support manual start requests']],
    ['WaitAsReceiver', strategy('WaitAsReceiver'), undefined, {}, []],
    ['already running', strategy('Manual'), vmi('Running'), {}, ['409 VM is already running']],
    ['already scheduling', strategy('Manual'), vmi('Scheduling'), {}, ['409 VM is already running']],
    ['VMI without phase', strategy('Manual'), vmi(''), {}, requested(START)],
    ['VMI of unknown phase', strategy('Manual'), vmi('Unknown'), {}, requested(START)],
    [
      'volumes need recovery',
      strategy('Manual', { conditions: [{ type: 'ManualRecoveryRequired', status: 'True' }] }),
      undefined,
      {},
      [RECOVERY],
    ],
    [
      'both running and runStrategy',
      vm({ running: true, runStrategy: 'Always' }),
      undefined,
      {},
      [expect.stringMatching(/^500 .*mutually exclusive/)],
    ],
    [
      'status without requests, earlier start failure',
      strategy('Manual', { ready: false, startFailure: { consecutiveFailCount: 2 } }),
      undefined,
      {},
      [
        `vm-status test ${REQUESTS} null`,
        `vm-status add ${REQUESTS} [{"action":"Start"}]`,
        'vm-status remove /status/startFailure undefined',
      ],
    ],
    [
      'empty status: only while it stays so',
      strategy('Manual', {}),
      undefined,
      {},
      ['vm-status test /status {}', 'vm-status add /status {"stateChangeRequests":[{"action":"Start"}]}'],
    ],
    [
      'a request still waits',
      strategy('Manual', { stateChangeRequests: [STOP] }),
      undefined,
      {},
      ['500 Internal error occurred: unable to complete request: stop/start already underway'],
    ],
  ])('%s', (_title, machine, instance, options, expected) => {
    expect(told(decideStart(machine, instance, options))).toEqual(expected);
  });
});

describe('stop', () => {
  const grace = (from: string, to: number): string[] => [
    `vmi test /spec/terminationGracePeriodSeconds ${from}`,
    `vmi add /spec/terminationGracePeriodSeconds ${to}`,
  ];
  const halt = ['vm test /spec/runStrategy "Always"', 'vm replace /spec/runStrategy "Halted"'];
  it.each([
    ['Always', strategy('Always'), vmi('Running'), {}, halt],
    ['Always, without VMI', strategy('Always'), undefined, {}, halt],
    ['Always, shorter grace', strategy('Always'), vmi('Running', 30), { gracePeriod: 5 }, [...grace('30', 5), ...halt]],
    ['Always, final VMI keeps its grace', strategy('Always'), vmi('Succeeded', 30), { gracePeriod: 5 }, halt],
    [
      'Always, while the start of a restart waits, which would turn it on again',
      strategy('Always', { stateChangeRequests: [START] }),
      undefined,
      {},
      [`vm-status test ${REQUESTS} [{"action":"Start"}]`, `vm-status remove ${REQUESTS} undefined`, ...halt],
    ],
    ['Once', strategy('Once'), vmi('Running'), {}, ['vm test /spec/runStrategy "Once"', 'vm replace /spec/runStrategy "Halted"']],
    ['running: true', vm({ running: true }), vmi('Running'), {}, ['vm test /spec/running true', 'vm replace /spec/running false']],
    ['Manual', strategy('Manual'), vmi('Running'), {}, requested(STOP)],
    [
      'Manual, grace where there was none',
      strategy('Manual'),
      vmi('Running'),
      { gracePeriod: 0 },
      [...grace('null', 0), ...requested(STOP)],
    ],
    ['Manual, not running', strategy('Manual'), vmi('Failed'), {}, ['409 VM is not running']],
    ['RerunOnFailure, without VMI', strategy('RerunOnFailure'), undefined, {}, ['409 VM is not running']],
    ['Halted, without VMI', strategy('Halted'), undefined, { gracePeriod: 1 }, ['409 VM is not running']],
    [
      'Halted, no grace',
      strategy('Halted'),
      vmi('Running', 30),
      {},
      ['409 Halted only supports manual stop requests with a shorter graceperiod'],
    ],
    [
      'Halted, longer grace',
      strategy('Halted'),
      vmi('Running', 30),
      { gracePeriod: 30 },
      ['409 Halted only supports manual stop requests with a shorter graceperiod'],
    ],
    ['Halted, shorter grace', strategy('Halted'), vmi('Running', 30), { gracePeriod: 1 }, [...grace('30', 1), ...requested(STOP)]],
    [
      'replaces a waiting request',
      strategy('Manual', { stateChangeRequests: [START] }),
      vmi('Running'),
      {},
      [`vm-status test ${REQUESTS} [{"action":"Start"}]`, `vm-status add ${REQUESTS} [{"action":"Stop","uid":"u-1"}]`],
    ],
  ])('%s', (_title, machine, instance, options, expected) => {
    expect(told(decideStop(machine, instance, options))).toEqual(expected);
  });
});

describe('restart', () => {
  it.each([
    ['Always', strategy('Always'), vmi('Running'), {}, requested(STOP, START)],
    ['Manual, final VMI', strategy('Manual'), vmi('Failed'), {}, requested(STOP, START)],
    [
      'forced',
      strategy('Always'),
      vmi('Running', 180),
      { gracePeriodSeconds: 0 },
      ['vmi test /spec/terminationGracePeriodSeconds 180', 'vmi add /spec/terminationGracePeriodSeconds 1', ...requested(STOP, START)],
    ],
    [
      'grace above zero',
      strategy('Always'),
      vmi('Running'),
      { gracePeriodSeconds: 5 },
      ['400 For force restart, only gracePeriod=0 is supported for now'],
    ],
    [
      'grace below zero',
      strategy('Always'),
      vmi('Running'),
      { gracePeriodSeconds: -1 },
      ['400 gracePeriod has to be greater or equal to 0'],
    ],
    ['Halted', strategy('Halted'), vmi('Running'), {}, ['409 RunStategy Halted does not support manual restart requests']],
    ['Once', strategy('Once'), vmi('Running'), {}, ['409 RunStategy Once does not support manual restart requests']],
    ['no VMI', strategy('Always'), undefined, {}, ['409 VM is not running: Halted']],
    ['volumes change', strategy('Always', { conditions: [{ type: 'VolumesChange', status: 'True' }] }), vmi('Running'), {}, [RECOVERY]],
  ])('%s', (_title, machine, instance, options, expected) => {
    expect(told(decideRestart(machine, instance, options))).toEqual(expected);
  });

  it('leaves alone what something else controls', () => {
    const controller = (uid: string) => ({ apiVersion: 'v1', kind: 'Any', name: 'test', uid, controller: true });
    const machine = { ...strategy('Always'), metadata: { name: 'test', uid: 'vm-1' } };
    const owned = (uid: string): VirtualMachineInstance => ({
      ...vmi('Running'),
      metadata: { name: 'test', ownerReferences: [controller(uid)] },
    });
    expect([
      ownOf(machine, owned('other')),
      ownOf(machine, owned('vm-1'))?.metadata.name,
      ownOf(machine, vmi('Running'))?.metadata.name,
    ]).toEqual([undefined, 'test', 'test']);
  });

  it('can take the shorter grace period back', () => {
    const decision = decideRestart(strategy('Always'), vmi('Running', 180), { gracePeriodSeconds: 0 });
    expect('steps' in decision && decision.steps[0]?.undo).toEqual([
      { op: 'test', path: '/spec/terminationGracePeriodSeconds', value: 1 },
      { op: 'add', path: '/spec/terminationGracePeriodSeconds', value: 180 },
    ]);
  });
});
