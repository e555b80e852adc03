// Which VMIs may be paused, unpaused and spoken to.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import {
  agentRefusal,
  consoleRefusal,
  forwardAddress,
  freezeRefusal,
  ownVmiRefusal,
  pauseRefusal,
  resetFailure,
  softRebootRefusal,
  unfreezeRefusal,
  unpauseRefusal,
  vncRefusal,
} from './decide-vmi.js';
import { portTarget } from './port-forward.js';
import { internalError } from './status.js';

interface Rest {
  readonly spec?: object;
  readonly devices?: object;
  readonly paused?: boolean;
  readonly agent?: boolean;
  readonly acpi?: boolean;
  readonly ip?: string;
}

const vmi = (phase: string, rest: Rest = {}): VirtualMachineInstance =>
  ({
    metadata: { name: 'test' },
    spec: {
      domain: { devices: rest.devices ?? {}, ...(rest.acpi === undefined ? {} : { features: { acpi: { enabled: rest.acpi } } }) },
      ...rest.spec,
    },
    status: {
      phase,
      conditions: [
        ...(rest.paused ? [{ type: 'Paused', status: 'True' }] : []),
        ...(rest.agent ? [{ type: 'AgentConnected', status: 'True' }] : []),
      ],
      ...(rest.ip === undefined ? {} : { interfaces: [{ ipAddress: rest.ip }] }),
    },
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
    ['soft reboot', softRebootRefusal(vmi('Running')), undefined],
    ['soft reboot, not running', softRebootRefusal(vmi('Scheduled')), '409 VMI is not running'],
    ['soft reboot, paused', softRebootRefusal(vmi('Running', { paused: true })), '409 VMI is paused'],
    ['soft reboot, by its agent alone', softRebootRefusal(vmi('Running', { acpi: false, agent: true })), undefined],
    [
      'soft reboot, no way',
      softRebootRefusal(vmi('Running', { acpi: false })),
      '409 VMI neither have the agent connected nor the ACPI feature enabled',
    ],
    ['freeze', freezeRefusal(vmi('Running')), undefined],
    ['freeze, not running', freezeRefusal(vmi('Failed')), '409 VM is not running'],
    ['unfreeze', unfreezeRefusal(vmi('Running')), undefined],
    ['unfreeze, not running', unfreezeRefusal(vmi('Failed')), '409 VMI is not running'],
    ['question', agentRefusal(vmi('Running', { agent: true })), undefined],
    ['question, no agent', agentRefusal(vmi('Running')), '409 VMI does not have guest agent connected'],
    ['question, not running', agentRefusal(vmi('Scheduled', { agent: true })), '409 VMI is not running'],
  ])('%s', (_title, refusal, expected) => {
    expect(brief(refusal)).toBe(expected);
  });
});

describe('resetFailure', () => {
  it.each([
    ['Running', 'Internal error occurred: gone'],
    ['Scheduled', 'Failed to reset non-running VMI with phase Scheduled: Internal error occurred: gone'],
  ])('%s', (phase, message) => {
    expect(resetFailure(vmi(phase), internalError('gone'))).toMatchObject({ code: 500, message });
  });
});

describe('ports', () => {
  it.each([
    ['tcp by default', vmi('Running', { ip: '10.0.0.5' }), { port: '80' }, { protocol: 'tcp', host: '10.0.0.5', port: 80 }],
    ['udp', vmi('Running', { ip: 'fd00::5' }), { port: '53', protocol: 'udp' }, { protocol: 'udp', host: 'fd00::5', port: 53 }],
    ['paused', vmi('Running', { ip: '10.0.0.5', paused: true }), { port: '80' }, '409 VMI is paused'],
    ['no address', vmi('Running'), { port: '80' }, '400 no network interfaces are present'],
    ['port 0', vmi('Running', { ip: '10.0.0.5' }), { port: '0' }, '400 port must be a number from 1 to 65535, not 0'],
    ['port too large', vmi('Running', { ip: '10.0.0.5' }), { port: '70000' }, '400 port must be a number from 1 to 65535, not 70000'],
    ['no port', vmi('Running', { ip: '10.0.0.5' }), { port: 'ssh' }, '400 port must be a number from 1 to 65535, not ssh'],
    ['protocol', vmi('Running', { ip: '10.0.0.5' }), { port: '80', protocol: 'sctp' }, '400 protocol must be tcp or udp, not sctp'],
  ])('%s', (_title, target, params, expected) => {
    const found = portTarget(target, params);
    expect(found.ok ? found.value : brief(found.error)).toEqual(expected);
  });

  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    '::ffff:127.0.0.1',
    'api.example',
  ])('dials no %s, which a guest’s agent may claim and which is no guest', (ip) => {
    const found = forwardAddress(vmi('Running', { ip }));
    expect(found.ok ? found.value : brief(found.error)).toContain(`400 ${ip} is no address of a guest`);
  });

  it('needs an address', () => {
    expect(forwardAddress(vmi('Running', { ip: '10.0.0.5' }))).toEqual({ ok: true, value: '10.0.0.5' });
  });

  const vm = (created: boolean): VirtualMachine =>
    ({ metadata: { name: 'test', uid: 'vm-1' }, status: { created } }) as unknown as VirtualMachine;
  const owned = (uid: string): VirtualMachineInstance =>
    ({ metadata: { name: 'test', ownerReferences: [{ uid }] } }) as VirtualMachineInstance;
  it.each([
    ['own VMI', vm(true), owned('vm-1'), undefined],
    ['not created', vm(false), owned('vm-1'), '409 VMI is not started'],
    ['gone', vm(true), undefined, '409 VMI is not started'],
    [
      "somebody else's",
      vm(true),
      owned('vm-2'),
      '500 Internal error occurred: the running VMI test does not belong to the VM: delete it, then start the VM',
    ],
  ])('of a VM: %s', (_title, of, running, expected) => {
    expect(brief(ownVmiRefusal(of, running))).toBe(expected);
  });
});
