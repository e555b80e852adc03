// What the demo tells while it waits, and how it reads its options.
import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.js';
import { installReason, machineReason } from './states.js';

describe('parseOptions', () => {
  it.each([
    ['a person at a terminal', [], true, { kubeconfig: undefined, unattended: false, keep: false, help: false }],
    ['no terminal', [], false, { kubeconfig: undefined, unattended: true, keep: false, help: false }],
    ['--yes --keep', ['--yes', '--keep'], true, { kubeconfig: undefined, unattended: true, keep: true, help: false }],
    ['another cluster', ['--kubeconfig', '/k'], true, { kubeconfig: '/k', unattended: false, keep: false, help: false }],
  ])('%s', (_title, args, hasTerminal, expected) => {
    expect(parseOptions(args, hasTerminal)).toEqual(expected);
  });

  it('refuses what it does not know, with the usage', () => {
    expect(() => parseOptions(['--bogus'], true)).toThrow(/bogus.*usage: npm start/s);
  });
});

describe('installReason', () => {
  it.each([
    ['not seen', {}, 'the operator has not seen it yet'],
    [
      'deploying',
      { phase: 'Deploying', conditions: [{ type: 'Available', status: 'False', message: 'virt-api: 0 of 2' }] },
      'Deploying: virt-api: 0 of 2',
    ],
    ['available', { phase: 'Deployed', conditions: [{ type: 'Available', status: 'True' }] }, undefined],
  ])('%s', (_title, status, expected) => {
    expect(installReason({ metadata: { name: 'kubevirt' }, status })).toBe(expected);
  });
});

describe('machineReason', () => {
  it.each([
    ['not seen', {}, 'virt-controller has not seen it yet'],
    ['starting', { printableStatus: 'Starting' }, 'Starting'],
    [
      'stuck, with a reason',
      { printableStatus: 'ErrImagePull', conditions: [{ type: 'Ready', status: 'False', message: 'no such image' }] },
      'ErrImagePull: no such image',
    ],
    [
      'without a node: not what Ready repeats',
      {
        printableStatus: 'ErrorUnschedulable',
        conditions: [
          { type: 'Ready', status: 'False', message: 'it does not run' },
          { type: 'PodScheduled', status: 'False', message: 'no node fits' },
        ],
      },
      'ErrorUnschedulable: no node fits',
    ],
    ['running', { printableStatus: 'Running' }, undefined],
  ])('%s', (_title, status, expected) => {
    expect(machineReason({ metadata: { name: 'demo' }, status })).toBe(expected);
  });
});
