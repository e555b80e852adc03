// The rules for VMI specs, a row a rule: what is written, and the causes (type, field, message) that it gets.
import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import type { Cause } from '../rule.js';
import { vmiCreateCauses, vmiSpecCauses } from './rules.js';

interface Given {
  readonly domain?: object;
  readonly devices?: object;
  readonly spec?: object;
  readonly configuration?: KubeVirtConfiguration;
}

const specOf = ({ domain = {}, devices = {}, spec = {} }: Given): VirtualMachineInstanceSpec =>
  ({ architecture: 'amd64', domain: { memory: { guest: '1Gi' }, ...domain, devices }, ...spec }) as VirtualMachineInstanceSpec;
const brief = ({ type, field, message }: Cause): string => `${type.replace('FieldValue', '')} ${field}: ${message}`;
const causesOf = (given: Given): string[] =>
  [...vmiSpecCauses(specOf(given), 'spec', clusterConfigOf(given.configuration ?? {}))].map(brief);

const disk = (disk: object): Given => ({
  devices: { disks: [{ name: 'd', ...disk }] },
  spec: { volumes: [{ name: 'd', emptyDisk: { capacity: '1Gi' } }] },
});
const volume = (source: object): Given => ({ devices: { disks: [{ name: 'v' }] }, spec: { volumes: [{ name: 'v', ...source }] } });
const iface = (iface: object, network: object = { pod: {} }): Given => ({
  devices: { interfaces: [{ name: 'n', ...iface }] },
  spec: { networks: [{ name: 'n', ...network }] },
});
const pinned = (cpu: object, rest: object = {}): Given => ({ domain: { cpu: { dedicatedCpuPlacement: true, ...cpu }, ...rest } });
const gates = (...featureGates: string[]): KubeVirtConfiguration => ({ developerConfiguration: { featureGates } });
const bootable = { bridge: {}, bootOrder: 1 };

describe('vmiSpecCauses', () => {
  it.each<[string, Given]>([
    ['nothing special', {}],
    [
      'a disk with all sorts of settings',
      disk({ disk: { bus: 'virtio' }, serial: 'S-1', cache: 'none', io: 'native', bootOrder: 1, errorPolicy: 'stop' }),
    ],
    [
      'masquerade with ports',
      iface({ masquerade: {}, ports: [{ name: 'http', port: 80, protocol: 'TCP' }], macAddress: '02-00-00-00-00-01' }),
    ],
    ['pinned CPUs', pinned({ cores: 2 })],
    ['cloud-init', volume({ cloudInitNoCloud: { userDataBase64: 'I2Nsb3Vk' } })],
    ['machine type by pattern', { domain: { machine: { type: 'pc-q35-rhel9.2.0' } } }],
    ['SEV', { domain: { launchSecurity: { sev: {} }, firmware: { bootloader: { efi: { secureBoot: false } } } } }],
  ])('allows %s', (_title, given) => {
    expect(causesOf(given)).toEqual([]);
  });

  it.each<[string, Given, string[]]>([
    [
      'request below 1M',
      { domain: { resources: { requests: { memory: '900k' } } } },
      [
        'Invalid spec.domain.resources.requests.memory: spec.domain.resources.requests.memory is 900k: it must be greater than or equal to 1M; was a unit forgotten, as in 1Gi?',
      ],
    ],
    [
      'request above limit',
      { domain: { resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } } },
      [
        'Invalid spec.domain.resources.requests.memory: spec.domain.resources.requests.memory 2Gi is greater than spec.domain.resources.limits.memory 1Gi: lower the request or raise the limit',
      ],
    ],
    [
      'huge pages do not divide',
      { domain: { memory: { guest: '1025Mi', hugepages: { pageSize: '2Mi' } } } },
      [
        'Invalid spec.domain.resources.requests.memory: the memory is not a multiple of the page size spec.domain.memory.hugepages.pageSize 2Mi: round spec.domain.resources.requests.memory or memory.guest',
      ],
    ],
    [
      'guest above limit',
      { domain: { memory: { guest: '2Gi' }, resources: { limits: { memory: '1Gi' } } }, configuration: { vmRolloutStrategy: 'Stage' } },
      [
        'Invalid spec.domain.memory.guest: spec.domain.memory.guest 2Gi must be equal to or less than the memory limit spec.domain.resources.limits.memory 1Gi: lower it, or raise the limit',
      ],
    ],
    [
      'negative CPU limit',
      { domain: { resources: { limits: { cpu: '-1' } } } },
      ['Invalid spec.domain.resources.limits.cpu: spec.domain.resources.limits.cpu is -1: an amount must be greater than or equal to 0'],
    ],
    [
      'machine type',
      { domain: { machine: { type: 'microvm' } } },
      [
        'Invalid spec.domain.machine.type: machine type microvm is not permitted: use one that matches q35*, pc-q35*, or extend emulatedMachines in the KubeVirt resource',
      ],
    ],
    [
      'pinned without CPUs',
      pinned({}),
      [
        'Invalid spec.domain.cpu.dedicatedCpuPlacement: dedicatedCpuPlacement does not say how many CPUs: set spec.domain.cpu.cores, spec.domain.resources.requests.cpu or spec.domain.resources.limits.cpu',
      ],
    ],
    [
      'pinned against a fraction',
      pinned({}, { resources: { limits: { cpu: '1500m' } } }),
      ['Invalid spec.domain.resources.limits.cpu: resources limits of CPU must be a whole number when CPUs are dedicated: round it'],
    ],
    [
      'NUMA unpinned',
      { domain: { cpu: { numa: { guestMappingPassthrough: {} } }, memory: { guest: '1Gi', hugepages: { pageSize: '2Mi' } } } },
      [
        'Invalid spec.domain.cpu.numa.guestMappingPassthrough: spec.domain.cpu.numa.guestMappingPassthrough needs CPUs of its own: set spec.domain.cpu.dedicatedCpuPlacement to true',
      ],
    ],
    [
      'CPU feature policy',
      { domain: { cpu: { features: [{ name: 'aes', policy: 'perhaps' }] } } },
      [
        'NotSupported spec.domain.cpu.features[0].policy: CPU feature aes has the policy "perhaps": use one of force, require, optional, disable, forbid',
      ],
    ],
    [
      'start strategy',
      { spec: { startStrategy: 'Later' } },
      ['Invalid spec.startStrategy: spec.startStrategy is "Later": the only start strategy is Paused; leave it out to start at once'],
    ],
    [
      'eviction strategy',
      { spec: { evictionStrategy: 'Sometimes' } },
      [
        'Invalid spec.evictionStrategy: spec.evictionStrategy is "Sometimes": use one of None, LiveMigrate, LiveMigrateIfPossible, External',
      ],
    ],
    [
      'probe without network',
      { spec: { readinessProbe: { tcpSocket: { port: 80 } } } },
      [
        'Invalid spec.readinessProbe.tcpSocket: spec.readinessProbe.tcpSocket reaches the guest through the pod network: attach it, or probe with exec or guestAgentPing',
      ],
    ],
    [
      'node affinity without terms',
      { spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } } },
      [
        'Invalid spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: there is no term, so that no node would do: add one, or take the selector out',
      ],
    ],
    [
      'two pod networks',
      {
        devices: {
          interfaces: [
            { name: 'a', bridge: {} },
            { name: 'b', bridge: {} },
          ],
        },
        spec: {
          networks: [
            { name: 'a', pod: {} },
            { name: 'b', pod: {} },
          ],
        },
      },
      ['Duplicate spec.interfaces: there are several pod networks: keep one, and use multus for the others'],
    ],
    [
      'no binding',
      iface({}),
      [
        'Invalid spec.domain.devices.interfaces[0]: interface "n" must have exactly one binding: bridge, masquerade, sriov, passtBinding or a plugin',
      ],
    ],
    [
      'reserved MAC',
      iface({ masquerade: {}, macAddress: '02:00:00:00:00:00' }),
      [
        'Invalid spec.domain.devices.interfaces[0].macAddress: MAC address 02:00:00:00:00:00 is that of the bridge in the pod: choose another',
      ],
    ],
    [
      'MAC too long',
      iface({ bridge: {}, macAddress: '02:00:00:00:00:00:00:01' }),
      [
        'Invalid spec.domain.devices.interfaces[0].macAddress: interface "n" has the too long MAC address 02:00:00:00:00:00:00:01: write six bytes, as 02:00:00:12:34:56',
      ],
    ],
    [
      'port',
      iface({ masquerade: {}, ports: [{ port: 0 }, { port: 70000, protocol: 'SCTP' }] }),
      [
        'Required spec.domain.devices.interfaces[0].ports[0].port: a port has no number: set port, from 1 to 65535',
        'Invalid spec.domain.devices.interfaces[0].ports[1].port: port 70000 does not exist: use 1 to 65535',
        'Invalid spec.domain.devices.interfaces[0].ports[1].protocol: protocol SCTP is not forwarded: use TCP or UDP',
      ],
    ],
    [
      'port ranges overlap',
      {
        ...iface({
          masquerade: {},
          portRanges: [
            { start: 1, end: 9, protocol: 'TCP' },
            { start: 9, end: 12, protocol: 'TCP' },
          ],
        }),
        configuration: gates('PortRangesSpec'),
      },
      ['Invalid spec.domain.devices.interfaces[0].portRanges: TCP port ranges 1-9 and 9-12 overlap: join or cut them'],
    ],
    [
      'interface without network',
      { devices: { interfaces: [{ name: 'x', bridge: {} }] } },
      ['Invalid spec.domain.devices.interfaces[0].name: interface "x" has no network: add one of this name to spec.networks'],
    ],
    [
      'the same boot order twice',
      {
        devices: { disks: [{ name: 'd', bootOrder: 1 }], interfaces: [{ name: 'n', ...bootable }] },
        spec: { volumes: [{ name: 'd', emptyDisk: { capacity: '1Gi' } }], networks: [{ name: 'n', pod: {} }] },
      },
      [
        'Invalid spec.domain.devices.interfaces[0].bootOrder: spec.domain.devices.interfaces[0].bootOrder is taken by another device: give each device a boot order of its own',
      ],
    ],
    ['IDE', disk({ disk: { bus: 'ide' } }), ['Invalid spec.domain.devices.disks[0].disk.bus: the IDE bus is not supported: use sata']],
    [
      'virtio CD-ROM',
      disk({ cdrom: { bus: 'virtio' } }),
      ['Invalid spec.domain.devices.disks[0].cdrom.bus: a CD-ROM cannot be on virtio: use sata, scsi or usb'],
    ],
    [
      'block size',
      disk({ disk: { bus: 'virtio' }, blockSize: { custom: { logical: 600, physical: 1024 } } }),
      ['Invalid spec.domain.devices.disks[0].blockSize.custom.logical: a block of 600 bytes is impossible: use a power of 2'],
    ],
    [
      'LUN of a file',
      disk({ lun: { bus: 'scsi' } }),
      [
        'Invalid spec.domain.devices.disks[0].lun: spec.domain.devices.disks[0].lun passes a device of the storage through: give it a dataVolume or persistentVolumeClaim, or make it a disk',
      ],
    ],
    [
      'disk without volume',
      { devices: { disks: [{ name: 'd' }] } },
      ['Invalid spec.domain.devices.disks[0].name: disk "d" has no volume: add one of this name to spec.volumes'],
    ],
    [
      'volume with two sources',
      volume({ emptyDisk: { capacity: '1Gi' }, configMap: { name: 'c' } }),
      ['Invalid spec.volumes[0]: spec.volumes[0] must have exactly one source type set, and has 2: split it, or name its source'],
    ],
    [
      'cloud-init too large',
      volume({ cloudInitNoCloud: { userData: 'x'.repeat(2049) } }),
      [
        'Invalid spec.volumes[0].cloudInitNoCloud: spec.volumes[0].cloudInitNoCloud user data exceeds the 2048 byte limit: put larger data into a Secret and name it in secretRef',
      ],
    ],
    [
      'cloud-init without data',
      volume({ cloudInitConfigDrive: {} }),
      ['Invalid spec.volumes[0].cloudInitConfigDrive: spec.volumes[0].cloudInitConfigDrive is empty: give it user data or network data'],
    ],
    [
      'host disk',
      volume({ hostDisk: { path: '/d', type: 'Disk' } }),
      [
        'Invalid spec.volumes[0]: spec.volumes[0] of type hostDisk needs the feature gate HostDisk, which is off: add it to featureGates under spec.configuration.developerConfiguration of the KubeVirt resource',
      ],
    ],
    [
      'path in a container disk',
      volume({ containerDisk: { image: 'i', path: '/disk/../x' } }),
      [expect.stringMatching(/^Invalid spec.volumes\[0\].containerDisk: .* must be an absolute path/)],
    ],
    [
      'secure boot without SMM',
      { domain: { firmware: { bootloader: { efi: {} } } } },
      ['Invalid spec.domain: secure boot needs system management mode: switch features.smm on, or set bootloader.efi.secureBoot to false'],
    ],
    [
      'credentials without a way',
      { spec: { accessCredentials: [{ sshPublicKey: { source: { secret: { secretName: 's' } }, propagationMethod: {} } }] } },
      [expect.stringMatching(/^Invalid spec.accessCredentials\[0\].sshPublicKey.propagationMethod: .* must have exactly one/)],
    ],
    [
      'DNS none without server',
      { spec: { dnsPolicy: 'None', dnsConfig: {} } },
      [expect.stringMatching(/^Required nameservers: .* at least one/)],
    ],
    [
      'nameservers with a zone',
      { spec: { dnsConfig: { nameservers: ['fe80::1%eth0'] } } },
      [expect.stringMatching(/^Invalid nameservers:/)],
    ],
    [
      'dedicated CPUs less than none',
      pinned({ cores: 2 }, { resources: { requests: { cpu: '-1' } } }),
      [expect.stringMatching(/^Invalid spec.domain.resources.requests.cpu:/)],
    ],
    [
      'TDX behind its gate',
      { domain: { launchSecurity: { tdx: {} } } },
      [expect.stringMatching(/^Invalid spec.launchSecurity: launchSecurity by TDX needs the feature gate WorkloadEncryptionTDX/)],
    ],
    [
      'host devices behind their gate',
      { devices: { hostDevices: [] } },
      [expect.stringMatching(/^Invalid spec.HostDevices: spec.domain.devices.hostDevices needs the feature gate HostDevices/)],
    ],
    [
      'claim that is not listed',
      { devices: { gpus: [{ name: 'g', claimName: 'c', requestName: 'r' }] } },
      ['Invalid spec.resourceClaims: gpus or hostDevices use a claim that is not listed: add each to spec.resourceClaims'],
    ],
    ['vsock behind its gate', { devices: { autoattachVSOCK: true } }, [expect.stringMatching(/VSOCK: .* needs the feature gate VSOCK/)]],
    [
      'persistent reservation',
      {
        devices: { disks: [{ name: 'v', lun: { bus: 'scsi', reservation: true } }] },
        spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      },
      [
        'Invalid spec.domain.devices.disks.luns.reservation: persistent reservations are not enabled: set spec.configuration.persistentReservationConfiguration.enabled of the KubeVirt resource',
      ],
    ],
  ])('%s', (_title, given, expected) => {
    expect(causesOf(given)).toEqual(expected);
  });

  it('reports every fault at once', () => {
    expect(causesOf({ spec: { hostname: 'A', subdomain: 'B', evictionStrategy: 'C', startStrategy: 'D' } })).toHaveLength(4);
  });
});

describe('vmiCreateCauses', () => {
  const create = (given: Given, metadata: object = {}, isOwn = false): string[] => {
    const vmi = { metadata: { name: 'test', ...metadata }, spec: specOf(given) } as VirtualMachineInstance;
    return [...vmiCreateCauses(vmi, clusterConfigOf(given.configuration ?? {}), isOwn)].map(brief);
  };

  it.each<[string, Given, object, string[]]>([
    [
      'volume that nothing uses',
      { spec: { volumes: [{ name: 'v', emptyDisk: { capacity: '1Gi' } }] } },
      {},
      [
        'Invalid spec.domain.volumes[0].name: volume "v" is attached to nothing: add a disk or filesystem of this name, or remove the volume',
      ],
    ],
    ['no memory', { domain: { memory: {} } }, {}, [expect.stringContaining('no memory requested')]],
    [
      'architecture',
      { spec: { architecture: 'ppc64le' } },
      {},
      ['Invalid spec.architecture: architecture "ppc64le" is not supported: use one of amd64, arm64, s390x'],
    ],
    [
      'reserved label',
      {},
      { labels: { 'kubevirt.io/nodeName': 'n' } },
      ["NotSupported metadata.labels: the labels kubevirt.io/nodeName are reserved for KubeVirt's own components: take them out"],
    ],
    [
      'sidecars behind their gate',
      {},
      { annotations: { 'hooks.kubevirt.io/hookSidecars': '[]' } },
      [expect.stringContaining('needs the feature gate Sidecar, which is off')],
    ],
    [
      'watchdog of another architecture',
      { devices: { watchdog: { name: 'w', diag288: {} } } },
      {},
      ['NotSupported spec.domain.devices.watchdog: the watchdog of amd64 is i6300esb: set it and no other'],
    ],
    [
      'Hyper-V feature without what it needs',
      { domain: { features: { hyperv: { ipi: { enabled: true }, vpindex: { enabled: false } } } } },
      {},
      [expect.stringContaining('requires vpindex, which is off')],
    ],
    [
      'discontinued binding',
      { devices: { interfaces: [{ name: 'n', slirp: {} }] }, spec: { networks: [{ name: 'n', pod: {} }] } },
      {},
      [
        'Invalid spec.domain.devices.interfaces[0].slirp: the slirp binding is discontinued since v1.3: use masquerade or passtBinding',
        ...Array(2).fill(
          'Invalid spec.domain.devices.interfaces[0]: interface "n" must have exactly one binding: bridge, masquerade, sriov, passtBinding or a plugin',
        ),
      ],
    ],
  ])('%s', (_title, given, metadata, expected) => {
    expect(create(given, metadata)).toEqual(expected);
  });

  it("lets KubeVirt's own accounts set reserved labels", () => {
    expect(create({}, { labels: { 'kubevirt.io/nodeName': 'n' } }, true)).toEqual([]);
  });
});
