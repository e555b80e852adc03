// What libvirt is told to do for one migration: where to, by which sockets, with which flags and parameters. Pure; source.ts carries it out.
import type { VirtualMachineInstance } from '../../api/index.js';
import { type CopiedDisk, type DomainHostDevice, type DomainModel, deviceName, renderDomain } from '../../core/converter/index.js';
import { channelSocket } from '../../core/migration/channels.js';
import type { MigrationOptions } from '../../core/migration/options.js';
import type { MigrateFlag, ParamValues } from '../../libvirt/index.js';

export interface CrossingFacts {
  readonly vmi: VirtualMachineInstance;
  readonly options: MigrationOptions;
  /** As it shall be on the other side. */
  readonly destination: DomainModel;
  readonly copied: readonly CopiedDisk[];
  readonly isPaused: boolean;
  /** 11003000 is 11.3.0. */
  readonly libvirtVersion: number;
  readonly mode: 'session' | 'system';
}

export interface Crossing {
  readonly uri: string;
  readonly flags: readonly MigrateFlag[];
  readonly params: ParamValues;
}

const MIB = 1_048_576n;
/** From this version on zeros are not written where the target reads zeros anyway. */
const DETECTS_ZEROES = 10_009_000;

/**
 * An emulated guest goes over one connection: QEMU tracks its writes less strictly, and with several connections it was seen to hang once it had
 * arrived. It is slower than any network anyway.
 */
export function optionsFor({ type }: DomainModel, options: MigrationOptions): MigrationOptions {
  if (type === 'kvm') return options;
  const { threads: _threads, compression: _compression, ...rest } = options;
  return rest;
}

export function migrationFlags(options: MigrationOptions, { copies, isPaused }: { copies: boolean; isPaused: boolean }): MigrateFlag[] {
  const wanted: readonly (readonly [MigrateFlag, boolean])[] = [
    ['live', true],
    ['peer2peer', true],
    ['persistDest', true],
    ['nonSharedInc', copies],
    ['unsafe', options.isUnsafe],
    ['autoConverge', options.autoConverge],
    ['postcopy', options.postCopy],
    ['paused', isPaused],
    ['parallel', options.threads !== undefined],
    ['compressed', options.compression !== undefined],
  ];
  return wanted.flatMap(([flag, isWanted]) => (isWanted ? [flag] : []));
}

/** A guest that goes to another namespace or cluster gets the name and the UID of the VMI there. */
function nameThere({ metadata, status }: VirtualMachineInstance): string {
  const { domainName, domainNamespace } = status?.migrationState?.targetState ?? {};
  const isOther = domainName !== undefined && domainName !== '' && domainNamespace !== undefined && domainNamespace !== '';
  return isOther ? `${domainNamespace}_${domainName}` : `${metadata.namespace}_${metadata.name}`;
}

function xmlThere(destination: DomainModel, { metadata, status }: VirtualMachineInstance): string {
  const xml = renderDomain(destination);
  const uid = status?.migrationState?.targetState?.virtualMachineInstanceUID;
  return uid === undefined || uid === '' || !metadata.uid ? xml : xml.replaceAll(metadata.uid, uid);
}

const disksParams = (uid: string, copied: readonly CopiedDisk[], version: number): ParamValues => {
  const targets = copied.map(({ target }) => target);
  return {
    disks_uri: `unix://${channelSocket(uid, 'disks')}`,
    migrate_disks: targets,
    ...(version >= DETECTS_ZEROES ? { migrate_disks_detect_zeroes: targets } : {}),
  };
};

export function planCrossing({ vmi, options, destination, copied, isPaused, libvirtVersion, mode }: CrossingFacts): Crossing {
  const uid = vmi.metadata.uid ?? '';
  const xml = xmlThere(destination, vmi);
  const copies = copied.length > 0;
  return {
    uri: `qemu+unix:///${mode}?socket=${channelSocket(uid, 'libvirt')}`,
    flags: migrationFlags(options, { copies, isPaused }),
    params: {
      migrate_uri: `unix://${channelSocket(uid, 'memory')}`,
      destination_name: nameThere(vmi),
      destination_xml: xml,
      persistent_xml: xml,
      ...(options.bandwidthBytes > 0n ? { bandwidth: (options.bandwidthBytes + MIB - 1n) / MIB } : {}),
      ...(options.threads === undefined ? {} : { 'parallel.connections': options.threads }),
      ...(options.compression === undefined ? {} : { compression: options.compression }),
      ...(copies ? disksParams(uid, copied, libvirtVersion) : {}),
    },
  };
}

const isFunction = (device: DomainHostDevice): boolean => deviceName(device)?.startsWith('sriov-') === true;

/** PCI functions that the guest must give back before it can move; it gets others where it goes. */
export const functionsToUnplug = ({ devices }: DomainModel): DomainHostDevice[] => (devices?.hostdev ?? []).filter(isFunction);

/** Devices of the host that move with the guest, such as virtual GPUs. */
export const hasHostDevices = ({ devices }: DomainModel): boolean => devices?.hostdev?.some((device) => !isFunction(device)) === true;
