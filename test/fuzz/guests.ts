// Guests that admission lets through, each a random choice among everything that a VMI can ask for, and the node that could run them.
// The number of a guest is its seed. Used by the property tests of the converter and where libvirt judges its domains.
import type { VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../src/api/index.js';
import { type ClusterConfig, clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { ALPHA_GATES } from '../../src/core/config/gates.js';
import { type Arch, type DomainFacts, PLAIN_FACTS } from '../../src/core/converter/index.js';
import { defaultVmi } from '../../src/core/defaults/index.js';
import { admitVmiCreate } from '../../src/webhooks/validate/vmi/admit.js';
import { type Random, randomOf } from './random.js';
import { either, maybe, named, object, one, type Shape } from './shapes.js';

const onOff = object({ enabled: maybe(one(true, false), 0.5) });
const nothing = one({});
const yesNo = one(true, false);

const CPU = object({
  cores: maybe(one(1, 2, 4), 0.6),
  sockets: maybe(one(1, 2, 3)),
  threads: maybe(one(1, 2)),
  maxSockets: maybe(one(4, 8)),
  model: maybe(one('host-model', 'host-passthrough', 'Haswell', 'Skylake-Server', 'EPYC')),
  features: maybe(
    either(
      one([{ name: 'vmx', policy: 'require' }]),
      one([{ name: 'pcid' }, { name: 'invtsc', policy: 'require' }]),
      one([{ name: 'mpx', policy: 'optional' }]),
    ),
  ),
});

const PINNED_CPU = object({
  cores: one(1, 2, 4),
  sockets: maybe(one(1, 2)),
  threads: maybe(one(1, 2)),
  dedicatedCpuPlacement: one(true),
  isolateEmulatorThread: maybe(yesNo, 0.5),
  model: maybe(one('host-passthrough')),
  numa: maybe(one({ guestMappingPassthrough: {} })),
  realtime: maybe(one({}, { mask: '0' }), 0.2),
});

const MEMORY = object({
  guest: one('256Mi', '1Gi', '1536Mi', '3Gi'),
  maxGuest: maybe(one('4Gi', '8Gi')),
  hugepages: maybe(one({ pageSize: '2Mi' }), 0.15),
});

const CLOCK = object({
  utc: maybe(one({}, { offsetSeconds: 3600 }), 0.4),
  timezone: maybe(one('Europe/Rome', 'UTC')),
  timer: maybe(
    object({
      hpet: maybe(object({ present: maybe(yesNo), tickPolicy: maybe(one('delay', 'catchup', 'merge', 'discard')) }), 0.5),
      pit: maybe(object({ present: maybe(yesNo), tickPolicy: maybe(one('delay', 'catchup', 'discard')) }), 0.5),
      rtc: maybe(object({ present: maybe(yesNo), tickPolicy: maybe(one('delay', 'catchup')), track: maybe(one('guest', 'wall')) }), 0.5),
      kvm: maybe(object({ present: maybe(yesNo) }), 0.5),
      hyperv: maybe(object({ present: maybe(yesNo) }), 0.5),
    }),
    0.6,
  ),
});

const HYPERV = object({
  relaxed: maybe(onOff),
  vapic: maybe(onOff),
  vpindex: maybe(onOff, 0.6),
  runtime: maybe(onOff),
  synic: maybe(onOff, 0.6),
  synictimer: maybe(object({ enabled: maybe(yesNo), direct: maybe(onOff) })),
  spinlocks: maybe(object({ enabled: maybe(yesNo), spinlocks: maybe(one(4, 4096, 8191)) })),
  reset: maybe(onOff),
  vendorid: maybe(object({ enabled: maybe(yesNo), vendorid: maybe(one('KubeVirt', 'AuthenticAMD'), 0.8) })),
  frequencies: maybe(onOff),
  reenlightenment: maybe(onOff),
  tlbflush: maybe(object({ enabled: maybe(yesNo), direct: maybe(onOff), extended: maybe(onOff) })),
  ipi: maybe(onOff),
  evmcs: maybe(onOff, 0.1),
});

const FEATURES = object({
  acpi: maybe(onOff),
  apic: maybe(object({ enabled: maybe(yesNo), endOfInterrupt: maybe(yesNo) })),
  smm: maybe(onOff, 0.4),
  hyperv: maybe(HYPERV),
  hypervPassthrough: maybe(onOff, 0.05),
  kvm: maybe(object({ hidden: maybe(yesNo) })),
  pvspinlock: maybe(onOff),
});

const FIRMWARE = object({
  uuid: maybe(one('5d307ca9-b3ef-428c-8861-06e72d69f223')),
  serial: maybe(one('S-1 <&"> é')),
  bootloader: maybe(
    either(
      object({ bios: object({ useSerial: maybe(yesNo) }) }),
      object({ efi: object({ secureBoot: maybe(yesNo, 0.6), persistent: maybe(yesNo) }) }),
    ),
  ),
  kernelBoot: maybe(
    one({
      container: { image: 'registry.example/kernel:v1', kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' },
      kernelArgs: 'console=ttyS0 a="<b>"',
    }),
    0.15,
  ),
  acpi: maybe(one({ slicNameRef: 'slic' }, { msdmNameRef: 'slic' }), 0.1),
});

const DISK = object({
  bootOrder: maybe((random) => random.int(90) + 10, 0.2),
  cache: maybe(one('none', 'writethrough', 'writeback'), 0.2),
  io: maybe(one('native', 'threads'), 0.15),
  errorPolicy: maybe(one('stop', 'ignore', 'report', 'enospace'), 0.2),
  serial: maybe(one('S-1', 'CVLY623300HK240D')),
  shareable: maybe(yesNo, 0.1),
  dedicatedIOThread: maybe(yesNo),
  blockSize: maybe(
    one(
      { custom: { logical: 512, physical: 4096 } },
      { custom: { logical: 4096, physical: 4096, discardGranularity: 8192 } },
      { matchVolume: {} },
    ),
    0.2,
  ),
  tag: maybe(one('role')),
});

const TARGET: Shape = either(
  object({
    disk: object({
      bus: maybe(one('virtio', 'virtio', 'sata', 'scsi', 'usb'), 0.8),
      readonly: maybe(yesNo, 0.1),
      pciAddress: maybe(one('0000:00:1a.0', '0000:07:00.0'), 0.05),
    }),
  }),
  object({ disk: one({ bus: 'virtio' }) }),
  object({ cdrom: object({ bus: maybe(one('sata', 'scsi', 'usb')), readonly: maybe(yesNo), tray: maybe(one('open', 'closed')) }) }),
  object({ lun: object({ bus: one('scsi', 'scsi', 'sata'), readonly: maybe(yesNo) }) }),
);

/** `$` is the volume's name. */
const SOURCES: readonly object[] = [
  { containerDisk: { image: 'registry.example/disk:v1' } },
  { cloudInitNoCloud: { userData: '#cloud-config' } },
  { cloudInitConfigDrive: { userData: '#cloud-config' } },
  { persistentVolumeClaim: { claimName: 'claim' } },
  { dataVolume: { name: 'volume' } },
  { ephemeral: { persistentVolumeClaim: { claimName: 'claim' } } },
  { emptyDisk: { capacity: '1Gi' } },
  { hostDisk: { path: '/data/disk.img', type: 'DiskOrCreate', capacity: '1Gi' } },
  { configMap: { name: 'config' } },
  { secret: { secretName: 'secret' } },
  { downwardAPI: { fields: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  { serviceAccount: { serviceAccountName: 'robot' } },
  { sysprep: { configMap: { name: 'answers' } } },
  { downwardMetrics: {} },
];

const INTERFACE = object({
  model: maybe(one('virtio', 'e1000', 'e1000e', 'igb', 'rtl8139'), 0.4),
  macAddress: maybe(one('02:00:00:00:00:11', '02-00-00-00-00-12', '0200.0000.0013')),
  ports: maybe(
    one([
      { name: 'http', port: 80, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ]),
  ),
  bootOrder: maybe((random) => random.int(9) + 1, 0.2),
  pciAddress: maybe(one('0000:00:1c.0', '0000:06:00.0'), 0.05),
  acpiIndex: maybe((random) => random.int(100) + 1, 0.2),
  state: maybe(one('up', 'down', 'absent'), 0.15),
  tag: maybe(one('role')),
});

const DEVICES = object({
  ...Object.fromEntries(
    ['autoattachGraphicsDevice', 'autoattachMemBalloon', 'autoattachSerialConsole', 'logSerialConsole', 'blockMultiQueue'].map((key) => [
      key,
      maybe(yesNo),
    ]),
  ),
  ...Object.fromEntries(
    ['networkInterfaceMultiqueue', 'useVirtioTransitional', 'disableHotplug', 'autoattachInputDevice', 'autoattachVSOCK'].map((key) => [
      key,
      maybe(yesNo),
    ]),
  ),
  clientPassthrough: maybe(nothing),
  downwardMetrics: maybe(nothing, 0.15),
  rng: maybe(nothing),
  tpm: maybe(object({ enabled: maybe(yesNo), persistent: maybe(yesNo) })),
  sound: maybe(object({ name: one('audio'), model: maybe(one('ich9', 'ac97')) })),
  video: maybe(object({ type: one('vga', 'virtio', 'bochs', 'cirrus', 'ramfb') }), 0.2),
  inputs: maybe(named('input', 2, object({ type: one('tablet'), bus: maybe(one('usb', 'virtio')) }))),
  watchdog: maybe(object({ name: one('dog'), i6300esb: object({ action: maybe(one('reset', 'poweroff', 'shutdown')) }) })),
  panicDevices: maybe(object({ 0: object({ model: one('hyperv', 'isa', 'pvpanic') }) }), 0.2),
  gpus: maybe(named('gpu', 2, object({ deviceName: one('vendor.com/gpu', 'vendor.com/vgpu') })), 0.1),
  hostDevices: maybe(named('dev', 2, object({ deviceName: one('vendor.com/nic', 'vendor.com/key') })), 0.1),
});

const DOMAIN = object({
  cpu: either(maybe(CPU, 0.7), maybe(CPU, 0.7), PINNED_CPU),
  memory: MEMORY,
  clock: maybe(CLOCK),
  features: maybe(FEATURES, 0.6),
  firmware: maybe(FIRMWARE, 0.5),
  machine: maybe(one({ type: 'q35' }, { type: 'pc-q35-8.2' })),
  chassis: maybe(object({ manufacturer: maybe(one('Acme & Sons')), asset: maybe(one('42')), sku: maybe(one('')) })),
  ioThreadsPolicy: maybe(one('shared', 'auto')),
  launchSecurity: maybe(one({ sev: {} }, { snp: {} }, { tdx: {} }), 0.05),
  rebootPolicy: maybe(one('Reboot', 'Terminate')),
  resources: maybe(one({ requests: { cpu: '2' } }, { requests: { memory: '64Mi' } })),
});

const ANNOTATIONS: readonly Record<string, string>[] = [
  {},
  {},
  { 'kubevirt.io/placePCIDevicesOnRootComplex': 'true' },
  { 'kubevirt.io/disablePCIHole64': 'true' },
  { 'kubevirt.io/free-page-reporting-disabled': 'true' },
  { 'kubevirt.io/memfd': 'false' },
];

type Named = { name: string };

function addDisks(spec: VirtualMachineInstanceSpec, random: Random): void {
  const disks = Array.from({ length: random.int(5) + 1 }, (_, i) => ({
    name: `d${i}`,
    ...(DISK(random) as object),
    ...(TARGET(random) as object),
  }));
  const volumes = disks.map(({ name }) => ({ name, ...structuredClone(random.pick(SOURCES)) }));
  if (spec.domain.firmware?.acpi) volumes.push({ name: 'slic', secret: { secretName: 'slic' } } as Named);
  if (random.chance(0.15)) {
    spec.domain.devices.filesystems = [{ name: 'share', virtiofs: {} }];
    volumes.push({ name: 'share', configMap: { name: 'shared' } } as Named);
  }
  spec.domain.devices.disks = disks;
  spec.volumes = volumes;
}

const BINDINGS = ['bridge', 'masquerade', 'sriov', 'passtBinding'] as const;

function addInterfaces(spec: VirtualMachineInstanceSpec, random: Random): void {
  const first = random.pick(['masquerade', 'bridge', 'passtBinding'] as const);
  const kinds = [first, ...Array.from({ length: random.int(3) }, () => random.pick([BINDINGS[0], BINDINGS[2]]))];
  spec.domain.devices.interfaces = kinds.map((kind, i) => ({ name: `n${i}`, ...(INTERFACE(random) as object), [kind]: {} }));
  spec.networks = kinds.map((_, i) => (i === 0 ? { name: 'n0', pod: {} } : { name: `n${i}`, multus: { networkName: `net${i}` } }));
}

/** Of any kind, and perhaps of none that admission takes. */
export function wishedGuest(random: Random): VirtualMachineInstance {
  const domain = DOMAIN(random) as VirtualMachineInstanceSpec['domain'];
  const devices = DEVICES(random) as VirtualMachineInstanceSpec['domain']['devices'] & { panicDevices?: object };
  const spec: VirtualMachineInstanceSpec = { domain: { ...domain, devices } };
  if (devices.panicDevices) devices.panicDevices = Object.values(devices.panicDevices);
  addDisks(spec, random);
  if (random.chance(0.9)) addInterfaces(spec, random);
  if (random.chance(0.2)) spec.startStrategy = 'Paused';
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: {
      name: 'guest',
      namespace: 'default',
      uid: '11111111-2222-3333-4444-555555555555',
      annotations: { ...random.pick(ANNOTATIONS) },
    },
    spec,
  };
}

const CONFIG: ClusterConfig = clusterConfigOf({
  developerConfiguration: { featureGates: [...ALPHA_GATES].filter((gate) => gate !== 'Root') },
  architectureConfiguration: { ppc64le: {} },
});

/** The guest of this number as the launcher gets it; undefined when admission refuses it. */
export function admittedGuest(seed: number, architecture: Arch = 'amd64'): VirtualMachineInstance | undefined {
  const wished = wishedGuest(randomOf(seed));
  return admitted({ ...wished, spec: { ...wished.spec, architecture } });
}

/** With its defaults, and what the controllers write into its status. */
export function admitted(wished: VirtualMachineInstance): VirtualMachineInstance | undefined {
  const defaulted = defaultVmi(wished, CONFIG, { randomUuid: () => '00000000-0000-4000-8000-000000000000' });
  if (!defaulted.ok || !admitVmiCreate(defaulted.value, CONFIG, false).allowed) return undefined;
  const { value } = defaulted;
  const interfaces = (value.spec.domain.devices.interfaces ?? []).map(({ name }) => ({ name, podInterfaceName: 'eth0' }));
  return { ...value, status: { ...value.status, interfaces, ...(value.spec.domain.devices.autoattachVSOCK ? { VSOCKCID: 5 } : {}) } };
}

const FIRMWARE_DIR = '/usr/share/OVMF';
const FIRMWARE_FILES = [
  'OVMF_CODE_4M.fd',
  'OVMF_VARS_4M.fd',
  'OVMF_CODE_4M.secboot.fd',
  'OVMF_VARS_4M.ms.fd',
  'OVMF_CODE.cc.fd',
  'OVMF_VARS.fd',
  'AAVMF_CODE.fd',
  'AAVMF_VARS.fd',
];
const cells = [0, 1].map((id) => ({
  id,
  cpus: Array.from({ length: 16 }, (_, n) => ({ id: 16 * id + n, siblings: [16 * id + (n - (n % 2)), 16 * id + (n - (n % 2)) + 1] })),
  distances: [0, 1].map((other) => ({ id: other, value: other === id ? 10 : 20 })),
}));

/** An emulating node with every device that a guest of these may ask for, as the launcher of the image sees it. */
export function nodeOf({ spec }: VirtualMachineInstance): DomainFacts {
  const names = (spec.volumes ?? []).map(({ name }) => name);
  const interfaces = spec.domain.devices.interfaces ?? [];
  const tapped = interfaces.filter(({ bridge, masquerade }) => bridge ?? masquerade).map(({ name }) => name);
  return {
    ...PLAIN_FACTS,
    hostArch: (spec.architecture ?? 'amd64') as Arch,
    hypervisorDevicePresent: false,
    allowEmulation: true,
    adaptCpuToEmulation: true,
    translationCacheMiB: 32,
    hotplugPorts: spec.domain.devices.disableHotplug !== true,
    libvirtVersion: 11_003_000,
    cpuSet: Array.from({ length: 32 }, (_, i) => i),
    topology: { cells },
    pciNodes: Object.fromEntries(['81:00.0', '82:00.0', '83:00.0', '84:00.0', '90:00.1', '90:00.2'].map((at) => [`0000:${at}`, 0])),
    smbios: { manufacturer: 'KubeVirt', product: 'None', family: 'KubeVirt' },
    interfaceAttachments: Object.fromEntries(tapped.map((name) => [name, 'tap'])),
    links: Object.fromEntries(tapped.map((name, i) => [name, { tap: `tap${i}`, mac: `02:00:00:00:01:0${i}`, mtu: 1450 }])),
    containerDiskFormats: Object.fromEntries(names.map((name, i) => [name, i % 2 === 0 ? 'qcow2' : 'raw'])),
    blockVolumes: new Set(names.filter((_, i) => i % 2 === 1)),
    blockSizes: Object.fromEntries(names.map((name) => [name, { logical: 512, physical: 4096 }])),
    diskBackends: Object.fromEntries(names.map((name, i) => [name, { directIo: i % 3 !== 2, preallocated: i % 2 === 0 }])),
    firmwareFiles: new Set(FIRMWARE_FILES.map((name) => `${FIRMWARE_DIR}/${name}`)),
    firmwareDir: FIRMWARE_DIR,
    env: {
      PCI_RESOURCE_VENDOR_COM_GPU: '0000:81:00.0,0000:82:00.0',
      MDEV_PCI_RESOURCE_VENDOR_COM_VGPU: 'aa618089-8b16-4d01-a136-25a0f3c73123,bb618089-8b16-4d01-a136-25a0f3c73123',
      PCI_RESOURCE_VENDOR_COM_NIC: '0000:83:00.0,0000:84:00.0',
      USB_RESOURCE_VENDOR_COM_KEY: '1:3,1:4',
    },
    sriovAddresses: Object.fromEntries(interfaces.filter(({ sriov }) => sriov).map(({ name }, i) => [name, `0000:90:00.${i + 1}`])),
    metadata: { uid: '11111111-2222-3333-4444-555555555555', gracePeriodSeconds: 30 },
  };
}
