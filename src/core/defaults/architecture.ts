// What a VMI gets because of its guest architecture: disk bus, watchdog model, boot loader, CPU model, ACPI. Called by vmi.ts and by the
// VM-level defaulting; changes the spec it is handed, which is the caller's own copy.
import type { VirtualMachineInstanceSpec } from '../../api/index.js';

export const isArm64 = (spec: VirtualMachineInstanceSpec): boolean => spec.architecture === 'arm64';
export const isS390x = (spec: VirtualMachineInstanceSpec): boolean => spec.architecture === 's390x';

const DEFAULT_CPU_MODEL = 'host-model';
const ARM64_CPU_MODEL = 'host-passthrough';
/** QEMU's virt and s390 machines have no SATA controller; on q35 every guest has a driver for it. */
const diskBus = (spec: VirtualMachineInstanceSpec): string => (isArm64(spec) || isS390x(spec) ? 'virtio' : 'sata');

function setDiskBuses(spec: VirtualMachineInstanceSpec): void {
  const bus = diskBus(spec);
  for (const disk of spec.domain.devices.disks ?? []) {
    for (const target of [disk.disk, disk.cdrom, disk.lun]) {
      if (target && !target.bus) target.bus = bus;
    }
  }
}

function setWatchdog(spec: VirtualMachineInstanceSpec): void {
  const { watchdog } = spec.domain.devices;
  if (!watchdog || isArm64(spec)) return;
  const model = isS390x(spec) ? 'diag288' : 'i6300esb';
  const device = watchdog[model] ?? {};
  if (!device.action) device.action = 'reset';
  watchdog[model] = device;
}

function setBootloader(spec: VirtualMachineInstanceSpec): void {
  if (!isArm64(spec)) return;
  const firmware = spec.domain.firmware ?? {};
  spec.domain.firmware = firmware;
  firmware.bootloader ??= { efi: {} };
  const { efi } = firmware.bootloader;
  if (efi) efi.secureBoot ??= false;
}

/** s390x has no ACPI. */
export function setArchitectureFeatures(spec: VirtualMachineInstanceSpec): void {
  if (!isS390x(spec)) return;
  const features = spec.domain.features ?? {};
  spec.domain.features = features;
  features.acpi = { ...features.acpi, enabled: features.acpi?.enabled ?? false };
}

export function setArchitectureDefaults(spec: VirtualMachineInstanceSpec, clusterCpuModel: string | undefined): void {
  const cpu = spec.domain.cpu ?? {};
  spec.domain.cpu = cpu;
  cpu.model ||= isArm64(spec) ? ARM64_CPU_MODEL : clusterCpuModel || DEFAULT_CPU_MODEL;
  setBootloader(spec);
  setDiskBuses(spec);
  setWatchdog(spec);
}

/** True for guests on a PCIe bus, where free root ports are what makes hot-plug possible. */
export function hasPcieHotplug(spec: VirtualMachineInstanceSpec): boolean {
  if (!['amd64', 'arm64', ''].includes(spec.architecture ?? '')) return false;
  const { machine } = spec.domain;
  return machine === undefined || (machine.type ?? '').includes('q35') || (machine.type ?? '').startsWith('virt');
}
