// Disks of a VMI, one by one: name, target, bus, serial, caching, block size. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { Disk, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { dnsLabelProblems } from '../kubernetes/names.js';
import { type Causes, invalid, notSupported, type Rule } from '../rule.js';

const BUSES = ['virtio', 'scsi', 'sata', 'usb'];
const SERIAL = /^[A-Za-z0-9_.+-]+$/;
const SERIAL_LIMIT = 256;
const PCI_ADDRESS = /^[\da-fA-F]{4}:[\da-fA-F]{2}:[\da-fA-F]{2}\.[0-7]$/;
const LEAST_BLOCK = 512;
const MOST_BLOCK = 2_097_152;

/** The path below which some disk causes have always been reported. */
const nested = (list: FieldPath, i: number, ...rest: readonly string[]): FieldPath => field(list, 'domain', 'devices', 'disks', i, ...rest);

export const isPciAddress = (text: string): boolean => PCI_ADDRESS.test(text);

type Target = 'disk' | 'lun' | 'cdrom';
const targetOf = (disk: Disk): Target | undefined => (['disk', 'lun', 'cdrom'] as const).find((t) => disk[t] !== undefined);

export function busOf(disk: Disk): string {
  const target = targetOf(disk);
  return (target && disk[target]?.bus) || '';
}

function* identity(disks: readonly Disk[], i: number, list: FieldPath): Causes {
  const disk = disks[i];
  if (!disk) return;
  for (const [other, earlier] of disks.slice(0, i).entries()) {
    if (earlier.name === disk.name) {
      yield invalid(field(list, i, 'name'), `${field(list, i)} and ${field(list, other)} must not have the same Name.`);
    }
  }
  const targets = [disk.disk, disk.lun, disk.cdrom].filter(Boolean).length;
  if (targets > 1) yield invalid(field(list, i), `${field(list, i)} can only have a single target type defined`);
}

function* pciAddress(disk: Disk, i: number, list: FieldPath): Causes {
  const address = disk.disk?.pciAddress;
  if (!address) return;
  const path = field(list, 'domain', 'devices', 'disks', 'disk', i, 'pciAddress');
  const name = field(list, 'domain', 'devices', 'disks', 'disk', i, 'name');
  if (disk.disk?.bus !== 'virtio') yield invalid(path, `disk ${name} - setting a PCI address is only possible with bus type virtio.`);
  if (!isPciAddress(address)) yield invalid(path, `disk ${name} has malformed PCI address (${address}).`);
}

function* busSupport(disk: Disk, target: Target, bus: string, at: FieldPath): Causes {
  if (bus === 'ide') yield invalid(field(at, target, 'bus'), 'IDE bus is not supported');
  else if (bus === 'virtio' && target === 'cdrom') {
    yield invalid(field(at, 'cdrom', 'bus'), `Bus type ${bus} is invalid for CD-ROM device`);
  } else if (bus === 'sata' && disk.disk?.readonly) {
    yield invalid(field(at, 'disk', 'bus'), `${bus} hard-disks do not support read-only.`);
  } else if (!BUSES.includes(bus)) {
    yield invalid(field(at, target, 'bus'), `${at} is set with an unrecognized bus ${bus}, must be one of: [${BUSES.join(' ')}]`);
  }
}

function* bus(disk: Disk, i: number, list: FieldPath): Causes {
  const target = targetOf(disk);
  const name = busOf(disk);
  if (!target || !name) return;
  yield* busSupport(disk, target, name, field(list, i));
  if (disk.dedicatedIOThread && name !== 'virtio') {
    yield notSupported(nested(list, i), `IOThreads are not supported for disks on a ${name} bus`);
  }
}

function* serial(disk: Disk, at: FieldPath): Causes {
  if (!disk.serial) return;
  const path = field(at, 'serial');
  if (!SERIAL.test(disk.serial)) yield invalid(path, `${at} must be made up of the following characters [A-Za-z0-9_.+-], if specified`);
  if ([...disk.serial].length > SERIAL_LIMIT)
    yield invalid(path, `${at} must be less than or equal to ${SERIAL_LIMIT} in length, if specified`);
}

function* modes(disk: Disk, i: number, list: FieldPath): Causes {
  const at = field(list, i);
  const { cache = '', io = '', errorPolicy } = disk;
  if (!['', 'none', 'writethrough', 'writeback'].includes(cache)) {
    yield invalid(field(at, 'cache'), `${field(at, 'cache')} has invalid value ${cache}`);
  }
  if (!['', 'native', 'threads'].includes(io)) {
    yield notSupported(nested(list, i, 'io'), `Disk IO mode for ${list} is not supported. Supported modes are: native, threads.`);
  }
  if (errorPolicy !== undefined && !['stop', 'ignore', 'report', 'enospace'].includes(errorPolicy)) {
    yield invalid(field(at, 'errorPolicy'), `${field(at, 'errorPolicy')} has invalid value "${errorPolicy}"`);
  }
}

function* customSize(size: number, at: FieldPath): Causes {
  if (size < LEAST_BLOCK) yield invalid(at, `Provided size of ${size} is less than the supported minimum size of ${LEAST_BLOCK}`);
  else if (size > MOST_BLOCK) yield invalid(at, `Provided size of ${size} is greater than the supported maximum size of ${MOST_BLOCK}`);
  else if ((size & (size - 1)) !== 0) yield invalid(at, `Provided size of ${size} is not a power of 2`);
}

function* blockSize(disk: Disk, at: FieldPath): Causes {
  const { custom, matchVolume } = disk.blockSize ?? {};
  if (!custom) return;
  const path = field(at, 'blockSize', 'custom');
  const { logical = 0, physical = 0, discardGranularity } = custom;
  if (matchVolume && matchVolume.enabled !== false) {
    yield invalid(field(at, 'blockSize'), "Block size matching can't be enabled together with a custom value");
  } else if (logical > physical) {
    yield invalid(field(path, 'logical'), `Logical size ${logical} must be the same or less than the physical size of ${physical}`);
  } else if (busOf(disk) === 'sata' && logical !== LEAST_BLOCK) {
    yield invalid(field(path, 'logical'), `Logical size ${logical} must be ${LEAST_BLOCK} for SATA devices`);
  } else if (discardGranularity !== undefined && logical !== 0 && discardGranularity % logical !== 0) {
    yield invalid(
      field(path, 'discardGranularity'),
      `Discard granularity ${discardGranularity} must be multiples of logical size ${logical}`,
    );
  } else {
    yield* customSize(logical, field(path, 'logical'));
    yield* customSize(physical, field(path, 'physical'));
  }
}

export function* diskCauses(disks: readonly Disk[], list: FieldPath): Causes {
  for (const [i, disk] of disks.entries()) {
    const at = field(list, i);
    yield* identity(disks, i, list);
    yield* pciAddress(disk, i, list);
    if (disk.bootOrder !== undefined && disk.bootOrder < 1) {
      yield invalid(field(at, 'bootOrder'), `${at} must have a boot order > 0, if supplied`);
    }
    yield* bus(disk, i, list);
    yield* serial(disk, at);
    yield* modes(disk, i, list);
    // A disk's name becomes the name of a container, so it has to be one.
    for (const problem of dnsLabelProblems(disk.name)) yield invalid(nested(list, i, 'name'), problem);
    yield* blockSize(disk, at);
  }
}

export const disks: Rule<VirtualMachineInstanceSpec> = function* (spec, at) {
  yield* diskCauses(spec.domain.devices.disks ?? [], field(at, 'domain', 'devices', 'disks'));
};
