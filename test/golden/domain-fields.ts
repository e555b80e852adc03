// The table of domain-fields.test.ts: a value for every field, and the guest in which it counts.

import type { DomainFacts } from '../../src/core/converter/index.js';
import type { GuestParts } from '../builders/domain.js';

const OVMF = '/usr/share/OVMF';

export const FACTS: Partial<DomainFacts> = {
  interfaceAttachments: { default: 'tap', other: 'tap' },
  containerDiskFormats: { root: 'qcow2', v: 'qcow2' },
  blockSizes: { root: { logical: 512, physical: 4096 } },
  blockVolumes: new Set(['block']),
  cpuSet: [0, 1, 2, 3, 4, 5, 6, 7],
  topology: { cells: [{ id: 0, cpus: Array.from({ length: 8 }, (_, id) => ({ id, siblings: [] })), distances: [] }] },
  env: { PCI_RESOURCE_V_COM_D: '0000:81:00.0', MDEV_PCI_RESOURCE_V_COM_G: 'aa618089-8b16-4d01-a136-25a0f3c73123' },
  claimedDevices: [
    { claimName: 'c', requestName: 'r', pciBusId: '0000:82:00.0' },
    { claimName: 'c', requestName: 'q', pciBusId: '0000:83:00.0' },
    { claimName: 'b', requestName: 'r', pciBusId: '0000:84:00.0' },
  ],
  sriovAddresses: { default: '0000:90:00.0' },
  firmwareFiles: new Set(
    ['OVMF_CODE.fd', 'OVMF_CODE.secboot.fd', 'OVMF_VARS.fd', 'OVMF_VARS.secboot.fd', 'OVMF_CODE.cc.fd'].map((name) => `${OVMF}/${name}`),
  ),
};

const PINNED = { cores: 2, dedicatedCpuPlacement: true };
const BIOS_FREE = { bootloader: { efi: { secureBoot: false } } };
const root = { name: 'root', containerDisk: { image: 'i' } };
const secrets = ['s', 't'].map((name) => ({ name, secret: { secretName: name } }));
const of = (target: object): GuestParts => ({
  devices: { disks: [{ name: 'v', ...target }] },
  spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
});
const claimed = { name: 'd', claimName: 'c', requestName: 'r' };
const podInterface = { status: { interfaces: [{ name: 'net', podInterfaceName: 'eth0' }] } };
const net = { spec: { networks: [{ name: 'net', pod: {} }] } };

/** Guests in which a field can count. */
export const CONTEXTS: Readonly<Record<string, GuestParts>> = {
  plain: {},
  noFirmware: { domain: { firmware: {} } },
  counted: { domain: { cpu: { cores: 1 } } },
  cpuFeature: { domain: { cpu: { features: [{ name: 'pcid' }] } } },
  features: { domain: { features: {} } },
  pinned: { domain: { cpu: PINNED } },
  passthrough: { domain: { cpu: PINNED, memory: { guest: '1Gi', hugepages: { pageSize: '2Mi' } } } },
  numa: { domain: { cpu: { ...PINNED, numa: { guestMappingPassthrough: {} } }, memory: { guest: '1Gi' } } },
  pool: { domain: { ioThreadsPolicy: 'supplementalPool' } },
  tables: { spec: { volumes: [root, ...secrets] } },
  kernel: { domain: { firmware: { kernelBoot: { container: { image: 'i', kernelPath: '/k' } } } } },
  sev: { domain: { launchSecurity: { sev: {} }, firmware: BIOS_FREE } },
  efi: { domain: { firmware: BIOS_FREE } },
  noMemory: { domain: { memory: {} } },
  lun: of({ lun: { bus: 'scsi' } }),
  cdrom: of({ cdrom: { bus: 'sata' } }),
  claim: of({ disk: { bus: 'virtio' } }),
  volumes: { spec: { volumes: [root, { name: 'empty', emptyDisk: { capacity: '1Gi' } }] } },
  bare: { spec: { volumes: [{ name: 'root' }] } },
  configMap: { spec: { volumes: [{ name: 'root', configMap: { name: 'c' } }] } },
  gpu: { devices: { gpus: [{ name: 'g', deviceName: 'v.com/g' }] } },
  unknownGpu: { devices: { gpus: [{ name: 'g' }] } },
  claimedGpu: { devices: { gpus: [claimed] } },
  device: { devices: { hostDevices: [{ name: 'd', deviceName: 'v.com/d' }] } },
  unknownDevice: { devices: { hostDevices: [{ name: 'd' }] } },
  claimedDevice: { devices: { hostDevices: [claimed] } },
  dog: { devices: { watchdog: { name: 'w', i6300esb: { action: 'reset' } } } },
  zdog: { devices: { watchdog: { name: 'w', diag288: { action: 'reset' } } }, spec: { architecture: 's390x' } },
  sound: { devices: { sound: { name: 's' } } },
  input: { devices: { inputs: [{ name: 'i', type: 'tablet' }] } },
  unshared: { devices: { filesystems: [{ name: 'f' } as never] } },
  filesystem: { devices: { filesystems: [{ name: 'f', virtiofs: {} }] } },
  unbound: { devices: { interfaces: [{ name: 'default' }] } },
  networks: {
    spec: {
      networks: [
        { name: 'default', pod: {} },
        { name: 'other', multus: { networkName: 'n' } },
      ],
    },
  },
  passtless: { devices: { interfaces: [{ name: 'net' }] }, ...net, ...podInterface },
  passt: { devices: { interfaces: [{ name: 'net', passtBinding: {}, ports: [{ port: 80 }] }] }, ...net, ...podInterface },
  claimedNetwork: {
    devices: { interfaces: [{ name: 'net', sriov: {} }] },
    spec: { networks: [{ name: 'net', resourceClaim: { claimName: 'c', requestName: 'r' } }] },
  },
};

/** Path, a value or [value, other value] (else the field is left out), context. */
type Row = readonly [string, unknown, string?];

const HYPERV = ['evmcs', 'frequencies', 'ipi', 'reenlightenment', 'relaxed', 'reset', 'runtime', 'synic', 'vapic', 'vpindex'];
const state = (path: string): Row => [`features.${path}.enabled`, [false, true], 'features'];

export const FIELDS: readonly Row[] = [
  ...['asset', 'manufacturer', 'serial', 'sku', 'version'].map((key): Row => [`chassis.${key}`, 'Acme']),
  ['clock.utc.offsetSeconds', 3600],
  ['clock.timezone', 'Europe/Rome'],
  ...['hpet', 'hyperv', 'kvm', 'pit', 'rtc'].map((key): Row => [`clock.timer.${key}.present`, [false, true]]),
  ...['hpet', 'pit', 'rtc'].map((key): Row => [`clock.timer.${key}.tickPolicy`, 'delay']),
  ['clock.timer.rtc.track', 'guest'],
  ['cpu.cores', 2],
  ['cpu.sockets', 2],
  ['cpu.threads', 2],
  ['cpu.maxSockets', 4],
  ['cpu.model', 'Haswell'],
  ['cpu.features[].name', ['pcid', 'vmx']],
  ['cpu.features[].policy', ['require', 'disable'], 'cpuFeature'],
  ['cpu.dedicatedCpuPlacement', true, 'counted'],
  ['cpu.isolateEmulatorThread', true, 'pinned'],
  ['cpu.numa.guestMappingPassthrough', {}, 'passthrough'],
  ...HYPERV.map((key) => state(`hyperv.${key}`)),
  ...['spinlocks', 'vendorid', 'synictimer', 'tlbflush'].map((key) => state(`hyperv.${key}`)),
  ...['synictimer.direct', 'tlbflush.direct', 'tlbflush.extended'].map((key) => state(`hyperv.${key}`)),
  ['features.hyperv.spinlocks.spinlocks', 8191],
  ['features.hyperv.vendorid.vendorid', 'KubeVirt'],
  ['features.hypervPassthrough.enabled', true],
  ...['acpi', 'apic', 'pvspinlock', 'smm'].map(state),
  ['features.apic.endOfInterrupt', true],
  ['features.kvm.hidden', true],
  ['firmware.uuid', '00000000-0000-4000-8000-000000000000', 'noFirmware'],
  ['firmware.serial', 'S-1'],
  ['firmware.bootloader.bios.useSerial', true],
  ['firmware.bootloader.efi.secureBoot', [false, true]],
  ['firmware.acpi.slicNameRef', ['s', 't'], 'tables'],
  ['firmware.acpi.msdmNameRef', ['s', 't'], 'tables'],
  ['firmware.kernelBoot.container.kernelPath', '/other', 'kernel'],
  ['firmware.kernelBoot.container.initrdPath', '/initrd', 'kernel'],
  ['firmware.kernelBoot.kernelArgs', 'quiet', 'kernel'],
  ['ioThreadsPolicy', 'shared'],
  ['ioThreads.supplementalPoolThreadCount', [2, 3], 'pool'],
  ['launchSecurity.sev.policy.encryptedState', true, 'sev'],
  ['launchSecurity.sev.dhCert', 'AAAA', 'sev'],
  ['launchSecurity.sev.session', 'AAAA', 'sev'],
  ['launchSecurity.snp', {}],
  ['launchSecurity.tdx', {}],
  ['machine.type', 'pc-q35-8.2'],
  ['memory.guest', '512Mi'],
  ['memory.maxGuest', '1Gi'],
  ['memory.hugepages.pageSize', ['2Mi', '1Gi'], 'numa'],
  ['rebootPolicy', ['Reboot', 'Terminate']],
  ['resources.requests', { memory: '512Mi' }, 'noMemory'],
  ['resources.limits', { cpu: '2' }],

  ...['autoattachGraphicsDevice', 'autoattachMemBalloon', 'autoattachSerialConsole', 'logSerialConsole'].map(
    (key): Row => [`devices.${key}`, false],
  ),
  ...['networkInterfaceMultiqueue', 'blockMultiQueue', 'useVirtioTransitional', 'disableHotplug'].map(
    (key): Row => [`devices.${key}`, true],
  ),
  ...['clientPassthrough', 'downwardMetrics', 'rng'].map((key): Row => [`devices.${key}`, {}]),
  ['devices.tpm.enabled', [true, false]],
  ['devices.tpm.persistent', true],
  ['devices.sound.name', 'other', 'sound'],
  ['devices.sound.model', 'ac97', 'sound'],
  ['devices.video.type', 'virtio'],
  ['devices.panicDevices[].model', ['hyperv', 'isa']],
  ['devices.inputs[].name', 'other', 'input'],
  ['devices.inputs[].bus', 'virtio', 'input'],
  ['devices.watchdog.name', 'other', 'dog'],
  ['devices.watchdog.i6300esb.action', 'poweroff', 'dog'],
  ['devices.watchdog.diag288.action', 'poweroff', 'zdog'],
  ['devices.filesystems[].name', 'other', 'filesystem'],
  ['devices.filesystems[].virtiofs', {}, 'unshared'],

  ['devices.gpus[].name', 'other', 'gpu'],
  ['devices.gpus[].deviceName', 'v.com/g', 'unknownGpu'],
  ['devices.gpus[].claimName', ['c', 'b'], 'claimedGpu'],
  ['devices.gpus[].requestName', ['r', 'q'], 'claimedGpu'],
  ['devices.gpus[].virtualGPUOptions.display.enabled', [false, true], 'gpu'],
  ['devices.gpus[].virtualGPUOptions.display.ramFB.enabled', [false, true], 'gpu'],
  ['devices.hostDevices[].name', 'other', 'device'],
  ['devices.hostDevices[].deviceName', 'v.com/d', 'unknownDevice'],
  ['devices.hostDevices[].claimName', ['c', 'b'], 'claimedDevice'],
  ['devices.hostDevices[].requestName', ['r', 'q'], 'claimedDevice'],

  ['devices.disks[].name', ['root', 'empty'], 'volumes'],
  ['devices.disks[].disk.bus', 'sata'],
  ['devices.disks[].disk.readonly', true],
  ['devices.disks[].disk.pciAddress', '0000:00:0a.0'],
  ['devices.disks[].lun.bus', 'virtio', 'lun'],
  ['devices.disks[].lun.readonly', true, 'lun'],
  ['devices.disks[].lun.reservation', true, 'lun'],
  ['devices.disks[].cdrom.bus', 'scsi', 'cdrom'],
  ['devices.disks[].cdrom.readonly', false, 'cdrom'],
  ['devices.disks[].cdrom.tray', 'open', 'cdrom'],
  ['devices.disks[].bootOrder', 1],
  ['devices.disks[].cache', 'none'],
  ['devices.disks[].io', 'threads'],
  ['devices.disks[].errorPolicy', 'report'],
  ['devices.disks[].serial', 'S-1'],
  ['devices.disks[].shareable', true, 'claim'],
  ['devices.disks[].dedicatedIOThread', true],
  ['devices.disks[].blockSize.custom.logical', 4096],
  ['devices.disks[].blockSize.custom.physical', 4096],
  ['devices.disks[].blockSize.custom.discardGranularity', 4096],
  ['devices.disks[].blockSize.matchVolume.enabled', [true, false]],

  ['devices.interfaces[].name', ['default', 'other'], 'networks'],
  ['devices.interfaces[].model', 'e1000'],
  ['devices.interfaces[].macAddress', '02:00:00:00:00:01'],
  ['devices.interfaces[].bootOrder', 1],
  ['devices.interfaces[].pciAddress', '0000:00:0b.0'],
  ['devices.interfaces[].acpiIndex', 5],
  ['devices.interfaces[].state', 'down'],
  ['devices.interfaces[].sriov', {}, 'unbound'],
  ['devices.interfaces[].passtBinding', {}, 'passtless'],
  ['devices.interfaces[].ports[].port', [80, 8080], 'passt'],
  ['devices.interfaces[].ports[].protocol', ['TCP', 'UDP'], 'passt'],

  ['volumes[].name', ['v', 'x'], 'cdrom'],
  // One field of each kind makes a volume of the kind.
  ...Object.entries({
    'cloudInitConfigDrive.userData': 'x',
    'cloudInitNoCloud.userData': 'x',
    'configMap.name': 'c',
    'containerDisk.image': 'i',
    'dataVolume.name': 'd',
    'downwardAPI.volumeLabel': 'l',
    downwardMetrics: {},
    'emptyDisk.capacity': '1Gi',
    'ephemeral.persistentVolumeClaim.claimName': 'c',
    'hostDisk.path': '/a/b.img',
    'persistentVolumeClaim.claimName': 'c',
    'secret.secretName': 's',
    'serviceAccount.serviceAccountName': 's',
    'sysprep.configMap.name': 'a',
    'sysprep.secret.name': 'a',
  }).map(([key, value]): Row => [`volumes[].${key}`, value, 'bare']),
  ['networks[].name', ['default', 'other'], 'networks'],
  ['networks[].resourceClaim.claimName', ['c', 'b'], 'claimedNetwork'],
  ['networks[].resourceClaim.requestName', ['r', 'q'], 'claimedNetwork'],
];

interface Elsewhere {
  readonly path: string;
  readonly why: string;
  /** Set, it leaves the XML as it is; without one the field cannot be set alone. */
  readonly value?: unknown;
  readonly context?: string;
}

const elsewhere = (why: string, values: Readonly<Record<string, unknown>>, context?: string): Elsewhere[] =>
  Object.entries(values).map(([path, value]) => ({
    path,
    why,
    ...(value === undefined ? {} : { value }),
    ...(context ? { context } : {}),
  }));

const CLOUD_INIT = ['networkData', 'networkDataBase64', 'networkDataSecretRef.name', 'secretRef.name', 'userDataBase64'];
const DOWNWARD = ['fieldRef.apiVersion', 'fieldRef.fieldPath', 'mode', 'path'];
const RESOURCE = ['containerName', 'divisor', 'resource'].map((key) => `resourceFieldRef.${key}`);
const undefinedOf = (prefix: string, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(keys.map((key) => [`${prefix}.${key}`, undefined]));

export const ELSEWHERE: readonly Elsewhere[] = [
  ...elsewhere('the node agent gives the threads of real-time vCPUs their scheduler', { 'cpu.realtime.mask': undefined }),
  ...elsewhere('admission adds the device to the spec', { 'devices.autoattachInputDevice': true, 'devices.autoattachPodInterface': false }),
  ...elsewhere("the address in the VMI's status makes the device", { 'devices.autoattachVSOCK': true }),
  ...elsewhere('the controller decides by it and says so in the status', { 'devices.disks[].changedBlockTracking': true }),
  ...elsewhere('a role in the metadata of the config drive', { 'devices.disks[].tag': 'r', 'devices.interfaces[].tag': 'r' }),
  ...elsewhere('a role in the metadata of the config drive', { 'devices.gpus[].tag': 'r' }, 'gpu'),
  ...elsewhere('a role in the metadata of the config drive', { 'devices.hostDevices[].tag': 'r' }, 'device'),
  ...elsewhere('there are tablets only', { 'devices.inputs[].type': undefined }),
  ...elsewhere(
    'the node agent makes the tap, by which the launcher attaches the interface',
    { 'devices.interfaces[].bridge': {}, 'devices.interfaces[].masquerade': {}, 'devices.interfaces[].binding.name': 'p' },
    'unbound',
  ),
  ...elsewhere('discontinued: admission refuses it', {
    'devices.interfaces[].macvtap': undefined,
    'devices.interfaces[].passt': undefined,
    'devices.interfaces[].slirp': undefined,
  }),
  ...elsewhere('told to the guest by DHCP', {
    'devices.interfaces[].dhcpOptions.bootFileName': 'f',
    'devices.interfaces[].dhcpOptions.tftpServerName': 't',
    'devices.interfaces[].dhcpOptions.ntpServers[]': '10.0.0.1',
    'devices.interfaces[].dhcpOptions.privateOptions[].option': 240,
    'devices.interfaces[].dhcpOptions.privateOptions[].value': 'v',
  }),
  ...elsewhere('forwarded by the rules of the pod', {
    'devices.interfaces[].portRanges[].start': 1,
    'devices.interfaces[].portRanges[].end': 2,
    'devices.interfaces[].portRanges[].protocol': 'TCP',
  }),
  ...elsewhere('a name for people', { 'devices.interfaces[].ports[].name': 'http' }, 'passt'),
  ...elsewhere('says which storage the variables are kept on, under the same path', { 'firmware.bootloader.efi.persistent': true }, 'efi'),
  ...elsewhere(
    'of the container that brings the kernel',
    {
      'firmware.kernelBoot.container.image': 'other',
      'firmware.kernelBoot.container.imagePullPolicy': 'Always',
      'firmware.kernelBoot.container.imagePullSecret': 's',
    },
    'kernel',
  ),
  ...elsewhere('the launcher holds the guest until its owner attested it', { 'launchSecurity.sev.attestation': {} }, 'sev'),
  ...elsewhere("of the pod's memory", {
    'memory.reservedOverhead.addedOverhead': '64Mi',
    'memory.reservedOverhead.memLock': 'Required',
    'resources.overcommitGuestOverhead': true,
  }),
  ...elsewhere('content of the ISO', undefinedOf('volumes[].cloudInitConfigDrive', CLOUD_INIT)),
  ...elsewhere('content of the ISO', undefinedOf('volumes[].cloudInitNoCloud', CLOUD_INIT)),
  ...elsewhere('content of the ISO', undefinedOf('volumes[].downwardAPI.fields[]', [...DOWNWARD, ...RESOURCE])),
  ...elsewhere(
    'whether the pod waits for it, and the name of its ISO',
    { 'volumes[].configMap.optional': true, 'volumes[].configMap.volumeLabel': 'l' },
    'configMap',
  ),
  ...elsewhere('whether the pod waits for it, and the name of its ISO', undefinedOf('volumes[].secret', ['optional', 'volumeLabel'])),
  ...elsewhere('of the container that brings the image', {
    'volumes[].containerDisk.imagePullPolicy': 'Always',
    'volumes[].containerDisk.imagePullSecret': 's',
    'volumes[].containerDisk.path': '/disk/other.img',
  }),
  ...elsewhere(
    'a directory, shared by virtiofs under the name of the volume',
    undefinedOf('volumes[].containerPath', ['path', 'readOnly']),
  ),
  ...elsewhere('whether it can be plugged; once it is, the status says so', {
    'volumes[].dataVolume.hotpluggable': undefined,
    'volumes[].persistentVolumeClaim.hotpluggable': undefined,
  }),
  ...elsewhere("how the pod mounts it; the guest's side is the disk's readonly", {
    'volumes[].persistentVolumeClaim.readOnly': undefined,
    'volumes[].ephemeral.persistentVolumeClaim.readOnly': undefined,
  }),
  ...elsewhere('how the file on the node is made', undefinedOf('volumes[].hostDisk', ['capacity', 'shared', 'type'])),
  ...elsewhere('a place to dump memory to, not a disk', undefinedOf('volumes[].memoryDump', ['claimName', 'hotpluggable', 'readOnly'])),
  ...elsewhere("the pod's network, and addresses in it", {
    'networks[].multus.default': true,
    'networks[].multus.networkName': 'n',
    'networks[].pod.vmIPv6NetworkCIDR': 'fd10::/64',
    'networks[].pod.vmNetworkCIDR': '10.0.0.0/24',
  }),
];
