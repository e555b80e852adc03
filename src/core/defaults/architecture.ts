// What a VMI gets because of its guest architecture: disk bus, watchdog model, boot loader, CPU model, ACPI. Called by vmi.ts and by the
// VM-level defaulting; changes the spec it is handed, which is the caller's own copy.
import type { VirtualMachineInstanceSpec } from '../../api/index.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { allowsPower } from '../config/cluster-lookups.js';

export const isArm64 = (spec: VirtualMachineInstanceSpec): boolean => spec.architecture === 'arm64';
export const isS390x = (spec: VirtualMachineInstanceSpec): boolean => spec.architecture === 's390x';

const isPower = (spec: VirtualMachineInstanceSpec, config: ClusterConfig): boolean =>
  spec.architecture === 'ppc64le' && allowsPower(config);

const DEFAULT_CPU_MODEL = 'host-model';
const ARM64_CPU_MODEL = 'host-passthrough';
/** QEMU's virt and s390 machines have no SATA controller; on q35 every guest has a driver for it. POWER's firmware boots from SCSI drives. */
function diskBuses(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Readonly<Record<'disk' | 'cdrom' | 'lun', string>> {
  if (isPower(spec, config)) return { disk: 'virtio', cdrom: 'scsi', lun: 'scsi' };
  const bus = isArm64(spec) || isS390x(spec) ? 'virtio' : 'sata';
  return { disk: bus, cdrom: bus, lun: bus };
}

function setDiskBuses(spec: VirtualMachineInstanceSpec, config: ClusterConfig): void {
  const buses = diskBuses(spec, config);
  for (const disk of spec.domain.devices.disks ?? []) {
    for (const kind of ['disk', 'cdrom', 'lun'] as const) {
      const target = disk[kind];
      if (target && !target.bus) target.bus = buses[kind];
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

/** s390x and POWER have no ACPI. */
export function setArchitectureFeatures(spec: VirtualMachineInstanceSpec, config: ClusterConfig): void {
  if (!isS390x(spec) && !isPower(spec, config)) return;
  const features = spec.domain.features ?? {};
  spec.domain.features = features;
  features.acpi = { ...features.acpi, enabled: features.acpi?.enabled ?? false };
}

export function setArchitectureDefaults(spec: VirtualMachineInstanceSpec, config: ClusterConfig): void {
  const cpu = spec.domain.cpu ?? {};
  spec.domain.cpu = cpu;
  cpu.model ||= isArm64(spec) ? ARM64_CPU_MODEL : config.spec.cpuModel || DEFAULT_CPU_MODEL;
  setBootloader(spec);
  setDiskBuses(spec, config);
  setWatchdog(spec);
}

/** True for guests on a PCIe bus, where free root ports are what makes hot-plug possible. */
export function hasPcieHotplug(spec: VirtualMachineInstanceSpec): boolean {
  if (!['amd64', 'arm64', ''].includes(spec.architecture ?? '')) return false;
  const { machine } = spec.domain;
  return machine === undefined || (machine.type ?? '').includes('q35') || (machine.type ?? '').startsWith('virt');
}
