// Everything a domain depends on besides the VMI itself: what the launcher finds in its pod, what virt-handler passes along with a sync
// (VirtualMachineOptions), and what the earlier phases found out. The launcher fills one DomainFacts; the steps only read it.
import type { HostTopology } from './host-topology.js';

export type Arch = 'amd64' | 'arm64' | 's390x' | 'ppc64le';

export interface Smbios {
  readonly manufacturer?: string;
  readonly product?: string;
  readonly version?: string;
  readonly sku?: string;
  readonly family?: string;
}

/** What phase 1 (node agent) prepared in the pod for one interface, as phase 2 (launcher) finds it. */
export interface InterfaceLink {
  /** Tap device to attach to. It exists already: libvirt must neither create nor remove it. */
  readonly tap?: string;
  /** The pod NIC's address, which the guest takes over unless the VMI names another. */
  readonly mac?: string;
  readonly mtu?: number;
}

export interface BlockSizes {
  readonly logical: number;
  readonly physical: number;
  readonly discardGranularity?: number;
}

/** What the launcher found out about the file or device behind a disk. */
export interface DiskBackend {
  /** O_DIRECT works on the image and on its backing file. */
  readonly directIo: boolean;
  /** Every block of the file is allocated. */
  readonly preallocated: boolean;
}

/** A device allocated by a resource claim, found in the claim's metadata file. */
export interface ClaimedDevice {
  readonly claimName: string;
  readonly requestName: string;
  readonly pciBusId?: string;
  readonly mdevUuid?: string;
}

export interface DomainFacts {
  /** Architecture of the node. */
  readonly hostArch: Arch;
  /**
   * The guest is of another architecture and the cluster allows to emulate that (gate CrossArchitectureVirtualization).
   * Then the guest's architecture decides all device models.
   */
  readonly crossArchEmulation: boolean;
  /** Full paths of the QEMU binaries in the image; only looked at when the guest is of another architecture. */
  readonly emulators: ReadonlySet<string>;

  readonly hypervisor: 'kvm' | 'hyperv-direct';
  /** /dev/kvm or /dev/mshv is in the pod and usable. */
  readonly hypervisorDevicePresent: boolean;
  /** --allow-emulation: developerConfiguration.useEmulation. */
  readonly allowEmulation: boolean;
  /**
   * Ask for a CPU that an emulated machine can have where the VMI wants the host's own: QEMU's emulator knows no host-passthrough.
   * The recorded reference leaves the impossible request in place; the launcher sets this.
   */
  readonly adaptCpuToEmulation?: boolean;
  /**
   * The library that will read the domain: 11003000 is 11.3.0. With it, what libvirt or QEMU would refuse is refused here, by the field's name.
   * The recorded reference had none.
   */
  readonly libvirtVersion?: number;
  /** Ceiling in MiB of QEMU's cache of translated code; QEMU's own default takes a large share of the pod's memory. Emulation only. */
  readonly translationCacheMiB?: number;

  /** CPUs of the pod's cgroup, ascending as the kernel lists them. Used with dedicatedCpuPlacement. */
  readonly cpuSet: readonly number[];
  /** VirtualMachineOptions.topology: the node's NUMA cells. */
  readonly topology?: HostTopology;

  /** VirtualMachineOptions.virtualMachineSMBios. */
  readonly smbios?: Smbios;
  /** VirtualMachineOptions.memBalloonStatsPeriod, seconds; 0 = no statistics. */
  readonly memBalloonStatsPeriod: number;
  /** VirtualMachineOptions.clusterConfig.freePageReportingDisabled. */
  readonly freePageReportingDisabled: boolean;
  /** VirtualMachineOptions.clusterConfig.serialConsoleLogDisabled. */
  readonly serialConsoleLogDisabled: boolean;
  /** VirtualMachineOptions.clusterConfig.bochsDisplayForEFIGuests. */
  readonly bochsForEfiGuests: boolean;
  /** VirtualMachineOptions.preallocatedVolumes: volumes whose freed blocks must stay allocated. */
  readonly preallocatedVolumes: ReadonlySet<string>;
  /** VirtualMachineOptions.interfaceDomainAttachment: interface name → 'tap' or 'managedTap'. */
  readonly interfaceAttachments: Readonly<Record<string, string>>;

  /** Interface name → what phase 2 found. Without an entry the interface gets neither target nor MTU (as before phase 2). */
  readonly links?: Readonly<Record<string, InterfaceLink>>;
  /** Container disk volume → image format found by qemu-img ('qcow2', 'raw'). */
  readonly containerDiskFormats: Readonly<Record<string, string>>;
  /** Claim, data and ephemeral volumes that are block devices in the pod. */
  readonly blockVolumes: ReadonlySet<string>;
  /** Volume → qcow2 that tracks its changed blocks (status.changedBlockTracking). */
  readonly changedBlockOverlays: Readonly<Record<string, string>>;
  /**
   * Disk name → block sizes of what lies behind it, for disks with blockSize.matchVolume.
   * Undefined = not probed yet, the guest's sizes are left open; present but without such a disk = an error.
   */
  readonly blockSizes?: Readonly<Record<string, BlockSizes>>;
  /** Disk name → what its backend can do. Present = cache and I/O modes are chosen; absent = left as the VMI has them. */
  readonly diskBackends?: Readonly<Record<string, DiskBackend>>;

  /** Full paths of the firmware files in the image (OVMF_CODE.fd, AAVMF_VARS.fd …). */
  readonly firmwareFiles: ReadonlySet<string>;
  /** --ovmf-path. */
  readonly firmwareDir: string;
  /** --firmware-auto-selection: libvirt picks the Secure Boot firmware. */
  readonly firmwareAutoSelection: boolean;

  /** The container's environment; device plugins announce their devices as PCI_RESOURCE_…, MDEV_PCI_RESOURCE_…, USB_RESOURCE_…. */
  readonly env: Readonly<Record<string, string>>;
  /** SR-IOV interface name → PCI address of its function, from the network-info file. */
  readonly sriovAddresses: Readonly<Record<string, string>>;
  /** Devices of resource claims, from the metadata files in the pod; undefined = not read yet, such devices are left out. */
  readonly claimedDevices?: readonly ClaimedDevice[];
  /**
   * PCI address → NUMA cell of the node, of the devices that the kernel knows the cell of. Present = gate PCINUMAAwareTopology: devices are shown
   * beside the cells of the guest.
   */
  readonly pciNodes?: Readonly<Record<string, number>>;
  /** VirtualMachineOptions.GraceHostDeviceAliases: which of the guest's devices are NVIDIA Grace GPUs, as hostdevice-NAME or gpu-NAME. */
  readonly graceDevices?: readonly string[];
  /** The pod holds an IOMMUFD descriptor for its VFIO devices. */
  readonly iommufd: boolean;
  /** vsock addresses are private to the pod, so every guest has the same one. */
  readonly localVsockNamespace: boolean;
  /** The domain is prepared to receive a migration: host devices and hotplug volumes arrive later. */
  readonly migrationTarget: boolean;
  /** With migrationTarget: a single mediated GPU is migrated (clusterConfig.vGPULiveMigrationEnabled). */
  readonly vgpuLiveMigration: boolean;
  /** Launcher verbosity above 5: SeaBIOS writes its log to a pipe. */
  readonly firmwareLog: boolean;
  /** Goes into the domain's metadata, from where a restarted launcher reads it back. */
  readonly metadata?: { readonly uid: string; readonly gracePeriodSeconds: number };
  /** Add free PCIe ports for devices plugged in later. */
  readonly hotplugPorts?: boolean;
}

/** A node that offers nothing special: what the launcher starts from, and tests. */
export const PLAIN_FACTS: DomainFacts = {
  hostArch: 'amd64',
  crossArchEmulation: false,
  emulators: new Set(),
  hypervisor: 'kvm',
  hypervisorDevicePresent: true,
  allowEmulation: false,
  cpuSet: [],
  memBalloonStatsPeriod: 10,
  freePageReportingDisabled: false,
  serialConsoleLogDisabled: false,
  bochsForEfiGuests: true,
  preallocatedVolumes: new Set(),
  interfaceAttachments: {},
  containerDiskFormats: {},
  blockVolumes: new Set(),
  changedBlockOverlays: {},
  firmwareFiles: new Set(),
  firmwareDir: '/usr/share/OVMF',
  firmwareAutoSelection: false,
  env: {},
  sriovAddresses: {},
  iommufd: false,
  localVsockNamespace: false,
  migrationTarget: false,
  vgpuLiveMigration: false,
  firmwareLog: false,
};
