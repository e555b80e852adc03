// What changes in a running VMI's status and what it is resized to: tables.
import { describe, expect, it } from 'vitest';
import { nodeVmi } from '../../../test/builders/node-vm.js';
import type { DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import type { EventRecorder } from '../../runtime/types.js';
import { agentShortcoming } from '../status/agent-support.js';
import { nextVolumeStatus } from '../status/volumes.js';
import { announceChanges } from './announce.js';
import { liveResize } from './live-resize.js';

const NOW = Date.parse('2026-11-30T05:04:03Z');
const plugged = (patch: Partial<VolumeStatus>): VolumeStatus => ({ name: 'data', target: '', hotplugVolume: {}, ...patch });
const vmiWith = (status: VolumeStatus, isWanted = true): VirtualMachineInstance => ({
  metadata: { name: 'vm' },
  spec: {
    domain: { devices: {} },
    volumes: isWanted ? [{ name: 'data', persistentVolumeClaim: { claimName: 'c', hotpluggable: true } }] : [],
  },
  status: { volumeStatus: [status] },
});
const domain = (disks: DomainReport['spec']['disks'] = [], more: Partial<DomainReport['spec']> = {}): DomainReport => ({
  metadata: { name: 'vm', namespace: 'default', uid: 'u' },
  spec: { disks, interfaces: [], ...more },
  status: { status: 'Running' },
});

describe('a plugged volume', () => {
  it.each<[string, VolumeStatus, boolean, string[], string[] | undefined, [string | undefined, string]]>([
    ['waits for its mount', plugged({ phase: 'AttachedToNode' }), true, [], [], ['AttachedToNode', '']],
    ['is mounted', plugged({ phase: 'AttachedToNode' }), true, [], ['data'], ['MountedToPod', '']],
    ['is in the guest', plugged({ phase: 'MountedToPod' }), true, ['sda'], ['data'], ['Ready', 'sda']],
    ['is out of the guest and still mounted', plugged({ phase: 'Ready', target: 'sda' }), false, [], ['data'], ['Ready', '']],
    ['is unmounted', plugged({ phase: 'Ready', target: 'sda' }), false, [], [], ['UnMountedFromPod', '']],
    ['is not judged before anybody looked', plugged({ phase: 'Ready', target: 'sda' }), false, [], undefined, ['Ready', '']],
  ])('%s', (_, status, isWanted, targets, mounts, expected) => {
    const disks = targets.map((target) => ({ name: 'data', target }));
    const [next] = nextVolumeStatus(vmiWith(status, isWanted), domain(disks), {
      now: NOW,
      ...(mounts ? { plugged: { there: new Set(mounts), failures: new Map() } } : {}),
    });
    expect([next?.phase, next?.target]).toEqual(expected);
  });
});

it('a volume that cannot be plugged says why, until it can', () => {
  const failing = plugged({ phase: 'AttachedToNode', reason: 'SuccessfulCreate' });
  const at = (there: string[], failures: [string, string][]) => ({
    now: NOW,
    plugged: { there: new Set(there), failures: new Map(failures) },
  });
  const [broken] = nextVolumeStatus(vmiWith(failing), domain(), at([], [['data', 'it has no image']]));
  expect(broken).toMatchObject({ phase: 'AttachedToNode', reason: 'HotplugFailed', message: 'it has no image' });
  const [mended] = nextVolumeStatus(vmiWith(broken ?? failing), domain(), at(['data'], []));
  expect(mended).toMatchObject({ phase: 'MountedToPod', reason: 'VolumeMountedToPod' });
});

describe('a memory dump', () => {
  const dump = (patch: Partial<VolumeStatus>): VolumeStatus => plugged({ memoryDumpVolume: { claimName: 'c' }, ...patch });
  const file = 'vm-data-20261130-050403.memory.dump';
  const started = { fileName: file, startTimestamp: '2026-11-30T05:04:04Z' };

  it('gets a file once its claim is mounted', () => {
    const [next] = nextVolumeStatus(vmiWith(dump({ phase: 'AttachedToNode' })), domain(), {
      now: NOW,
      plugged: { there: new Set(['data']), failures: new Map() },
    });
    expect(next).toMatchObject({ phase: 'MemoryDumpInProgress', memoryDumpVolume: { claimName: 'c', targetFileName: file } });
  });

  it.each([
    ['nothing yet', undefined, 'MemoryDumpInProgress', {}],
    ['another one', { ...started, fileName: 'old' }, 'MemoryDumpInProgress', {}],
    ['begun', started, 'MemoryDumpInProgress', { startTimestamp: started.startTimestamp }],
    ['done', { ...started, endTimestamp: '2026-11-30T05:04:09Z' }, 'MemoryDumpCompleted', { endTimestamp: '2026-11-30T05:04:09Z' }],
    ['failed', { ...started, endTimestamp: '2026-11-30T05:04:09Z', failure: 'full' }, 'MemoryDumpFailed', {}],
  ])('%s', (_, memoryDump, phase, times) => {
    const status = dump({ phase: 'MemoryDumpInProgress', memoryDumpVolume: { claimName: 'c', targetFileName: file } });
    const [next] = nextVolumeStatus(vmiWith(status), domain([], memoryDump ? { memoryDump } : {}), { now: NOW });
    expect(next).toMatchObject({ phase, memoryDumpVolume: { targetFileName: file, ...times } });
    if (phase === 'MemoryDumpFailed') expect(next?.message).toBe('Memory dump to pvc data failed: full');
  });
});

describe('liveResize', () => {
  const sized = (cpu: object, memory: object, resources?: object): VirtualMachineInstance => ({
    metadata: { name: 'vm' },
    spec: { domain: { devices: {}, cpu, memory, ...(resources ? { resources } : {}) } },
    status: { currentCPUTopology: { sockets: 1, cores: 1, threads: 1 }, memory: { guestAtBoot: '1Gi', guestRequested: '1Gi' } },
  });
  it.each([
    ['nothing', sized({ sockets: 1, maxSockets: 4 }, { guest: '1024Mi', maxGuest: '4Gi' }), false, false],
    ['more sockets', sized({ sockets: 2, maxSockets: 4 }, {}), true, false],
    ['sockets without room', sized({ sockets: 2 }, {}), false, false],
    ['dedicated CPUs', sized({ sockets: 2, maxSockets: 4, dedicatedCpuPlacement: true }, {}), false, false],
    ['more memory', sized({}, { guest: '2Gi', maxGuest: '4Gi' }), false, true],
    ['memory without room', sized({}, { guest: '2Gi' }), false, false],
    [
      'both under limits',
      sized({ sockets: 2, maxSockets: 4 }, { guest: '2Gi', maxGuest: '4Gi' }, { limits: { cpu: '2', memory: '2Gi' } }),
      false,
      false,
    ],
  ])('%s', (_, vmi, cpus, memory) => expect(liveResize(vmi)).toEqual({ cpus, memory }));
});

describe('agentShortcoming', () => {
  const basic = 'ping get-time info shutdown network-get-interfaces get-fsinfo get-host-name get-users get-timezone get-osinfo';
  const commands = basic.split(' ').map((name) => `guest-${name}`);
  const vmi = (accessCredentials: NonNullable<VirtualMachineInstance['spec']['accessCredentials']>): VirtualMachineInstance => ({
    metadata: {},
    spec: { domain: { devices: {} }, accessCredentials },
  });
  const keys = vmi([{ sshPublicKey: { source: {}, propagationMethod: { qemuGuestAgent: { users: ['a'] } } } }]);
  const words = vmi([{ userPassword: { source: {}, propagationMethod: { qemuGuestAgent: {} } } }]);
  it.each<[string, VirtualMachineInstance, string[], string | undefined]>([
    ['all basics', vmi([]), commands, undefined],
    ['one missing', vmi([]), commands.slice(1), "This guest agent doesn't support required basic commands"],
    ['keys without commands', keys, commands, "This guest agent doesn't support required public key commands"],
    [
      'keys by files',
      keys,
      [...commands, ...['exec', 'exec-status', 'file-open', 'file-close', 'file-read', 'file-write'].map((name) => `guest-${name}`)],
      undefined,
    ],
    ['passwords', words, commands, "This guest agent doesn't support required password commands"],
    ['an old agent of a known version', vmi([]), [], undefined],
  ])('%s', (_, vm, served, expected) => {
    expect(agentShortcoming(vm, { version: '4.2', commands: served }, ['2.*', '4.*'])).toBe(expected);
  });
  it('judges by version where no commands are told', () => {
    expect(agentShortcoming(vmi([]), { version: '9.1', commands: [] }, ['2.*'])).toBe("Guest agent version '9.1' is not supported");
  });
});

describe('announceChanges', () => {
  const heard = (before: VirtualMachineInstance, after: VirtualMachineInstance): string[] => {
    const events: string[] = [];
    const recorder = { event: (_: object, type: string, reason: string, message: string) => events.push(`${type} ${reason}: ${message}`) };
    announceChanges(recorder as unknown as EventRecorder, before, after);
    return events;
  };
  const withCondition = (type: string, status: string, more: object = {}): VirtualMachineInstance =>
    nodeVmi({ status: { conditions: [{ type, status, ...more }] } } as never);

  it('tells of volumes, credentials and agents once', () => {
    const mounted = vmiWith(plugged({ phase: 'MountedToPod', reason: 'VolumeMountedToPod', message: 'm' }));
    expect(heard(vmiWith(plugged({ phase: 'AttachedToNode' })), mounted)).toEqual(['Normal VolumeMountedToPod: m']);
    expect(heard(mounted, mounted)).toEqual([]);
    expect(heard(mounted, nodeVmi())).toEqual(['Normal VolumeUnplugged: Volume data has been unplugged']);
    const [good, bad] = [
      withCondition('AccessCredentialsSynchronized', 'True'),
      withCondition('AccessCredentialsSynchronized', 'False', { message: 'no' }),
    ];
    expect(heard(nodeVmi(), good)).toEqual(['Normal AccessCredentialsSyncSuccess: Access credentials sync successful.']);
    expect(heard(good, bad)).toEqual(['Warning AccessCredentialsSyncFailed: Access credentials sync failed: no']);
    expect(heard(nodeVmi(), withCondition('AgentVersionNotSupported', 'True', { reason: 'old' }))).toEqual([
      'Warning AgentVersionNotSupported: old',
    ]);
  });
});
