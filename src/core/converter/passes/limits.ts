// What the launcher's libvirt and QEMU refuse although admission let it through. Found here, the VMI says which of its fields it is; from libvirt
// it would hear of an element of XML that its author never saw. Called last, by assemble.ts; changes nothing.
import type { Disk, Interface } from '../../../api/index.js';
import { compareQuantities } from '../../../api/quantity.js';
import { KvError } from '../../../base/errors.js';
import type { Domain } from '../domain.js';
import type { Device, DomainDevices, DomainDisk } from '../domain-devices.js';
import type { Scope } from '../scope.js';
import { deviceName } from '../steps/device.js';
import { IOMMUFD_SINCE } from '../steps/domain-options.js';
import { archFault } from './arch-limits.js';
import { type Fault, firstOf } from './fault.js';
import { pciAddresses } from './pci-limits.js';

type Limit = (scope: Scope, devices: DomainDevices) => Fault | undefined;

/** The first libvirt with TDX guests. */
const TDX_SINCE = 11_006_000;
/** Fewer would make a guest spin less than it costs to yield. */
const FEWEST_RETRIES = 4095;

const versionOf = (number: number): string => `${Math.trunc(number / 1_000_000)}.${Math.trunc(number / 1000) % 1000}`;

const tdx: Limit = ({ domain, arch, libvirtVersion = TDX_SINCE }) =>
  arch.name === 'amd64' && domain.launchSecurity?.tdx && libvirtVersion < TDX_SINCE
    ? {
        field: 'launchSecurity.tdx',
        why: `TDX guests need libvirt ${versionOf(TDX_SINCE)}, the launcher image has ${versionOf(libvirtVersion)}: use an image with a newer one`,
      }
    : undefined;

/** No step makes the accelerated SMMUv3 and the memory cells that such a GPU needs; plainly passed through it would not work, and nobody knew why. */
const graceGpus: Limit = ({ devices, graceDevices = [], libvirtVersion = 0 }) => {
  const [alias] = graceDevices;
  if (alias === undefined) return undefined;
  const [list, prefix] = alias.startsWith('gpu-') ? (['gpus', 'gpu-'] as const) : (['hostDevices', 'hostdevice-'] as const);
  const index = (devices[list] ?? []).findIndex(({ name }) => alias === prefix + name);
  return {
    field: `devices.${list}[${Math.max(index, 0)}]`,
    why:
      `this launcher cannot pass through NVIDIA Grace GPUs: they need IOMMUFD (libvirt ${versionOf(IOMMUFD_SINCE)}, the image has ` +
      `${versionOf(libvirtVersion)}) and an accelerated SMMUv3; take the device out`,
  };
};

const maxGuest: Limit = ({ domain: { memory } }) =>
  memory?.guest !== undefined && memory.maxGuest !== undefined && compareQuantities(memory.maxGuest, memory.guest) < 0
    ? { field: 'memory.maxGuest', why: `${memory.maxGuest} is less than memory.guest, ${memory.guest}: set at least as much` }
    : undefined;

const spinlocks: Limit = ({ domain }) => {
  const wanted = domain.features?.hyperv?.spinlocks;
  const retries = wanted?.spinlocks ?? FEWEST_RETRIES;
  if (!wanted || wanted.enabled === false || retries >= FEWEST_RETRIES) return undefined;
  return { field: 'features.hyperv.spinlocks.spinlocks', why: `${retries} retries are too few: set at least ${FEWEST_RETRIES}` };
};

const vendorId: Limit = ({ domain }) => {
  const wanted = domain.features?.hyperv?.vendorid;
  if (!wanted || wanted.enabled === false || wanted.vendorid) return undefined;
  return { field: 'features.hyperv.vendorid.vendorid', why: 'the vendor shown to the guest is missing: name one of at most 12 characters' };
};

const acpiForEfi: Limit = ({ domain: { features, firmware }, arch }) =>
  arch.name === 'amd64' && firmware?.bootloader?.efi && (!features || features.acpi?.enabled === false)
    ? { field: 'features.acpi', why: 'EFI needs ACPI on amd64: leave acpi on, or boot with bios' }
    : undefined;

const biosSerial: Limit = ({ domain, devices }) =>
  domain.firmware?.bootloader?.bios?.useSerial && devices.autoattachSerialConsole === false
    ? { field: 'firmware.bootloader.bios.useSerial', why: 'the BIOS cannot use a serial console that autoattachSerialConsole takes away' }
    : undefined;

const gpuDisplay: Limit = ({ devices: { autoattachGraphicsDevice, gpus = [] } }) => {
  const index = gpus.findIndex(({ virtualGPUOptions }) => virtualGPUOptions?.display && virtualGPUOptions.display.enabled !== false);
  return autoattachGraphicsDevice === false && index >= 0
    ? {
        field: `devices.gpus[${index}].virtualGPUOptions.display`,
        why: 'a GPU shows its screen on the graphics device, which autoattachGraphicsDevice takes away',
      }
    : undefined;
};

/** Rules about one disk, as the VMI has it and as it was made. */
type DiskLimit = (disk: Disk, made: DomainDisk) => Fault | undefined;

const LUN_BUSES = ['scsi', 'virtio'];

const DISK_LIMITS: readonly DiskLimit[] = [
  ({ disk, lun, cdrom }) =>
    disk || lun || cdrom ? undefined : { field: '', why: 'the disk says neither disk nor lun nor cdrom: set one of them' },
  ({ lun }, { type }) =>
    lun && type !== 'block'
      ? { field: '.lun', why: 'only a volume in block mode can be a LUN: set volumeMode Block on its claim, or use disk instead' }
      : undefined,
  ({ lun }, { target }) => {
    const bus = target?.bus ?? '';
    return lun && !LUN_BUSES.includes(bus) ? { field: '.lun.bus', why: `a LUN cannot be on bus ${bus}: use scsi` } : undefined;
  },
  ({ cdrom }, { target }) =>
    cdrom && target?.bus === 'virtio'
      ? { field: '.cdrom.bus', why: 'a CD-ROM drive cannot be on bus virtio, which nothing can be taken out of: use scsi' }
      : undefined,
  ({ disk }, { target }) =>
    disk?.readonly && target?.bus === 'sata'
      ? { field: '.disk.readonly', why: 'a disk on bus sata cannot be read-only: use bus virtio, or cdrom' }
      : undefined,
  ({ shareable }, { driver }) =>
    shareable && driver?.type !== 'raw'
      ? { field: '.shareable', why: 'only a raw image can be shared, and this volume is an overlay: use a claim or a data volume' }
      : undefined,
  ({ io }, { driver }) => {
    const cache = driver?.cache ?? '';
    if (io !== 'native' || cache === '' || cache === 'none') return undefined;
    return { field: '.io', why: `native I/O and cache ${cache} exclude each other: set cache none where the volume allows it` };
  },
];

const disks: Limit = (scope, { disk: made = [] }) => {
  for (const [i, disk] of (scope.devices.disks ?? []).entries()) {
    const node = made.find((each) => deviceName(each) === disk.name);
    // Not there yet: its volume is still being plugged in.
    if (!node) continue;
    const fault = firstOf(DISK_LIMITS.map((limit) => () => limit(disk, node)));
    if (fault) return { field: `devices.disks[${i}]${fault.field}`, why: `disk ${disk.name}: ${fault.why}` };
  }
  return undefined;
};

const interfaces: Limit = (scope) => {
  for (const [i, iface] of (scope.devices.interfaces ?? []).entries()) {
    const fault = interfaceFault(iface);
    if (fault) return { field: `devices.interfaces[${i}]${fault.field}`, why: `interface ${iface.name}: ${fault.why}` };
  }
  return undefined;
};

function interfaceFault({ passtBinding, model, macAddress }: Interface): Fault | undefined {
  if (passtBinding && model && model !== 'virtio') return { field: '.model', why: `passt serves virtio only, not ${model}` };
  const isMulticast = macAddress !== undefined && (Number.parseInt(macAddress.slice(0, 2), 16) & 1) === 1;
  return isMulticast ? { field: '.macAddress', why: `${macAddress} is a multicast address: the first byte must be even` } : undefined;
}

/** A device's name is its alias in the domain, and there is one space of names for devices of all kinds. */
const sharedNames: Limit = (_scope, devices) => {
  const kinds = new Map<string, string>();
  for (const [kind, made] of Object.entries(devices)) {
    for (const name of (Array.isArray(made) ? (made as readonly Device[]) : []).map(deviceName)) {
      if (name === undefined) continue;
      const other = kinds.get(name);
      if (other !== undefined)
        return { field: 'devices', why: `a device of kind ${other} and one of kind ${kind} are both named ${name}: rename one` };
      kinds.set(name, kind);
    }
  }
  return undefined;
};

const LIMITS: readonly Limit[] = [
  archFault,
  tdx,
  graceGpus,
  maxGuest,
  spinlocks,
  vendorId,
  acpiForEfi,
  biosSerial,
  gpuDisplay,
  disks,
  interfaces,
  pciAddresses,
  sharedNames,
];

export function refuseBeforeLibvirt(domain: Domain, scope: Scope): Domain {
  if (scope.libvirtVersion === undefined) return domain;
  const fault = firstOf(LIMITS.map((limit) => () => limit(scope, domain.devices ?? {})));
  if (fault) throw new KvError('Invalid', `spec.domain.${fault.field}: ${fault.why}`);
  return domain;
}
