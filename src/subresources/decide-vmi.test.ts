// Which VMIs may be paused, unpaused and spoken to.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { consoleRefusal, pauseRefusal, unpauseRefusal, vncRefusal } from './decide-vmi.js';

const vmi = (phase: string, rest: { spec?: object; devices?: object; paused?: boolean } = {}): VirtualMachineInstance =>
  ({
    metadata: { name: 'test' },
    spec: { domain: { devices: rest.devices ?? {} }, ...rest.spec },
    status: { phase, conditions: rest.paused ? [{ type: 'Paused', status: 'True' }] : [] },
  }) as unknown as VirtualMachineInstance;

const brief = (refusal: { code: number; message: string } | undefined): string | undefined =>
  refusal && `${refusal.code} ${refusal.message.replace(/^.*test"( is forbidden)?: /, '')}`;

const probe = { spec: { livenessProbe: { tcpSocket: { port: 80 } } } };
const ping = { spec: { livenessProbe: { guestAgentPing: {} } } };
const busy = { status: { snapshotInProgress: 's' } } as VirtualMachine;

describe('refusals', () => {
  it.each([
    ['pause', pauseRefusal(vmi('Running')), undefined],
    ['pause, with agent ping', pauseRefusal(vmi('Running', ping)), undefined],
    ['pause, not running', pauseRefusal(vmi('Scheduled')), '409 VM is not running'],
    ['pause, probed', pauseRefusal(vmi('Running', probe)), '403 Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported'],
    ['pause, paused', pauseRefusal(vmi('Running', { paused: true })), '409 VMI is already paused'],
    ['unpause', unpauseRefusal(vmi('Running', { paused: true }), undefined), undefined],
    ['unpause, snapshot', unpauseRefusal(vmi('Running', { paused: true }), busy), '409 VM snapshot is in progress'],
    ['unpause, not running', unpauseRefusal(vmi('Failed'), undefined), '409 VMI is not running'],
    ['unpause, not paused', unpauseRefusal(vmi('Running'), undefined), '409 VMI is not paused'],
    ['console', consoleRefusal(vmi('Running')), undefined],
    [
      'console, none',
      consoleRefusal(vmi('Running', { devices: { autoattachSerialConsole: false } })),
      '400 No serial consoles are present.',
    ],
    ['console, failed', consoleRefusal(vmi('Failed')), '409 VMI is in failed status'],
    ['console, not running', consoleRefusal(vmi('Scheduled')), '400 VMI is not running'],
    ['vnc', vncRefusal(vmi('Running')), undefined],
    ['vnc, none', vncRefusal(vmi('Running', { devices: { autoattachGraphicsDevice: false } })), '400 No graphics devices are present.'],
    ['vnc, not running', vncRefusal(vmi('Pending')), '400 VMI is not running'],
  ])('%s', (_title, refusal, expected) => {
    expect(brief(refusal)).toBe(expected);
  });
});
