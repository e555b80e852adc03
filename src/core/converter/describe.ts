// Reads a domain tree back for those who made it: which disks and interfaces it has, under which target and path. The launcher probes the disks
// with it and fills the DomainReport that the node agent gets.
import type { DomainDiskReport, DomainInterfaceReport } from '../../api/index.js';
import { nameOfAlias } from './steps/device.js';
import { childOf, childrenOf, nodeAt, type XmlNode } from './xml.js';

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

export function describeDomain(domain: XmlNode): DescribedDomain {
  const devices = childOf(domain, 'devices');
  return {
    name: childOf(domain, 'name')?.text ?? '',
    type: domain.attrs.type ?? '',
    machineType: nodeAt(domain, 'os', 'type')?.attrs.machine ?? '',
    memoryBytes: Number(childOf(domain, 'memory')?.text ?? 0),
    disks: childrenOf(devices, 'disk').map(describeDisk),
    interfaces: childrenOf(devices, 'interface').map(describeInterface),
  };
}

const userName = (node: XmlNode): string => nameOfAlias(childOf(node, 'alias')?.attrs.name) ?? '';

const pathOf = (source: XmlNode | undefined): string | undefined => source?.attrs.file ?? source?.attrs.dev;

function describeDisk(node: XmlNode): DescribedDisk {
  const source = childOf(node, 'source');
  const paths = {
    path: pathOf(source),
    dataPath: pathOf(nodeAt(source, 'dataStore', 'source')),
    backingPath: pathOf(nodeAt(node, 'backingStore', 'source')),
    backingFormat: nodeAt(node, 'backingStore', 'format')?.attrs.type,
  };
  return {
    name: userName(node),
    target: childOf(node, 'target')?.attrs.dev ?? '',
    device: node.attrs.device ?? '',
    format: childOf(node, 'driver')?.attrs.type ?? '',
    isBlock: (childOf(source, 'dataStore') ?? node).attrs.type === 'block',
    ...(withoutUndefined(paths) as Pick<DescribedDisk, 'path'>),
  };
}

function describeInterface(node: XmlNode): DescribedInterface {
  const found = { mac: childOf(node, 'mac')?.attrs.address, tap: childOf(node, 'target')?.attrs.dev };
  return { name: userName(node), ...(withoutUndefined(found) as Pick<DescribedInterface, 'mac'>) };
}

const withoutUndefined = (record: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The two lists of a DomainReport's spec. */
export function reportDevices(domain: XmlNode): { disks: DomainDiskReport[]; interfaces: DomainInterfaceReport[] } {
  const { disks, interfaces } = describeDomain(domain);
  return {
    disks: disks.map(({ name, target }) => ({ name, target })),
    interfaces: interfaces.map(({ name, mac = '' }) => ({ name, mac })),
  };
}
