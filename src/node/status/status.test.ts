import { describe, expect, it } from 'vitest';
import { NODE, NOW, nodeDomain, nodeVmi } from '../../../test/builders/node-vm.js';
import type { DomainReport } from '../../api/domain-report.js';
import type { Interface, VirtualMachineInstance, Volume, VolumeStatus } from '../../api/index.js';
import { nextInterfaces } from './interfaces.js';
import { liveMigratable, migrationMethod, storageLiveMigratable } from './migratable.js';
import { nextStatus, type StatusFacts } from './next-status.js';
import { decidePhase } from './phase.js';
import { awaitedPlugs, nextMemory, nextVolumeStatus } from './volumes.js';

const POD = new Map([['default', { iface: 'eth0', podIP: '10.244.0.5', podIPs: ['10.244.0.5', 'fd00::5'], networkState: 2 as const }]]);

const facts = (vmi: VirtualMachineInstance, domain?: DomainReport): StatusFacts => ({
  vmi,
  domain,
  decision: decidePhase({ vmi, domain, launcher: 'ready', node: NODE }),
  failure: undefined,
  node: NODE,
  network: POD,
  bindings: {},
  isHostModelObsolete: false,
  selinuxContext: 'none',
  now: NOW,
});

describe('nextStatus', () => {
  it('says everything about a started guest in one go', () => {
    const vmi = nodeVmi({ status: { volumeStatus: [{ name: 'root', target: '' }], memory: { guestAtBoot: '128Mi' } } });
    const domain = nodeDomain('Running', { spec: { machineType: 'pc-q35-10.0', memoryBytes: 134217728 } });
    const status = nextStatus(facts(vmi, domain));
    expect(status).toEqual({
      ...vmi.status,
      phase: 'Running',
      phaseTransitionTimestamps: [{ phase: 'Running', phaseTransitionTimestamp: '2026-11-30T12:00:00Z' }],
      conditions: [
        expect.objectContaining({ type: 'LiveMigratable', status: 'True' }),
        expect.objectContaining({ type: 'StorageLiveMigratable', status: 'True' }),
      ],
      interfaces: [
        {
          name: 'default',
          infoSource: 'domain',
          ipAddress: '10.244.0.5',
          ipAddresses: ['10.244.0.5', 'fd00::5'],
          mac: '02:00:00:aa:bb:cc',
          podInterfaceName: 'eth0',
          queueCount: 1,
          linkState: 'up',
        },
      ],
      volumeStatus: [{ name: 'root', target: 'vda' }],
      migrationMethod: 'BlockMigration',
      machine: { type: 'pc-q35-10.0' },
      memory: { guestAtBoot: '128Mi', guestCurrent: '128Mi' },
      selinuxContext: 'none',
    });
  });

  it('follows the volumes of a guest that starts with hotpluggable ones before there is a domain', () => {
    const volumes = [{ name: 'root', persistentVolumeClaim: { claimName: 'root', hotpluggable: true } }];
    const entry = (phase: string): VolumeStatus => ({ name: 'root', target: '', phase, hotplugVolume: { attachPodUID: 'hp' } });
    const vmi = (phase: string): VirtualMachineInstance =>
      nodeVmi({ spec: { volumes }, status: { phase: 'Scheduled', volumeStatus: [entry(phase)] } });
    const plugged = { there: new Set(['root']), failures: new Map<string, string>() };
    expect(awaitedPlugs(vmi('AttachedToNode'))).toEqual(['root']);
    const status = nextStatus({ ...facts(vmi('AttachedToNode')), plugged });
    expect([status.volumeStatus?.[0]?.phase, status.selinuxContext, status.phase]).toEqual(['MountedToPod', 'none', 'Scheduled']);
    expect(awaitedPlugs(vmi('MountedToPod'))).toEqual([]);
    expect(nextStatus(facts(nodeVmi({ status: { phase: 'Scheduled' } }))).selinuxContext).toBeUndefined();
  });

  it('is equal the second time', () => {
    const domain = nodeDomain('Running');
    const first = nextStatus(facts(nodeVmi(), domain));
    const second = nextStatus({ ...facts(nodeVmi({ status: first }), domain), now: NOW + 60_000 });
    expect(second).toEqual(first);
  });

  it('leaves what others wrote', () => {
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-30T11:00:00Z' };
    const status = nextStatus(
      facts(nodeVmi({ status: { phase: 'Running', conditions: [ready], evacuationNodeName: NODE } }), nodeDomain('Running')),
    );
    expect(status.conditions?.[0]).toEqual(ready);
    expect(status.evacuationNodeName).toBe(NODE);
  });

  it('names the failure and drops it when it is over', () => {
    const vmi = nodeVmi();
    const failed = nextStatus({ ...facts(vmi), failure: { reason: 'NoKvm', message: 'no KVM' } });
    expect(failed.conditions).toEqual([
      expect.objectContaining({ type: 'Synchronized', status: 'False', reason: 'NoKvm', message: 'no KVM' }),
    ]);
    expect(failed.phase).toBe('Scheduled');
    expect(nextStatus(facts(nodeVmi({ status: failed }))).conditions).toEqual([]);
  });

  it('says why a VMI failed', () => {
    const status = nextStatus(facts(nodeVmi({ status: { phase: 'Running' } }), nodeDomain('Shutoff', { reason: 'Crashed' })));
    expect(status).toMatchObject({ phase: 'Failed', reason: 'GuestCrashed' });
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Synchronized', status: 'False', reason: 'GuestCrashed' }));
  });

  it.each([
    ['User', 'PausedByUser'],
    ['IOError', 'PausedIOError'],
    ['Snapshot', undefined],
  ])('pause for %s → %s', (reason, expected) => {
    const { conditions } = nextStatus(facts(nodeVmi({ status: { phase: 'Running' } }), nodeDomain('Paused', { reason })));
    expect(conditions?.find((condition) => condition.type === 'Paused')?.reason).toBe(expected);
  });

  it('follows the guest agent', () => {
    const domain = nodeDomain('Running', {
      spec: { agentConnected: true },
      status: { osInfo: { name: 'Debian', id: 'debian', more: 'x' } },
    });
    const status = nextStatus(facts(nodeVmi({ status: { phase: 'Running' } }), domain));
    expect(status.conditions?.find((condition) => condition.type === 'AgentConnected')).toMatchObject({ status: 'True' });
    expect(status.guestOSInfo).toEqual({ name: 'Debian', id: 'debian' });
    const gone = nextStatus(facts(nodeVmi({ status }), nodeDomain('Running')));
    expect(gone.conditions?.some((condition) => condition.type === 'AgentConnected')).toBe(false);
  });

  it('forgets that file systems were frozen', () => {
    const frozen = nextStatus(
      facts(nodeVmi({ status: { phase: 'Running' } }), nodeDomain('Running', { status: { fsFreezeStatus: 'frozen' } })),
    );
    expect(frozen.fsFreezeStatus).toBe('frozen');
    expect(nextStatus(facts(nodeVmi({ status: frozen }), nodeDomain('Running')))).not.toHaveProperty('fsFreezeStatus');
  });
});

const withInterface = (iface: Partial<Interface>): VirtualMachineInstance =>
  nodeVmi({ spec: { domain: { devices: { interfaces: [{ name: 'default', ...iface }] } } } });
const reported = (interfaces: DomainReport['spec']['interfaces']) => nodeDomain('Running', { spec: { interfaces } });

describe('nextInterfaces', () => {
  it.each<[string, Partial<Interface>, DomainReport['spec']['interfaces'], object[]]>([
    [
      'behind masquerade the pod’s address counts',
      { masquerade: {} },
      [{ name: 'default', mac: 'm', interfaceName: 'enp1s0', ips: ['10.0.2.2'] }],
      [{ ipAddress: '10.244.0.5', interfaceName: 'enp1s0', infoSource: 'domain, guest-agent' }],
    ],
    [
      'on a bridge the guest’s own address counts',
      { bridge: {} },
      [{ name: 'default', mac: 'm', interfaceName: 'enp1s0', ips: ['192.168.0.7'] }],
      [{ ipAddress: '192.168.0.7', ipAddresses: ['192.168.0.7'] }],
    ],
    [
      'on a bridge without agent the pod’s',
      { bridge: {} },
      [{ name: 'default', mac: 'm' }],
      [{ ipAddress: '10.244.0.5', infoSource: 'domain' }],
    ],
    ['the spec’s MAC until the domain is known', { bridge: {}, macAddress: 's' }, [], [{ name: 'default', mac: 's' }]],
    ['a link that is down', { masquerade: {}, state: 'down' }, [], [{ linkState: 'down' }]],
    [
      'an interface of the guest’s own making',
      { masquerade: {} },
      [{ mac: 'd', interfaceName: 'docker0', ips: ['172.17.0.1'] }],
      [
        { name: 'default' },
        { infoSource: 'guest-agent', mac: 'd', interfaceName: 'docker0', ipAddress: '172.17.0.1', ipAddresses: ['172.17.0.1'] },
      ],
    ],
    ['nothing for an unplugged one', { masquerade: {}, state: 'absent' }, [], []],
  ])('%s', (_title, iface, interfaces, expected) => {
    const next = nextInterfaces(withInterface(iface), reported(interfaces), POD);
    expect(next).toHaveLength(expected.length);
    for (const [at, want] of expected.entries()) expect(next[at]).toMatchObject(want);
  });
});

const shared: VolumeStatus = { name: 'data', target: '', persistentVolumeClaimInfo: { accessModes: ['ReadWriteMany'] } };
const claim: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'data-claim' } };
const withVolumes = (volumes: Volume[], volumeStatus: VolumeStatus[] = []) => nodeVmi({ spec: { volumes }, status: { volumeStatus } });

describe('migration', () => {
  it.each<[string, VirtualMachineInstance, string | undefined]>([
    ['masquerade and container disk', nodeVmi(), undefined],
    ['bridge on the pod network', withInterface({ bridge: {} }), 'InterfaceNotLiveMigratable'],
    [
      'bridge, allowed',
      { ...withInterface({ bridge: {} }), metadata: { annotations: { 'kubevirt.io/allow-pod-bridge-network-live-migration': '' } } },
      undefined,
    ],
    ['shared claim', withVolumes([claim], [shared]), undefined],
    ['claim that is not shared', withVolumes([claim]), 'DisksNotLiveMigratable'],
    ['host disk', withVolumes([{ name: 'h', hostDisk: { path: '/x', type: 'Disk' } }]), 'DisksNotLiveMigratable'],
    [
      'host device',
      nodeVmi({ spec: { domain: { devices: { hostDevices: [{ name: 'd', deviceName: 'x' }] } } } }),
      'HostDeviceNotLiveMigratable',
    ],
    ['SEV', nodeVmi({ spec: { domain: { devices: {}, launchSecurity: { sev: {} } } } }), 'SEVNotLiveMigratable'],
  ])('LiveMigratable: %s', (_title, vmi, reason) => {
    expect(liveMigratable(facts(vmi)).reason).toBe(reason);
  });

  it('needs another node that offers the host model', () => {
    expect(liveMigratable({ ...facts(nodeVmi()), isHostModelObsolete: true })).toMatchObject({
      status: 'False',
      message: 'the node "node1" does not allow migration with host-model',
    });
  });

  it('storage migration minds no disks', () => {
    expect(storageLiveMigratable(facts(withVolumes([claim])))).toEqual({ status: 'True' });
    expect(storageLiveMigratable(facts(withInterface({ bridge: {} })))).toMatchObject({ status: 'False', reason: 'NotMigratable' });
  });

  it.each<[string, Volume[], VolumeStatus[], string]>([
    ['container disk', [{ name: 'c', containerDisk: { image: 'x' } }], [], 'BlockMigration'],
    ['only shared claims and read-only data', [claim, { name: 'ci', cloudInitNoCloud: {} }], [shared], 'LiveMigration'],
    ['a claim of its own', [claim], [], 'BlockMigration'],
  ])('method: %s', (_title, volumes, volumeStatus, expected) => {
    expect(migrationMethod(withVolumes(volumes, volumeStatus))).toBe(expected);
  });
});

describe('nextVolumeStatus', () => {
  it('fills in targets, adds missing entries and sorts by name', () => {
    const vmi = nodeVmi({
      spec: {
        volumes: [
          { name: 'b', emptyDisk: { capacity: '1Mi' } },
          { name: 'a', containerDisk: { image: 'x' } },
        ],
      },
      status: { volumeStatus: [{ name: 'b', target: '', size: 7 }] },
    });
    const domain = nodeDomain('Running', {
      spec: {
        disks: [
          { name: 'a', target: 'vda', size: 4096 },
          { name: 'b', target: 'vdb' },
          { name: 'other', target: 'vdc' },
        ],
      },
    });
    expect(nextVolumeStatus(vmi, domain)).toEqual([
      { name: 'a', target: 'vda', size: 4096 },
      { name: 'b', target: 'vdb', size: 7 },
    ]);
  });
});

describe('nextMemory', () => {
  it('keeps what is known when the domain says nothing', () => {
    expect(nextMemory(nodeVmi({ status: { memory: { guestCurrent: '1Gi' } } }), nodeDomain('Running'))).toEqual({ guestCurrent: '1Gi' });
  });
});
