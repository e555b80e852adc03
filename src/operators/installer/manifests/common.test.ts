// The instance types and preferences that an installation brings: their number, their regularity, and samples in full.
import { describe, expect, it } from 'vitest';
import { commonInstancetypes } from './common-instancetypes.js';
import { commonPreferences } from './common-preferences.js';

const types = commonInstancetypes();
const preferences = commonPreferences();
const typeNamed = (name: string) => types.find(({ metadata }) => metadata.name === name);
const preferenceNamed = (name: string) => preferences.find(({ metadata }) => metadata.name === name);

it('has every name once', () => {
  const names = (objects: readonly { metadata: { name?: string } }[]): (string | undefined)[] =>
    objects.map(({ metadata }) => metadata.name);
  expect([new Set(names(types)).size, types.length]).toEqual([65, 65]);
  expect([new Set(names(preferences)).size, preferences.length]).toEqual([54, 54]);
});

describe('instance types', () => {
  it.each([
    ['u1.nano', { cpu: { guest: 1 }, memory: { guest: '512Mi' } }],
    ['o1.xlarge', { cpu: { guest: 4 }, memory: { guest: '16Gi', overcommitPercent: 50 } }],
    [
      'cx1.medium1gi',
      {
        cpu: { guest: 1, dedicatedCPUPlacement: true, isolateEmulatorThread: true, maxSockets: 1, numa: { guestMappingPassthrough: {} } },
        ioThreadsPolicy: 'auto',
        memory: { guest: '2Gi', hugepages: { pageSize: '1Gi' } },
      },
    ],
    ['m1.8xlarge', { cpu: { guest: 32 }, memory: { guest: '256Gi', hugepages: { pageSize: '2Mi' } } }],
  ])('%s', (name, spec) => expect(typeNamed(name)?.spec).toEqual(spec));

  it('labels what it is made of', () => {
    expect(typeNamed('rt1.small')?.metadata.labels).toEqual(
      Object.fromEntries(
        Object.entries({
          class: 'realtime',
          'common-instancetypes-version': 'v1.7.0',
          cpu: '1',
          dedicatedCPUPlacement: 'true',
          hugepages: '1Gi',
          'icon-pf': 'pficon-server-group',
          isolateEmulatorThread: 'true',
          memory: '2Gi',
          numa: 'true',
          realtime: 'true',
          size: 'small',
          vendor: 'kubevirt.io',
          version: '1',
        }).map(([key, value]) => [`instancetype.kubevirt.io/${key}`, value]),
      ),
    );
  });
});

describe('preferences', () => {
  it('of a Linux guest', () => {
    expect(preferenceNamed('rhel.9.desktop')?.spec).toEqual({
      annotations: { 'vm.kubevirt.io/os': 'linux' },
      devices: {
        preferredAutoattachInputDevice: true,
        preferredDiskBus: 'virtio',
        preferredDiskDedicatedIoThread: true,
        preferredInputBus: 'virtio',
        preferredInputType: 'tablet',
        preferredInterfaceModel: 'virtio',
        preferredRng: {},
      },
      features: { preferredSmm: {} },
      firmware: { preferredEfi: { secureBoot: true } },
      preferredArchitecture: 'amd64',
      requirements: { architecture: 'amd64', cpu: { guest: 1 }, memory: { guest: '1536Mi' } },
    });
  });

  it('of Windows, with and without drivers of ours', () => {
    const devices = (name: string): unknown => preferenceNamed(name)?.spec.devices;
    expect(devices('windows.2k8')).toEqual({
      preferredAutoattachInputDevice: true,
      preferredDiskBus: 'sata',
      preferredInterfaceModel: 'e1000',
    });
    expect(devices('windows.11.virtio')).toMatchObject({
      preferredDiskBus: 'virtio',
      preferredTPM: { persistent: true },
      preferredVideoType: 'virtio',
    });
    expect(preferenceNamed('windows.11')?.spec.firmware).toEqual({ preferredEfi: { persistent: true, secureBoot: true } });
    expect(preferenceNamed('windows.xp.virtio')).toBeUndefined();
  });

  it.each(['fedora', 'fedora.arm64', 'fedora.s390x'])('%s asks for its architecture', (name) => {
    const arch = name.split('.')[1] ?? 'amd64';
    expect([preferenceNamed(name)?.spec.preferredArchitecture, preferenceNamed(name)?.spec.requirements?.architecture]).toEqual([
      arch,
      arch,
    ]);
  });
});
