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
      ["Invalid spec.domain.resources.requests.memory: spec.domain.resources.requests.memory '900k': must be greater than or equal to 1M."],
    ],
    [
      'request above limit',
      { domain: { resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } } },
      [
        "Invalid spec.domain.resources.requests.memory: spec.domain.resources.requests.memory '2Gi' is greater than spec.domain.resources.limits.memory '1Gi'",
      ],
    ],
    [
      'huge pages do not divide',
      { domain: { memory: { guest: '1025Mi', hugepages: { pageSize: '2Mi' } } } },
      [
        "Invalid spec.domain.resources.requests.memory: spec.domain.resources.requests.memory '0' is not a multiple of the page size spec.domain.memory.hugepages.pageSize '2Mi'",
      ],
    ],
    [
      'guest above limit',
      { domain: { memory: { guest: '2Gi' }, resources: { limits: { memory: '1Gi' } } }, configuration: { vmRolloutStrategy: 'Stage' } },
      [
        "Invalid spec.domain.memory.guest: spec.domain.memory.guest '2Gi' must be equal to or less than the memory limit spec.domain.resources.limits.memory '1Gi'",
      ],
    ],
    [
      'negative CPU limit',
      { domain: { resources: { limits: { cpu: '-1' } } } },
      ["Invalid spec.domain.resources.limits.cpu: spec.domain.resources.limits.cpu '-1': must be greater than or equal to 0."],
    ],
    [
      'machine type',
      { domain: { machine: { type: 'microvm' } } },
      ['Invalid spec.domain.machine.type: spec.domain.machine.type is not supported: microvm (allowed values: [q35* pc-q35*])'],
    ],
    [
      'pinned without CPUs',
      pinned({}),
      [
        'Invalid spec.domain.cpu.dedicatedCpuPlacement: either spec.domain.resources.requests.cpu or spec.domain.resources.limits.cpu or spec.domain.cpu.cores must be provided when DedicatedCPUPlacement is true ',
      ],
    ],
    [
      'pinned against a fraction',
      pinned({}, { resources: { limits: { cpu: '1500m' } } }),
      ['Invalid spec.domain.resources.limits.cpu: provided resources CPU limits must be an interger'],
    ],
    [
      'NUMA unpinned',
      { domain: { cpu: { numa: { guestMappingPassthrough: {} } }, memory: { guest: '1Gi', hugepages: { pageSize: '2Mi' } } } },
      [
        'Invalid spec.domain.cpu.numa.guestMappingPassthrough: spec.domain.cpu.dedicatedCpuPlacement must be set to true when NUMA topology strategy is set in spec.domain.cpu.numa.guestMappingPassthrough',
      ],
    ],
    [
      'CPU feature policy',
      { domain: { cpu: { features: [{ name: 'aes', policy: 'perhaps' }] } } },
      ['NotSupported spec.domain.cpu.features[0].policy: CPU feature aes uses policy perhaps that is not supported.'],
    ],
    [
      'start strategy',
      { spec: { startStrategy: 'Later' } },
      ['Invalid spec.startStrategy: spec.startStrategy is set with an unrecognized option: Later'],
    ],
    [
      'eviction strategy',
      { spec: { evictionStrategy: 'Sometimes' } },
      ['Invalid spec.evictionStrategy: spec.evictionStrategy is set with an unrecognized option: Sometimes'],
    ],
    [
      'probe without network',
      { spec: { readinessProbe: { tcpSocket: { port: 80 } } } },
      ['Invalid spec.readinessProbe.tcpSocket: spec.readinessProbe.tcpSocket is only allowed if the Pod Network is attached'],
    ],
    [
      'node affinity without terms',
      { spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } } },
      [
        'Invalid spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: must have at least one node selector term',
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
      ['Duplicate spec.interfaces: more than one interface is connected to a pod network in spec.interfaces'],
    ],
    [
      'no binding',
      iface({}),
      ['Invalid spec.domain.devices.interfaces[0]: logical n interface must have exactly one binding method or binding plugin'],
    ],
    [
      'reserved MAC',
      iface({ masquerade: {}, macAddress: '02:00:00:00:00:00' }),
      [
        'Invalid spec.domain.devices.interfaces[0].macAddress: The requested MAC address is reserved for the in-pod bridge. Please choose another one.',
      ],
    ],
    [
      'MAC too long',
      iface({ bridge: {}, macAddress: '02:00:00:00:00:00:00:01' }),
      [
        'Invalid spec.domain.devices.interfaces[0].macAddress: interface spec.domain.devices.interfaces[0].name has too long MAC address (02:00:00:00:00:00:00:01).',
      ],
    ],
    [
      'port',
      iface({ masquerade: {}, ports: [{ port: 0 }, { port: 70000, protocol: 'SCTP' }] }),
      [
        'Required spec.domain.devices.interfaces[0].ports[0].port: Port field is mandatory.',
        'Invalid spec.domain.devices.interfaces[0].ports[1].port: Port field must be in range 0 < x < 65536.',
        'Invalid spec.domain.devices.interfaces[0].ports[1].protocol: Unknown protocol, only TCP or UDP allowed',
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
      ['Invalid spec.domain.devices.interfaces[0].portRanges: TCP portRanges [1-9] and [9-12] overlap'],
    ],
    [
      'interface without network',
      { devices: { interfaces: [{ name: 'x', bridge: {} }] } },
      ["Invalid spec.domain.devices.interfaces[0].name: spec.domain.devices.interfaces[0].name 'x' not found."],
    ],
    [
      'the same boot order twice',
      {
        devices: { disks: [{ name: 'd', bootOrder: 1 }], interfaces: [{ name: 'n', ...bootable }] },
        spec: { volumes: [{ name: 'd', emptyDisk: { capacity: '1Gi' } }], networks: [{ name: 'n', pod: {} }] },
      },
      [
        'Invalid spec.domain.devices.interfaces[0].bootOrder: Boot order for spec.domain.devices.interfaces[0].bootOrder already set for a different device.',
      ],
    ],
    ['IDE', disk({ disk: { bus: 'ide' } }), ['Invalid spec.domain.devices.disks[0].disk.bus: IDE bus is not supported']],
    [
      'virtio CD-ROM',
      disk({ cdrom: { bus: 'virtio' } }),
      ['Invalid spec.domain.devices.disks[0].cdrom.bus: Bus type virtio is invalid for CD-ROM device'],
    ],
    [
      'block size',
      disk({ disk: { bus: 'virtio' }, blockSize: { custom: { logical: 600, physical: 1024 } } }),
      ['Invalid spec.domain.devices.disks[0].blockSize.custom.logical: Provided size of 600 is not a power of 2'],
    ],
    [
      'LUN of a file',
      disk({ lun: { bus: 'scsi' } }),
      [
        'Invalid spec.domain.devices.disks[0].lun: spec.domain.devices.disks[0].lun can only be mapped to a DataVolume or PersistentVolumeClaim volume.',
      ],
    ],
    [
      'disk without volume',
      { devices: { disks: [{ name: 'd' }] } },
      ["Invalid spec.domain.devices.disks[0].name: spec.domain.devices.disks[0].Name 'd' not found."],
    ],
    [
      'volume with two sources',
      volume({ emptyDisk: { capacity: '1Gi' }, configMap: { name: 'c' } }),
      ['Invalid spec.volumes[0]: spec.volumes[0] must have exactly one source type set'],
    ],
    [
      'cloud-init too large',
      volume({ cloudInitNoCloud: { userData: 'x'.repeat(2049) } }),
      [
        'Invalid spec.volumes[0].cloudInitNoCloud: spec.volumes[0].cloudInitNoCloud userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data.',
      ],
    ],
    [
      'cloud-init without data',
      volume({ cloudInitConfigDrive: {} }),
      [
        'Invalid spec.volumes[0].cloudInitConfigDrive: spec.volumes[0].cloudInitConfigDrive must have at least one userdatasource or one networkdatasource set.',
      ],
    ],
    ['host disk', volume({ hostDisk: { path: '/d', type: 'Disk' } }), ['Invalid spec.volumes[0]: HostDisk feature gate is not enabled']],
    [
      'path in a container disk',
      volume({ containerDisk: { image: 'i', path: '/disk/../x' } }),
      [
        'Invalid spec.volumes[0].containerDisk: spec.volumes[0].containerDisk must be an absolute path to a file without relative components',
      ],
    ],
    [
      'secure boot without SMM',
      { domain: { firmware: { bootloader: { efi: {} } } } },
      ['Invalid spec.domain: spec.domain has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled.'],
    ],
    [
      'credentials without a way',
      { spec: { accessCredentials: [{ sshPublicKey: { source: { secret: { secretName: 's' } }, propagationMethod: {} } }] } },
      [
        'Invalid spec.accessCredentials[0].sshPublicKey.propagationMethod: spec.accessCredentials[0] must have exactly one propagationMethod set',
      ],
    ],
    [
      'DNS none without server',
      { spec: { dnsPolicy: 'None', dnsConfig: {} } },
      ['Required nameservers: must provide at least one DNS nameserver when `dnsPolicy` is None'],
    ],
    [
      'TDX behind its gate',
      { domain: { launchSecurity: { tdx: {} } } },
      ['Invalid spec.launchSecurity: WorkloadEncryptionTDX feature gate is not enabled in kubevirt-config'],
    ],
    [
      'host devices behind their gate',
      { devices: { hostDevices: [] } },
      ['Invalid spec.HostDevices: Host Devices feature gate is not enabled in kubevirt-config'],
    ],
    [
      'claim that is not listed',
      { devices: { gpus: [{ name: 'g', claimName: 'c', requestName: 'r' }] } },
      ['Invalid spec.resourceClaims: vmi.spec.resourceClaims must specify all claims used in gpus and hostDevices'],
    ],
    [
      'persistent reservation',
      {
        devices: { disks: [{ name: 'v', lun: { bus: 'scsi', reservation: true } }] },
        spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      },
      ['Invalid spec.domain.devices.disks.luns.reservation: persistent reservation is not enabled in kubevirt config'],
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
      ["Invalid spec.domain.volumes[0].name: spec.domain.volumes[0].name 'v' not found."],
    ],
    ['no memory', { domain: { memory: {} } }, {}, [expect.stringContaining('no memory requested')]],
    ['architecture', { spec: { architecture: 'ppc64le' } }, {}, ['Invalid spec.architecture: unsupported architecture: ppc64le']],
    [
      'reserved label',
      {},
      { labels: { 'kubevirt.io/nodeName': 'n' } },
      ['NotSupported metadata.labels: creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited'],
    ],
    [
      'sidecars behind their gate',
      {},
      { annotations: { 'hooks.kubevirt.io/hookSidecars': '[]' } },
      [expect.stringContaining('sidecar feature gate is not enabled')],
    ],
    [
      'watchdog of another architecture',
      { devices: { watchdog: { name: 'w', diag288: {} } } },
      {},
      ['NotSupported spec.domain.devices.watchdog: amd64 only supports I6300ESB watchdog device'],
    ],
    [
      'Hyper-V feature without what it needs',
      { domain: { features: { hyperv: { ipi: { enabled: true }, vpindex: { enabled: false } } } } },
      {},
      [expect.stringContaining("vpindex', which was disabled.")],
    ],
    [
      'discontinued binding',
      { devices: { interfaces: [{ name: 'n', slirp: {} }] }, spec: { networks: [{ name: 'n', pod: {} }] } },
      {},
      [
        'Invalid spec.domain.devices.interfaces[0].slirp: Slirp interface support has been discontinued since v1.3',
        ...Array(2).fill(
          'Invalid spec.domain.devices.interfaces[0]: logical n interface must have exactly one binding method or binding plugin',
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
