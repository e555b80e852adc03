// What differs between guest architectures: models, defaults and which devices exist. One row an architecture.
import type { Arch } from './facts.js';

export interface ArchTraits {
  readonly name: Arch;
  /** libvirt's name. */
  readonly osArch: string;
  readonly defaultMachine: string;
  readonly emulator: string;
  virtioModel(transitional: boolean): string;
  scsiModel(virtioModel: string): string;
  /** 'asked': a controller where a device needs it. */
  readonly usb: 'asked' | 'always' | 'none';
  /** Bus of the keyboard (and pointer) that a screen needs; undefined = the machine has one built in. */
  readonly inputBus?: 'usb' | 'virtio';
  /** Display adapter that firmware and guests know. */
  readonly video: 'vga' | 'virtio';
  readonly watchdog?: 'i6300esb' | 'diag288';
  /** Where the first serial port sits, unless libvirt knows best. */
  readonly serialTarget?: string;
  tpmModel(persistent: boolean): string;
  /** CPU of emulated guests, where QEMU has none of its own best. */
  readonly emulatedCpu?: string;
  readonly acpi: boolean;
  readonly efi: boolean;
  /** Features of x86 CPUs and hypervisors: Hyper-V's, SMM, paravirtual spinlocks. */
  readonly x86Features: boolean;
  /** Memory can be plugged into a running guest. */
  readonly virtioMem: boolean;
  /** Sockets can be plugged into a running guest. */
  readonly cpuHotplug: boolean;
  /** The machine hands the smbios tables to the guest. */
  readonly smbios: boolean;
  /** VMware's I/O port, switched off. */
  readonly vmport: boolean;
  /** Interfaces have an option ROM that can be switched off. */
  readonly optionRoms: boolean;
  /** Named CPU models carry the retired mpx feature, which current CPUs lack. */
  readonly mpxInModels: boolean;
  readonly firmwareLog: boolean;
  readonly pciHole64: boolean;
  /** Devices sit on PCIe ports. */
  readonly pcie: boolean;
  readonly memfd: boolean;
}

const pciVirtio = (transitional: boolean): string => (transitional ? 'virtio-transitional' : 'virtio-non-transitional');

const AMD64: ArchTraits = {
  name: 'amd64',
  osArch: 'x86_64',
  defaultMachine: 'q35',
  emulator: '/usr/bin/qemu-system-x86_64',
  virtioModel: pciVirtio,
  scsiModel: (virtioModel) => virtioModel,
  usb: 'asked',
  video: 'vga',
  watchdog: 'i6300esb',
  tpmModel: (persistent) => (persistent ? 'tpm-crb' : 'tpm-tis'),
  acpi: true,
  efi: true,
  x86Features: true,
  virtioMem: true,
  cpuHotplug: true,
  smbios: true,
  vmport: true,
  optionRoms: true,
  mpxInModels: true,
  firmwareLog: true,
  pciHole64: true,
  pcie: true,
  memfd: true,
};

const { watchdog: _, ...WITHOUT_WATCHDOG } = AMD64;

const ARM64: ArchTraits = {
  ...WITHOUT_WATCHDOG,
  name: 'arm64',
  osArch: 'aarch64',
  defaultMachine: 'virt',
  emulator: '/usr/bin/qemu-system-aarch64',
  usb: 'always',
  inputBus: 'usb',
  video: 'virtio',
  tpmModel: () => 'tpm-tis',
  cpuHotplug: false,
  vmport: false,
  mpxInModels: false,
  firmwareLog: false,
  pciHole64: false,
};

const S390X: ArchTraits = {
  ...ARM64,
  name: 's390x',
  osArch: 's390x',
  defaultMachine: 's390-ccw-virtio',
  emulator: '/usr/bin/qemu-system-s390x',
  virtioModel: () => 'virtio',
  scsiModel: () => 'virtio-scsi',
  usb: 'none',
  tpmModel: AMD64.tpmModel,
  inputBus: 'virtio',
  watchdog: 'diag288',
  cpuHotplug: true,
  smbios: false,
  optionRoms: false,
  pcie: false,
  memfd: false,
};

/** POWER guests (pseries): open firmware, devices on a PCI host bridge whose slots all take hotplug, a paravirtual console. */
const PPC64LE: ArchTraits = {
  ...AMD64,
  name: 'ppc64le',
  osArch: 'ppc64le',
  defaultMachine: 'pseries',
  emulator: '/usr/bin/qemu-system-ppc64',
  usb: 'always',
  inputBus: 'usb',
  serialTarget: 'spapr-vio-serial',
  tpmModel: () => 'tpm-spapr',
  emulatedCpu: 'POWER9',
  acpi: false,
  efi: false,
  x86Features: false,
  virtioMem: false,
  smbios: false,
  vmport: false,
  optionRoms: false,
  mpxInModels: false,
  firmwareLog: false,
  pciHole64: false,
  pcie: false,
};

const TRAITS: Readonly<Record<Arch, ArchTraits>> = { amd64: AMD64, arm64: ARM64, s390x: S390X, ppc64le: PPC64LE };

const ALIASES: Readonly<Record<string, Arch>> = { x86_64: 'amd64', aarch64: 'arm64' };

/** An API architecture name or its libvirt spelling; undefined for others. */
export function archOf(name: string): Arch | undefined {
  if (Object.hasOwn(ALIASES, name)) return ALIASES[name];
  return Object.hasOwn(TRAITS, name) ? (name as Arch) : undefined;
}

export const traitsOf = (arch: Arch): ArchTraits => TRAITS[arch];
