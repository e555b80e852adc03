// What a node's kernel says about its PCI, mediated and USB devices. Reads /sys below the host's root and decides nothing; devices that
// come or go meanwhile are left out.
import { readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { MdevType } from '../../../core/devices/mediated-types.js';
import { mdevTypeName } from '../../../core/devices/permitted.js';
import { readOptional } from '../../../linux/proc.js';

export interface PciFunction {
  readonly address: string;
  /** vendor:device in small letters. */
  readonly id: string;
  /** Empty for none. */
  readonly driver: string;
  readonly isBridge: boolean;
}

/** A function that somebody wants, with what it takes to pass it on. */
export interface WantedFunction extends PciFunction {
  /** undefined where no IOMMU guards it. */
  readonly group?: string;
  /** Addresses of all functions in the group. */
  readonly groupMembers: readonly string[];
  readonly numaNode?: number;
  /** Names below /dev/vfio/devices. */
  readonly cdevs: readonly string[];
  /** A virtual function that its vendor's driver has made a vGPU of. */
  readonly isVgpu: boolean;
}

export interface PciInventory {
  readonly all: ReadonlyMap<string, PciFunction>;
  readonly wanted: readonly WantedFunction[];
}

export interface Mdev {
  readonly uuid: string;
  /** Directory of the type below mdev_supported_types. */
  readonly typeId: string;
  /** Normalised; empty where the type has none. */
  readonly typeName: string;
  /** The device it is a part of. */
  readonly parent: string;
  readonly group?: string;
  readonly numaNode?: number;
}

export interface UsbDevice {
  readonly bus: number;
  readonly device: number;
  readonly vendor: number;
  readonly product: number;
  /** /dev/bus/usb/001/002. */
  readonly path: string;
}

const PCI = '/sys/bus/pci/devices';
const MDEV = '/sys/bus/mdev/devices';
const USB = '/sys/bus/usb/devices';
const CARDS = '/sys/class/mdev_bus';

export const mdevDir = (uuid: string): string => `${MDEV}/${uuid}`;
export const typeDir = (parent: string, typeId: string): string => `${CARDS}/${parent}/mdev_supported_types/${typeId}`;

const MISSING = ['ENOENT', 'ENOTDIR', 'ENODEV', 'EINVAL', 'ESRCH'];

/** undefined for what is not there (any more). */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (err) {
    if (MISSING.includes((err as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw err;
  }
}

export const names = async (dir: string): Promise<string[]> => ((await ifThere(readdir(dir))) ?? []).sort();
/** Last part of what a link points to. */
const linked = async (path: string): Promise<string | undefined> => {
  const target = await ifThere(readlink(path));
  return target === undefined ? undefined : basename(target);
};
const present = <T>(found: readonly (T | undefined)[]): T[] => found.filter((one) => one !== undefined);

/** KEY=value, a line each. */
async function readUevent(dir: string): Promise<ReadonlyMap<string, string>> {
  const text = (await readOptional(join(dir, 'uevent'))) ?? '';
  return new Map(
    text.split('\n').flatMap((line) => (line.includes('=') ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]] : [])),
  );
}

async function numaNodeOf(dir: string): Promise<{ readonly numaNode?: number }> {
  const node = Number.parseInt((await readOptional(join(dir, 'numa_node'))) ?? '', 10);
  return node >= 0 ? { numaNode: node } : {};
}

async function readFunction(dir: string): Promise<PciFunction | undefined> {
  const facts = await readUevent(dir);
  const id = facts.get('PCI_ID')?.toLowerCase();
  if (id === undefined) return undefined;
  const kind = (facts.get('PCI_CLASS') ?? '').padStart(6, '0');
  return { address: basename(dir), id, driver: facts.get('DRIVER') ?? '', isBridge: kind.startsWith('06') };
}

async function readWanted(found: PciFunction, dir: string): Promise<WantedFunction> {
  const group = await linked(join(dir, 'iommu_group'));
  return {
    ...found,
    ...(group === undefined ? {} : { group }),
    groupMembers: await names(join(dir, 'iommu_group/devices')),
    ...(await numaNodeOf(dir)),
    cdevs: await names(join(dir, 'vfio-dev')),
    isVgpu: found.driver === 'nvidia' && (await isVgpu(dir)),
  };
}

/** A physical function has no vGPU of its own, however many it is the parent of. */
async function isVgpu(dir: string): Promise<boolean> {
  const profile = (await readOptional(join(dir, 'nvidia/current_vgpu_type')))?.trim() ?? '';
  return profile !== '' && profile !== '0' && (await readOptional(join(dir, 'sriov_totalvfs'))) === undefined;
}

export async function readPci(hostRoot: string, isWanted: (id: string) => boolean): Promise<PciInventory> {
  const base = hostRoot + PCI;
  const functions = present(await Promise.all((await names(base)).map((address) => readFunction(join(base, address)))));
  const wanted = functions.filter(({ id }) => isWanted(id));
  return {
    all: new Map(functions.map((one) => [one.address, one])),
    wanted: await Promise.all(wanted.map((one) => readWanted(one, join(base, one.address)))),
  };
}

export async function readMdevs(hostRoot: string): Promise<Mdev[]> {
  const base = hostRoot + MDEV;
  return present(await Promise.all((await names(base)).map((uuid) => readMdev(hostRoot, join(base, uuid)))));
}

async function readMdev(hostRoot: string, dir: string): Promise<Mdev | undefined> {
  const [place, typeId] = await Promise.all([ifThere(readlink(dir)), linked(join(dir, 'mdev_type'))]);
  if (place === undefined || typeId === undefined) return undefined;
  const parent = basename(dirname(place));
  const group = await linked(join(dir, 'iommu_group'));
  return {
    uuid: basename(dir),
    typeId,
    typeName: mdevTypeName((await readOptional(join(dir, 'mdev_type/name'))) ?? ''),
    parent,
    ...(group === undefined ? {} : { group }),
    ...(await numaNodeOf(join(hostRoot + PCI, parent))),
  };
}

/** What the node's cards can be divided into. */
export async function readMdevTypes(hostRoot: string): Promise<MdevType[]> {
  const ofCard = async (parent: string): Promise<MdevType[]> => {
    const ids = await names(join(hostRoot + CARDS, parent, 'mdev_supported_types'));
    return Promise.all(ids.map((id) => readType(hostRoot, parent, id)));
  };
  return (await Promise.all((await names(hostRoot + CARDS)).map(ofCard))).flat();
}

async function readType(hostRoot: string, parent: string, id: string): Promise<MdevType> {
  const dir = hostRoot + typeDir(parent, id);
  const [name, available] = await Promise.all([readOptional(join(dir, 'name')), readOptional(join(dir, 'available_instances'))]);
  return { parent, id, name: mdevTypeName(name ?? ''), available: Number.parseInt(available ?? '', 10) || 0 };
}

/** Without the controllers' own hubs, which are no devices that somebody plugged in. */
export async function readUsb(hostRoot: string): Promise<UsbDevice[]> {
  const base = hostRoot + USB;
  const ports = (await names(base)).filter((name) => !name.startsWith('usb'));
  const found = present(await Promise.all(ports.map((name) => readUsbDevice(join(base, name)))));
  return found.sort((a, b) => a.bus - b.bus || a.device - b.device);
}

/** Interfaces of a device lie beside it, but have no file in /dev/bus. */
async function readUsbDevice(dir: string): Promise<UsbDevice | undefined> {
  const facts = await readUevent(dir);
  const [vendor, product] = (facts.get('PRODUCT') ?? '').split('/').map((number) => Number.parseInt(number, 16));
  const file = facts.get('DEVNAME');
  if (file === undefined || facts.get('DEVTYPE') !== 'usb_device' || vendor === undefined || product === undefined) return undefined;
  return { bus: Number(facts.get('BUSNUM')), device: Number(facts.get('DEVNUM')), vendor, product, path: `/dev/${file}` };
}
