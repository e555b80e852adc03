// Reads a domain back for those who made it: which disks and interfaces it has, under which target and path. The launcher probes the disks
// with it and fills the DomainReport that the node agent gets.
import type { DomainDiskReport, DomainInterfaceReport } from '../../api/index.js';
import type { Domain } from './domain.js';
import type { DiskSourceElement, DomainDisk, DomainInterface } from './domain-devices.js';
import { deviceName } from './steps/device.js';

export interface DescribedDisk extends DomainDiskReport {
  readonly device: string;
  readonly format: string;
  /** File or device; undefined for an empty drive. */
  readonly path?: string;
  /** Where the data lies when `path` is an overlay that tracks changes. */
  readonly dataPath?: string;
  readonly backingPath?: string;
  readonly backingFormat?: string;
  /** The data lies on a block device. */
  readonly isBlock: boolean;
}

export interface DescribedInterface {
  readonly name: string;
  readonly mac?: string;
  readonly tap?: string;
}

export interface DescribedDomain {
  readonly name: string;
  readonly type: string;
  readonly machineType: string;
  readonly memoryBytes: number;
  readonly disks: readonly DescribedDisk[];
  readonly interfaces: readonly DescribedInterface[];
}

export function describeDomain({ name = '', type, os, memory, devices }: Domain): DescribedDomain {
  return {
    name,
    type: type ?? '',
    machineType: os?.type?.machine ?? '',
    memoryBytes: Number(memory?.value ?? 0),
    disks: (devices?.disk ?? []).map(describeDisk),
    interfaces: (devices?.interface ?? []).map(describeInterface),
  };
}

const pathOf = (data: Pick<DiskSourceElement, 'file' | 'dev'> | undefined): string | undefined => data?.file ?? data?.dev;

function describeDisk(disk: DomainDisk): DescribedDisk {
  const { source, backingStore, target, device = '', driver } = disk;
  const paths = {
    path: pathOf(source),
    dataPath: pathOf(source?.dataStore?.source),
    backingPath: pathOf(backingStore?.source),
    backingFormat: backingStore?.format?.type,
  };
  return {
    name: deviceName(disk) ?? '',
    target: target?.dev ?? '',
    device,
    format: driver?.type ?? '',
    isBlock: (source?.dataStore ?? disk).type === 'block',
    ...(withoutUndefined(paths) as Pick<DescribedDisk, 'path'>),
  };
}

function describeInterface(node: DomainInterface): DescribedInterface {
  const found = { mac: node.mac?.address, tap: node.target?.dev };
  return { name: deviceName(node) ?? '', ...(withoutUndefined(found) as Pick<DescribedInterface, 'mac'>) };
}

const withoutUndefined = (record: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The two lists of a DomainReport's spec. */
export function reportDevices(domain: Domain): { disks: DomainDiskReport[]; interfaces: DomainInterfaceReport[] } {
  const { disks, interfaces } = describeDomain(domain);
  return {
    disks: disks.map(({ name, target }) => ({ name, target })),
    interfaces: interfaces.map(({ name, mac = '' }) => ({ name, mac })),
  };
}
