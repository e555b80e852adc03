import { describe, expect, it } from 'vitest';
import type { Change } from '../../../test/builders/live-vm.js';
import { base, dumpVolume, limits, link, memory, nic, patches, plug, type Scene, scene, sockets } from '../../../test/builders/live-vm.js';
import { NOW } from '../../../test/builders/objects.js';
import type { Condition } from '../../api/index.js';
import { decideLive } from './live.js';
import { restartReason } from './restart.js';
import { text } from './text.js';

const failedToGrow: Condition = { type: 'HotMemoryChange', status: 'False', lastTransitionTime: '2026-01-01T11:00:00Z' };
const growing = (type: string): Condition => ({ type, status: 'True', lastTransitionTime: '2026-01-01T11:00:00Z' });
const huge: Change = ({ domain }) => {
  domain.memory = { ...domain.memory, hugepages: { pageSize: '2Mi' } };
};

describe('a change of the template', () => {
  it.each<[string, Scene, string | undefined]>([
    ['nothing', {}, undefined],
    ['more sockets', { now: [sockets(2)] }, undefined],
    ['more sockets than there is room for', { now: [sockets(8)] }, text.sockets.tooMany],
    ['fewer sockets', { from: [sockets(2)], now: [sockets(1)] }, text.sockets.fewer],
    ['sockets back after they came', { running: [sockets(2)] }, text.sockets.fewer],
    ['sockets under a CPU limit', { from: [limits({ cpu: '4' })], now: [sockets(2)] }, text.sockets.fixed],
    ['sockets on arm64', { from: [(s) => Object.assign(s, { architecture: 'arm64' })], now: [sockets(2)] }, text.sockets.arm],
    ['cores', { now: [(s) => Object.assign(s.domain, { cpu: { ...s.domain.cpu, cores: 2 } })] }, text.restartRequired],
    ['more memory', { now: [memory('2Gi')] }, undefined],
    ['more memory than there is room for', { now: [memory('8Gi')] }, text.memory.tooHigh],
    ['less memory than at the start', { now: [memory('512Mi')] }, text.memory.tooLow],
    ['memory back to what it started with', { running: [memory('2Gi')] }, undefined],
    ['memory that is not aligned', { now: [memory('1025Mi')] }, text.memory.barred('Guest memory must be 2Mi aligned')],
    ['memory of huge pages', { from: [huge], now: [memory('2Gi')] }, text.memory.fixed],
    ['memory under a limit', { from: [limits({ memory: '8Gi' })], now: [memory('2Gi')] }, text.memory.fixed],
    [
      'memory without a ceiling',
      { now: [memory('2Gi')], running: [(s) => Object.assign(s.domain, { memory: { guest: '1Gi' } })] },
      text.memory.noCeiling,
    ],
    ['memory that failed to come', { now: [memory('2Gi')], conditions: [failedToGrow] }, text.memory.failed],
    ['placement', { now: [(s) => Object.assign(s, { nodeSelector: { zone: 'a' } })] }, undefined],
    [
      'placement with staged rollout',
      { now: [(s) => Object.assign(s, { nodeSelector: { zone: 'a' } })], configuration: { vmRolloutStrategy: 'Stage' } },
      text.restartRequired,
    ],
    ['sockets with staged rollout', { now: [sockets(2)], configuration: { vmRolloutStrategy: 'Stage' } }, text.restartRequired],
    ['a plugged volume, also with staged rollout', { now: [plug('data')], configuration: { vmRolloutStrategy: 'Stage' } }, undefined],
    [
      'an unplugged one',
      {
        from: [plug('data')],
        now: [
          (s) => Object.assign(s, { volumes: base().volumes ?? [] }),
          (s) => Object.assign(s.domain.devices, { disks: base().domain.devices.disks ?? [] }),
        ],
      },
      undefined,
    ],
    ['a medium in a drive', { now: [plug('drive')] }, undefined],
    ['a drive that goes', { now: [(s) => s.domain.devices.disks?.pop()] }, text.restartRequired],
    [
      'a volume that cannot be plugged',
      { now: [(s) => s.volumes?.push({ name: 'x', emptyDisk: { capacity: '1Gi' } })] },
      text.restartRequired,
    ],
    [
      'an image',
      { now: [(s) => Object.assign(s, { volumes: [{ name: 'root', containerDisk: { image: 'disk:v2' } }] })] },
      text.restartRequired,
    ],
    ['a memory dump', { now: [dumpVolume] }, undefined],
    ['an interface on a secondary network', { now: [nic('blue')] }, undefined],
    ['an interface of another binding', { now: [nic('blue', { bridge: undefined, masquerade: {} })] }, text.restartRequired],
    ['a link state', { now: [link('down')] }, undefined],
    [
      'another spelling of the same',
      { now: [memory('1024Mi'), (s) => Object.assign(s, { tolerations: [], hostname: undefined })] },
      undefined,
    ],
    [
      'an interface that is taken out',
      { from: [nic('blue')], now: [(s) => s.domain.devices.interfaces?.pop(), (s) => s.networks?.pop()] },
      text.restartRequired,
    ],
    [
      'the network of an interface',
      {
        from: [nic('blue')],
        now: [(s) => Object.assign(s, { networks: [...(s.networks ?? []).slice(0, 1), { name: 'blue', multus: { networkName: 'red' } }] })],
      },
      text.restartRequired,
    ],
    [
      'the UUID that the guest has',
      {
        now: [(s) => Object.assign(s.domain, { firmware: { uuid: 'u' } })],
        running: [(s) => Object.assign(s.domain, { firmware: { uuid: 'u' } })],
      },
      undefined,
    ],
    [
      'another UUID',
      {
        now: [(s) => Object.assign(s.domain, { firmware: { uuid: 'v' } })],
        running: [(s) => Object.assign(s.domain, { firmware: { uuid: 'u' } })],
      },
      text.restartRequired,
    ],
  ])('needs a restart? %s', (_title, parts, expected) => {
    expect(restartReason(scene(parts))).toBe(expected);
  });

  const CDROM = [plug('drive')];
  it.each<[string, Scene, string[]]>([
    ['nothing', {}, []],
    ['sockets', { now: [sockets(2)] }, ['replace /spec/domain/cpu/sockets 2', 'replace /status/conditions HotVCPUChange']],
    ['memory', { now: [memory('2Gi')] }, ['replace /spec/domain/memory/guest 2Gi', 'replace /status/conditions HotMemoryChange']],
    [
      'both in one write, with the requests that the user made',
      {
        from: [(s) => Object.assign(s.domain, { resources: { requests: { cpu: '500m', memory: '1Gi' } } })],
        now: [sockets(3), memory('2Gi')],
      },
      [
        'replace /spec/domain/cpu/sockets 3',
        'replace /spec/domain/resources/requests/cpu 700m',
        'replace /spec/domain/memory/guest 2Gi',
        'replace /spec/domain/resources/requests/memory 2Gi',
        'replace /status/conditions HotVCPUChange+HotMemoryChange',
      ],
    ],
    ['none while another part needs a restart', { now: [sockets(2), memory('8Gi')] }, []],
    ['none before the guest runs', { now: [sockets(2), plug('data')], phase: 'Scheduled' }, []],
    ['none of the sizes with staged rollout', { now: [sockets(2)], configuration: { vmRolloutStrategy: 'Stage' } }, []],
    ['tolerations', { now: [(s) => Object.assign(s, { tolerations: [{ key: 'k', operator: 'Exists' }] })] }, ['add /spec/tolerations k']],
    ['no list in place of an empty one', { now: [(s) => Object.assign(s, { tolerations: [] })] }, []],
    [
      'a selector that goes',
      { from: [(s) => Object.assign(s, { nodeSelector: { a: 'b' } })], now: [(s) => void delete s.nodeSelector] },
      ['remove /spec/nodeSelector'],
    ],
    ['a volume', { now: [plug('data')] }, ['replace /spec/volumes root+data', 'replace /spec/domain/devices/disks root+drive+data']],
    ['a volume that goes', { running: [plug('data')] }, ['replace /spec/volumes root', 'replace /spec/domain/devices/disks root+drive']],
    [
      'nothing for another spelling of the same',
      {
        now: [
          (s) => s.volumes?.push({ name: 'data', persistentVolumeClaim: { claimName: 'data', hotpluggable: true, readOnly: false } }),
          (s) => Object.assign(s, { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }),
        ],
        running: [plug('data'), (s) => Object.assign(s, { affinity: { podAffinity: {} } })],
      },
      [],
    ],
    ['a medium', { now: CDROM }, ['replace /spec/volumes root+drive']],
    ['a medium that goes', { running: CDROM }, ['replace /spec/volumes root']],
    [
      'another claim of the same name: first the old goes',
      { now: [plug('data', 'new')], running: [plug('data', 'old')] },
      ['replace /spec/volumes root', 'replace /spec/domain/devices/disks root+drive'],
    ],
    [
      'and the new waits until it has gone',
      { now: [plug('data', 'new')], status: { volumeStatus: [{ name: 'data', target: '', hotplugVolume: {} }] } },
      [],
    ],
    [
      'no volumes with the older gate',
      { now: [plug('data')], configuration: { developerConfiguration: { featureGates: ['HotplugVolumes'] } } },
      [],
    ],
    [
      'an interface',
      { now: [nic('blue')] },
      ['replace /spec/networks default+blue', 'replace /spec/domain/devices/interfaces default+blue'],
    ],
    ['a link state', { now: [link('down')] }, ['replace /spec/domain/devices/interfaces default']],
    [
      'an interface that has gone',
      { from: [nic('blue', { state: 'absent' })] },
      ['replace /spec/networks default', 'replace /spec/domain/devices/interfaces default'],
    ],
    [
      'and then out of the template',
      { now: [nic('blue', { state: 'absent' })] },
      ['vm replace /spec/template/spec/networks default', 'vm replace /spec/template/spec/domain/devices/interfaces default'],
    ],
    [
      'not an interface that the guest still has',
      { from: [nic('blue', { state: 'absent' })], status: { interfaces: [{ name: 'blue' }] } },
      [],
    ],
  ])('is written into the VMI: %s', (_title, parts, expected) => {
    expect(patches(scene(parts))).toEqual(expected);
  });

  it.each([
    [sockets(3), [sockets(2)], 'HotVCPUChange', { reason: 'HotPlugCPUError', message: text.sockets.busy }],
    [memory('3Gi'), [memory('2Gi')], 'HotMemoryChange', { reason: 'HotPlugMemoryError', message: text.memory.busy }],
  ])('waits for the one before', (now, running, type, failure) => {
    const plan = decideLive(scene({ now: [now], running, conditions: [growing(type)] }), NOW);
    expect([plan.steps, plan.failure]).toEqual([[], failure]);
  });
});
