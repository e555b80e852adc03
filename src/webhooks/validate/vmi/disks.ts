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
      yield invalid(field(list, i, 'name'), `${field(list, i)} and ${field(list, other)} are both named "${disk.name}": rename one`);
    }
  }
  const targets = [disk.disk, disk.lun, disk.cdrom].filter(Boolean).length;
  if (targets > 1) yield invalid(field(list, i), `${field(list, i)} has several targets: keep one of disk, lun and cdrom`);
}

function* pciAddress(disk: Disk, i: number, list: FieldPath): Causes {
  const address = disk.disk?.pciAddress;
  if (!address) return;
  const path = field(list, 'domain', 'devices', 'disks', 'disk', i, 'pciAddress');
  if (disk.disk?.bus !== 'virtio')
    yield invalid(
      path,
      `disk "${disk.name}" has a PCI address, which only disks on virtio have: set its bus to virtio, or take the address out`,
    );
  if (!isPciAddress(address)) yield invalid(path, `disk "${disk.name}" has the malformed PCI address ${address}: write it as 0000:81:01.0`);
}

function* busSupport(disk: Disk, target: Target, bus: string, at: FieldPath): Causes {
  if (bus === 'ide') yield invalid(field(at, target, 'bus'), 'the IDE bus is not supported: use sata');
  else if (bus === 'virtio' && target === 'cdrom') {
    yield invalid(field(at, 'cdrom', 'bus'), `a CD-ROM cannot be on ${bus}: use sata, scsi or usb`);
  } else if (bus === 'sata' && disk.disk?.readonly) {
    yield invalid(field(at, 'disk', 'bus'), `disks on ${bus} cannot be read-only: make it a cdrom, or use another bus`);
  } else if (!BUSES.includes(bus)) {
    yield invalid(field(at, target, 'bus'), `bus ${bus} does not exist: use one of ${BUSES.join(', ')}`);
  }
}

function* bus(disk: Disk, i: number, list: FieldPath): Causes {
  const target = targetOf(disk);
  const name = busOf(disk);
  if (!target || !name) return;
  yield* busSupport(disk, target, name, field(list, i));
  if (disk.dedicatedIOThread && name !== 'virtio') {
    yield notSupported(nested(list, i), `disks on ${name} have no IO threads: use virtio, or leave dedicatedIOThread out`);
  }
}

function* serial(disk: Disk, at: FieldPath): Causes {
  if (!disk.serial) return;
  const path = field(at, 'serial');
  if (!SERIAL.test(disk.serial)) yield invalid(path, `${path} has a character that guests do not see: use [A-Za-z0-9_.+-] only`);
  if ([...disk.serial].length > SERIAL_LIMIT) yield invalid(path, `${path} is longer than ${SERIAL_LIMIT} characters: shorten it`);
}

function* modes(disk: Disk, i: number, list: FieldPath): Causes {
  const at = field(list, i);
  const { cache = '', io = '', errorPolicy } = disk;
  if (!['', 'none', 'writethrough', 'writeback'].includes(cache)) {
    yield invalid(field(at, 'cache'), `cache ${cache} does not exist: use none, writethrough or writeback`);
  }
  if (!['', 'native', 'threads'].includes(io)) {
    yield notSupported(nested(list, i, 'io'), `IO mode ${io} does not exist: use native or threads`);
  }
  if (errorPolicy !== undefined && !['stop', 'ignore', 'report', 'enospace'].includes(errorPolicy)) {
    yield invalid(field(at, 'errorPolicy'), `error policy "${errorPolicy}" does not exist: use stop, ignore, report or enospace`);
  }
}

function* customSize(size: number, at: FieldPath): Causes {
  if (size < LEAST_BLOCK) yield invalid(at, `a block of ${size} bytes is too small: the least is ${LEAST_BLOCK}`);
  else if (size > MOST_BLOCK) yield invalid(at, `a block of ${size} bytes is too large: the most is ${MOST_BLOCK}`);
  else if ((size & (size - 1)) !== 0) yield invalid(at, `a block of ${size} bytes is impossible: use a power of 2`);
}

function* blockSize(disk: Disk, at: FieldPath): Causes {
  const { custom, matchVolume } = disk.blockSize ?? {};
  if (!custom) return;
  const path = field(at, 'blockSize', 'custom');
  const { logical = 0, physical = 0, discardGranularity } = custom;
  if (matchVolume && matchVolume.enabled !== false) {
    yield invalid(field(at, 'blockSize'), 'blockSize.custom and matchVolume exclude each other: keep one');
  } else if (logical > physical) {
    yield invalid(
      field(path, 'logical'),
      `the logical block of ${logical} bytes must not be larger than the physical of ${physical}: lower it`,
    );
  } else if (busOf(disk) === 'sata' && logical !== LEAST_BLOCK) {
    yield invalid(
      field(path, 'logical'),
      `the logical block of disks on sata is ${LEAST_BLOCK} bytes, not ${logical}: set it, or use another bus`,
    );
  } else if (discardGranularity !== undefined && logical !== 0 && discardGranularity % logical !== 0) {
    yield invalid(
      field(path, 'discardGranularity'),
      `the discard granularity ${discardGranularity} must be a multiple of the logical block, ${logical}: round it`,
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
      yield invalid(field(at, 'bootOrder'), `the boot order of disk "${disk.name}" is ${disk.bootOrder}: boot orders begin with 1`);
    }
    yield* bus(disk, i, list);
    yield* serial(disk, at);
    yield* modes(disk, i, list);
    // A disk's name becomes the name of a container, so it has to be one.
    for (const problem of dnsLabelProblems(disk.name)) yield invalid(nested(list, i, 'name'), `disk name "${disk.name}" ${problem}`);
    yield* blockSize(disk, at);
  }
}

export const disks: Rule<VirtualMachineInstanceSpec> = function* (spec, at) {
  yield* diskCauses(spec.domain.devices.disks ?? [], field(at, 'domain', 'devices', 'disks'));
};
