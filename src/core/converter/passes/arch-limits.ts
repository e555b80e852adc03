// What QEMU has on some architectures only, although admission takes it for all. Used by limits.ts.
import type { DomainSpec } from '../../../api/index.js';
import { needsUsbBus } from '../../devices/index.js';
import type { Arch } from '../facts.js';
import { busOf } from '../io-threads.js';
import type { Scope } from '../scope.js';
import type { Fault } from './fault.js';

interface Row {
  readonly field: string;
  readonly on: readonly Arch[];
  readonly isAsked: (domain: DomainSpec) => boolean;
}

const AMD64: readonly Arch[] = ['amd64'];
const NOT_S390X: readonly Arch[] = ['amd64', 'arm64', 'ppc64le'];
const isPresent = (timer: { readonly present?: boolean } | undefined): boolean => timer !== undefined && timer.present !== false;
const isOn = (feature: { readonly enabled?: boolean } | undefined): boolean => feature !== undefined && feature.enabled !== false;

const ROWS: readonly Row[] = [
  { field: 'clock.timer.hpet', on: AMD64, isAsked: ({ clock }) => isPresent(clock?.timer?.hpet) },
  { field: 'clock.timer.kvm', on: AMD64, isAsked: ({ clock }) => isPresent(clock?.timer?.kvm) },
  { field: 'clock.timer.hyperv', on: AMD64, isAsked: ({ clock }) => isPresent(clock?.timer?.hyperv) },
  { field: 'features.pvspinlock', on: AMD64, isAsked: ({ features }) => features?.pvspinlock !== undefined },
  { field: 'features.hyperv', on: ['amd64', 'arm64'], isAsked: ({ features }) => features?.hyperv !== undefined },
  { field: 'features.acpi', on: ['amd64', 'arm64', 'ppc64le'], isAsked: ({ features }) => isOn(features?.acpi) },
  {
    field: 'firmware.bootloader.bios.useSerial',
    on: AMD64,
    isAsked: ({ firmware }) => firmware?.bootloader?.bios?.useSerial === true,
  },
  {
    field: 'devices.panicDevices',
    on: AMD64,
    isAsked: ({ devices }) => devices.panicDevices?.some(({ model = '' }) => ['hyperv', 'isa'].includes(model)) === true,
  },
  { field: 'devices.clientPassthrough', on: NOT_S390X, isAsked: ({ devices }) => devices.clientPassthrough !== undefined },
  { field: 'devices.sound', on: NOT_S390X, isAsked: ({ devices }) => devices.sound !== undefined },
  { field: 'devices.tpm', on: NOT_S390X, isAsked: ({ devices }) => isOn(devices.tpm) },
  {
    field: 'devices.inputs',
    on: NOT_S390X,
    isAsked: ({ devices }) => devices.inputs?.some(({ bus = 'usb' }) => bus !== 'virtio') === true,
  },
  { field: 'devices.interfaces', on: NOT_S390X, isAsked: ({ devices }) => devices.interfaces?.some(({ acpiIndex }) => acpiIndex) === true },
  {
    field: 'devices.disks',
    on: NOT_S390X,
    isAsked: ({ devices }) => devices.disks?.some((disk) => ['usb', 'sata'].includes(busOf(disk))) === true,
  },
];

const WHAT: Readonly<Record<string, string>> = {
  'devices.panicDevices': 'the models hyperv and isa',
  'devices.inputs': 'a tablet on bus usb',
  'devices.interfaces': 'acpiIndex',
  'devices.disks': 'a bus usb or sata',
};

export function archFault({ domain, arch, env }: Pick<Scope, 'domain' | 'arch' | 'env'>): Fault | undefined {
  if (arch.usb === 'none' && needsUsbBus(domain.devices.hostDevices ?? [], env)) {
    return { field: 'devices.hostDevices', why: `${arch.name} guests have no USB, and one of the devices is a USB device: take it out` };
  }
  const row = ROWS.find(({ on, isAsked }) => !on.includes(arch.name) && isAsked(domain));
  return (
    row && {
      field: row.field,
      why: `${arch.name} guests have no such thing${WHAT[row.field] ? ` as ${WHAT[row.field]}` : ''}: take it out`,
    }
  );
}
