// Refusals that do not depend on the phase alone: drained nodes, attestation, agents that do not do what they are asked, ports of sockets.
import { describe, expect, it } from 'vitest';
import type { Node, VirtualMachineInstance } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { clusterConfigOf } from '../core/config/cluster-config.js';
import { agentPod, isPassingAnswer, isPassingFault } from './agent-change.js';
import { checkpointRefusal, usbRefusal, vsockRefusal } from './decide-vmi.js';
import { drainRefusal } from './migration.js';
import { agentFailure } from './node-agent.js';
import { certChainRefusal, measuredRefusal, sessionOptionsFault, sessionPatch, sessionRefusal, sevGateRefusal } from './sev.js';
import type { StatusError } from './status.js';
import { vsockQuery } from './streams.js';

const brief = (refusal: StatusError | undefined): string | undefined =>
  refusal && `${refusal.code} ${refusal.message.replace(/^Operation cannot be fulfilled on .*?": /, '')}`;

describe('drainRefusal', () => {
  const KEY = 'kubevirt.io/drain';
  const node = (...taints: object[]): Node => ({ metadata: { name: 'node01' }, spec: { taints } }) as unknown as Node;
  it.each([
    ['gone', undefined, undefined],
    ['no taints', { metadata: { name: 'node01' } } as Node, undefined],
    ['other key', node({ key: 'other', effect: 'NoSchedule' }), undefined],
    ['other effect', node({ key: KEY, effect: 'NoExecute' }), undefined],
    [
      'drained',
      node({ key: 'other', effect: 'NoSchedule' }, { key: KEY, effect: 'NoSchedule' }),
      '400 Node "node01" has NodeDrainTaintKey "kubevirt.io/drain:NoSchedule"',
    ],
  ])('%s', (_title, found, expected) => {
    expect(brief(drainRefusal(found, KEY))).toBe(expected);
  });
});

const vmi = (phase: string, sev: object | undefined, paused = false): VirtualMachineInstance =>
  ({
    metadata: { name: 'test' },
    spec: { domain: { devices: {}, ...(sev ? { launchSecurity: { sev } } : {}) } },
    status: { phase, conditions: paused ? [{ type: 'Paused', status: 'True' }] : [] },
  }) as unknown as VirtualMachineInstance;

describe('attestation', () => {
  const wanted = { attestation: {} };
  const given = { attestation: {}, session: 's', dhCert: 'd' };
  it.each([
    ['chain', certChainRefusal(vmi('Scheduled', wanted)), undefined],
    ['chain, no node yet', certChainRefusal(vmi('Scheduling', wanted)), '409 VMI is not assigned to a node yet'],
    ['chain, not asked for', certChainRefusal(vmi('Running', {})), '409 Attestation not requested for VMI'],
    ['measurement', measuredRefusal(vmi('Running', wanted, true)), undefined],
    ['measurement, not running', measuredRefusal(vmi('Scheduled', wanted, true)), '409 VMI is not running'],
    ['measurement, not asked for', measuredRefusal(vmi('Running', undefined, true)), '409 Attestation not requested for VMI'],
    ['measurement, running already', measuredRefusal(vmi('Running', wanted)), '409 VMI is not paused'],
    ['session', sessionRefusal(vmi('Scheduled', wanted)), undefined],
    ['session, too late', sessionRefusal(vmi('Running', wanted)), '409 VMI is not in Scheduled phase'],
    ['session, not asked for', sessionRefusal(vmi('Scheduled', {})), '409 Attestation not requested for VMI'],
    ['session, twice', sessionRefusal(vmi('Scheduled', given)), '409 Session already defined'],
    ['session, certificate there', sessionRefusal(vmi('Scheduled', { attestation: {}, dhCert: 'd' })), '409 Session already defined'],
    ['session, no blob', sessionOptionsFault({ dhCert: 'd' }), '400 Session blob is required'],
    ['session, no certificate', sessionOptionsFault({ session: 's' }), '400 DH cert is required'],
    ['gate', sevGateRefusal(clusterConfigOf({})), undefined],
    [
      'gate off',
      sevGateRefusal(clusterConfigOf({ developerConfiguration: { disabledFeatureGates: ['WorkloadEncryptionSEV'] } })),
      "400 'WorkloadEncryptionSEV' feature gate is not enabled",
    ],
  ])('%s', (_title, refusal, expected) => {
    expect(brief(refusal)).toBe(expected);
  });

  it('writes the session beside what the user asked for', () => {
    expect(sessionPatch(vmi('Scheduled', { ...wanted, policy: { encryptedState: true } }), { session: 's', dhCert: 'd' })).toEqual([
      { op: 'test', path: '/spec/domain/launchSecurity/sev', value: { attestation: {}, policy: { encryptedState: true } } },
      {
        op: 'replace',
        path: '/spec/domain/launchSecurity/sev',
        value: { attestation: {}, policy: { encryptedState: true }, session: 's', dhCert: 'd' },
      },
    ]);
  });
});

describe('devices', () => {
  const machine = (phase: string, devices: object, architecture?: string, state?: string): VirtualMachineInstance =>
    ({
      metadata: { name: 'test' },
      spec: { domain: { devices }, ...(architecture ? { architecture } : {}) },
      status: { phase, ...(state ? { changedBlockTracking: { state } } : {}) },
    }) as unknown as VirtualMachineInstance;
  const usb = { clientPassthrough: {} };
  const vsock = { autoattachVSOCK: true };
  it.each([
    ['USB', usbRefusal(machine('Running', usb)), undefined],
    ['USB on s390x', usbRefusal(machine('Running', usb, 's390x')), '409 No USB support on s390x'],
    ['USB, not configured', usbRefusal(machine('Running', {})), '409 Not configured with USB Redirection'],
    ['USB, not running', usbRefusal(machine('Scheduled', usb)), '400 VMI is not running'],
    ['vsock', vsockRefusal(machine('Running', vsock)), undefined],
    ['vsock, not attached', vsockRefusal(machine('Running', {})), '400 VSOCK is not attached.'],
    ['vsock, not running', vsockRefusal(machine('Failed', vsock)), '400 VMI is not running'],
    ['checkpoint', checkpointRefusal(machine('Running', {}, undefined, 'Enabled')), undefined],
    ['checkpoint, none', checkpointRefusal(machine('Running', {})), '409 ChangedBlockTracking is not enabled'],
    [
      'checkpoint, not yet',
      checkpointRefusal(machine('Running', {}, undefined, 'Initializing')),
      '409 ChangedBlockTracking is not enabled',
    ],
  ])('%s', (_title, refusal, expected) => {
    expect(brief(refusal)).toBe(expected);
  });

  it.each([
    ['port=22', 'port=22&tls=true'],
    ['port=4294967295&tls=false', 'port=4294967295&tls=false'],
    ['', '400 port must be a number up to 4294967295, not nothing'],
    ['port=ssh', '400 port must be a number up to 4294967295, not ssh'],
    ['port=4294967296', '400 port must be a number up to 4294967295, not 4294967296'],
    ['port=1&tls=maybe', '400 tls must be true or false, not maybe'],
  ])('vsock?%s', (query, expected) => {
    const answer = vsockQuery(new URLSearchParams(query));
    expect(answer.ok ? String(answer.value) : brief(answer.error)).toBe(expected);
  });
});

describe('node agents', () => {
  const pod = (podIP?: string, metadata = {}) => ({ metadata: { name: 'agent', ...metadata }, status: podIP ? { podIP } : {} });
  const GOES = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const at = (phase: string): VirtualMachineInstance =>
    ({ metadata: { name: 'test' }, status: { phase, nodeName: 'node01' } }) as unknown as VirtualMachineInstance;
  it.each([
    ['running', at('Running'), [pod('10.0.0.1')], undefined],
    ['scheduled', at('Scheduled'), [pod('10.0.0.1')], undefined],
    [
      'not there yet',
      at('Scheduling'),
      [pod('10.0.0.1')],
      '400 Unable to connect to VirtualMachineInstance because phase is Scheduling instead of Running or Scheduled',
    ],
    ['none', at('Running'), [], 'in a moment: 400 No virt-handler on node node01 found'],
    ['two', at('Running'), [pod('10.0.0.1'), pod('10.0.0.2')], 'in a moment: 400 Expected to find one Pod, found 2 Pods'],
    ['one that goes and its successor', at('Running'), [pod('10.0.0.1', GOES), pod('10.0.0.2')], undefined],
    ['only one that goes', at('Running'), [pod('10.0.0.1', GOES)], undefined],
    ['no address', at('Running'), [pod()], 'in a moment: 400 virt-handler pod agent has no address yet'],
  ])('%s', (_title, machine, pods, expected) => {
    const found = agentPod(machine, pods);
    const told = found.ok ? undefined : `${found.error.passes ? 'in a moment: ' : ''}${brief(found.error.error)}`;
    expect(told).toBe(expected);
    if (found.ok) expect(found.value).toBe(pods.at(-1));
  });

  const fault = (code: string): KvError =>
    new KvError('Unavailable', 'cannot reach it', { cause: Object.assign(new Error(code), { code }) });
  it.each<[string, unknown, boolean, boolean]>([
    ['nobody listens', fault('ECONNREFUSED'), true, true],
    ['the address is gone', fault('EHOSTUNREACH'), true, true],
    ['it ended meanwhile', fault('ECONNRESET'), true, false],
    ['it does not answer', new KvError('Unavailable', 'x', { cause: new Error('no answer within 10000 ms') }), false, false],
    ['its certificate is another’s', fault('ERR_TLS_CERT_ALTNAME_INVALID'), false, false],
  ])('tries a stream, and a command, again when %s', (_title, err, stream, command) => {
    expect([isPassingFault(err, true), isPassingFault(err, false)]).toEqual([stream, command]);
  });

  it.each([
    [404, 'VMI a/b does not run on this node', true],
    [404, 'VMI a/b with the uid u does not run on this node; try again', false],
    [500, 'the launcher of a/b is not reachable (starting); try again', true],
    [500, 'the process of the launcher of a/b is not known yet; try again', true],
    [500, 'the launcher of a/b is not reachable (unresponsive); try again', false],
    [404, 'the guest has no serial console: its socket does not exist', false],
    [503, 'Active VNC connection. Request denied.', false],
  ])('asks again after %i %s: %s', (status, body, expected) => expect(isPassingAnswer(status, body)).toBe(expected));

  it.each([
    [500, 'no', '500 Internal error occurred: unexpected return code 500 (500 Internal Server Error), message: no'],
    [501, 'backups are not taken yet', '501 backups are not taken yet'],
    [501, '', '501 the node agent does not serve backup'],
    [404, 'nothing is served at /v1/x', '501 the node agent does not serve backup: update virt-handler'],
    [404, 'no stream is served at /v1/x', '501 the node agent does not serve backup: update virt-handler'],
    [
      404,
      'VMI a/b does not run on this node',
      '500 Internal error occurred: unexpected return code 404 (404 Not Found), message: VMI a/b does not run on this node',
    ],
  ])('answer %i %s', (status, body, expected) => {
    expect(brief(agentFailure('backup', status, Buffer.from(body)))).toBe(expected);
  });
});
