// Whole domains of a few guests that together use every step. A changed golden file is a changed guest: look at each line.
import { describe, it } from 'vitest';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import { type DomainFacts, renderDomainXml } from '../../src/core/converter/index.js';
import { factsOf, GUEST_UID, type GuestParts, guest } from '../builders/domain.js';
import { expectGolden } from './golden.js';

const UUID = '5d307ca9-b3ef-428c-8861-06e72d69f223';
const OVMF = '/usr/share/OVMF';
const SMBIOS = { manufacturer: 'KubeVirt', product: 'None', family: 'KubeVirt' };

interface Guest {
  readonly parts: GuestParts;
  readonly facts: Partial<DomainFacts>;
}

/** What an ordinary VM boots with on a node without hardware virtualization. */
const EMULATED: Guest = {
  parts: {
    domain: {
      cpu: { cores: 1, sockets: 1, threads: 1, maxSockets: 2, model: 'host-passthrough' },
      memory: { guest: '1Gi', maxGuest: '4Gi' },
      machine: { type: 'q35' },
      features: { acpi: { enabled: true } },
    },
    devices: {
      disks: [
        { name: 'root', disk: { bus: 'virtio' }, bootOrder: 1 },
        { name: 'seed', disk: { bus: 'virtio' } },
        { name: 'data', disk: { bus: 'scsi' } },
        { name: 'scratch', disk: { bus: 'virtio' } },
      ],
      rng: {},
    },
    spec: {
      volumes: [
        { name: 'root', containerDisk: { image: 'registry.example/disk:v1' } },
        { name: 'seed', cloudInitNoCloud: { userData: '#cloud-config' } },
        { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'scratch', emptyDisk: { capacity: '1Gi' } },
      ],
    },
  },
  facts: {
    hypervisorDevicePresent: false,
    allowEmulation: true,
    adaptCpuToEmulation: true,
    translationCacheMiB: 32,
    hotplugPorts: true,
    links: { default: { tap: 'tap0', mac: '02:00:00:12:34:56', mtu: 1450 } },
    blockVolumes: new Set(['data']),
    diskBackends: {
      root: { directIo: true, preallocated: false },
      seed: { directIo: true, preallocated: true },
      data: { directIo: true, preallocated: false },
      scratch: { directIo: false, preallocated: false },
    },
    metadata: { uid: GUEST_UID, gracePeriodSeconds: 30 },
  },
};

const WINDOWS: Guest = {
  parts: {
    domain: {
      cpu: { cores: 4, model: 'Skylake-Server' },
      memory: { guest: '8Gi' },
      machine: { type: 'pc-q35-rhel9.4.0' },
      clock: {
        timezone: 'Europe/Rome',
        timer: { hpet: { present: false }, hyperv: {}, pit: { tickPolicy: 'delay' }, rtc: { tickPolicy: 'catchup' } },
      },
      features: {
        acpi: {},
        apic: {},
        smm: {},
        hyperv: {
          relaxed: {},
          vapic: {},
          vpindex: {},
          synic: {},
          synictimer: { direct: {} },
          spinlocks: { spinlocks: 8191 },
          tlbflush: {},
        },
      },
      firmware: { uuid: UUID, serial: 'S-1', bootloader: { efi: {} } },
      chassis: { manufacturer: 'Acme', asset: '42' },
    },
    devices: {
      disks: [
        { name: 'root', disk: { bus: 'sata' } },
        { name: 'answers', cdrom: { bus: 'sata' } },
      ],
      inputs: [{ name: 'tablet', type: 'tablet', bus: 'usb' }],
      interfaces: [{ name: 'default', masquerade: {}, model: 'e1000e' }],
      tpm: { persistent: true },
      sound: { name: 'audio' },
      panicDevices: [{ model: 'hyperv' }],
    },
    spec: {
      volumes: [
        { name: 'root', dataVolume: { name: 'win' } },
        { name: 'answers', sysprep: { configMap: { name: 'answers' } } },
      ],
    },
  },
  facts: { firmwareFiles: new Set([`${OVMF}/OVMF_CODE.secboot.fd`, `${OVMF}/OVMF_VARS.secboot.fd`]) },
};

const PINNED: Guest = {
  parts: {
    domain: {
      cpu: {
        cores: 2,
        sockets: 2,
        model: 'host-passthrough',
        dedicatedCpuPlacement: true,
        isolateEmulatorThread: true,
        numa: { guestMappingPassthrough: {} },
        realtime: {},
      },
      memory: { guest: '2Gi', hugepages: { pageSize: '2Mi' } },
      features: { acpi: {} },
      ioThreadsPolicy: 'supplementalPool',
      ioThreads: { supplementalPoolThreadCount: 2 },
    },
    devices: {
      autoattachMemBalloon: false,
      blockMultiQueue: true,
      networkInterfaceMultiqueue: true,
      gpus: [{ name: 'gpu', deviceName: 'vendor.com/gpu' }],
      hostDevices: [{ name: 'key', deviceName: 'vendor.com/usb' }],
      interfaces: [
        { name: 'default', masquerade: {} },
        { name: 'fast', sriov: {} },
      ],
    },
    spec: {
      networks: [
        { name: 'default', pod: {} },
        { name: 'fast', multus: { networkName: 'fast' } },
      ],
    },
  },
  facts: {
    cpuSet: [0, 1, 2, 3, 4, 5, 6, 7],
    topology: {
      cells: [0, 1].map((id) => ({
        id,
        cpus: [0, 1, 2, 3].map((n) => ({ id: 4 * id + n, siblings: [] })),
        distances: [
          { id: 0, value: id === 0 ? 10 : 20 },
          { id: 1, value: id === 1 ? 10 : 20 },
        ],
      })),
    },
    env: { PCI_RESOURCE_VENDOR_COM_GPU: '0000:81:00.0', USB_RESOURCE_VENDOR_COM_USB: '1:3' },
    sriovAddresses: { fast: '0000:82:00.1' },
    iommufd: true,
  },
};

const ENCRYPTED: Guest = {
  parts: {
    domain: {
      firmware: { uuid: UUID, bootloader: { efi: { secureBoot: false } } },
      launchSecurity: { sev: { policy: { encryptedState: true } } },
      ioThreadsPolicy: 'auto',
      resources: { requests: { cpu: '2' } },
      rebootPolicy: 'Terminate',
    },
    devices: {
      clientPassthrough: {},
      downwardMetrics: {},
      filesystems: [{ name: 'share', virtiofs: {} }],
      rng: {},
      watchdog: { name: 'dog', i6300esb: { action: 'reset' } },
    },
    spec: { startStrategy: 'Paused' },
    status: { VSOCKCID: 77 },
    annotations: { 'kubevirt.io/ignitiondata': '{"ignition":{}}', 'kubevirt.io/placePCIDevicesOnRootComplex': 'true' },
  },
  facts: { firmwareFiles: new Set([`${OVMF}/OVMF_CODE.cc.fd`, `${OVMF}/OVMF_VARS.fd`]) },
};

const ARM64: Guest = {
  parts: {
    spec: { architecture: 'arm64' },
    domain: {
      cpu: { cores: 2, model: 'host-passthrough' },
      features: { acpi: {} },
      firmware: { uuid: UUID, bootloader: { efi: { secureBoot: false } } },
    },
  },
  facts: {
    hostArch: 'arm64',
    firmwareDir: '/usr/share/AAVMF',
    firmwareFiles: new Set(['/usr/share/AAVMF/AAVMF_CODE.fd', '/usr/share/AAVMF/AAVMF_VARS.fd']),
  },
};

const S390X: Guest = {
  parts: { spec: { architecture: 's390x' }, devices: { watchdog: { name: 'dog', diag288: { action: 'reset' } } } },
  facts: { hostArch: 's390x' },
};

const PPC64LE: Guest = {
  parts: {
    spec: { architecture: 'ppc64le' },
    domain: {
      cpu: { cores: 2, sockets: 1, threads: 1, maxSockets: 2 },
      memory: { guest: '2Gi', maxGuest: '8Gi' },
      features: { acpi: {} },
    },
    devices: { tpm: {}, rng: {}, watchdog: { name: 'dog', i6300esb: { action: 'reset' } } },
  },
  facts: { hostArch: 'ppc64le', hotplugPorts: true },
};

const GUESTS: Readonly<Record<string, Guest>> = {
  'amd64-emulated': EMULATED,
  'amd64-encrypted': ENCRYPTED,
  'amd64-pinned': PINNED,
  'amd64-windows': WINDOWS,
  arm64: ARM64,
  ppc64le: PPC64LE,
  s390x: S390X,
};

const xmlOf = ({ parts, facts }: Guest): string => {
  const vmi: VirtualMachineInstance = guest(parts);
  return renderDomainXml(vmi, factsOf({ smbios: SMBIOS, ...facts }));
};

describe('whole domains', () => {
  it.each(Object.entries(GUESTS))('%s', (name, given) => {
    expectGolden(`domains/${name}.xml`, xmlOf(given));
  });
});
