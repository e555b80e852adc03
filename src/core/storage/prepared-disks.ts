// What the launcher makes before a domain can start, at the paths that the domain XML names: overlays above read-only images, empty disks,
// ISOs of config maps, secrets and the like. Pure lists; the launcher runs qemu-img and xorriso over them.
import type { Quantity, VirtualMachineInstance, Volume } from '../../api/index.js';
import { quantityValue } from '../../api/quantity.js';
import { KvError } from '../../base/errors.js';
import { blockDevice, type ConfigKind, configPaths, containerDiskImage, emptyDiskImage, filesystemImage, overlayImage } from './paths.js';

/** A qcow2 that takes the writes to an image which must not change. */
export interface OverlayPlan {
  readonly volume: string;
  readonly path: string;
  readonly backingPath: string;
  readonly backingFormat: string;
}

export interface EmptyDiskPlan {
  readonly volume: string;
  readonly path: string;
  readonly bytes: bigint;
}

export interface ConfigIsoPlan {
  readonly volume: string;
  readonly kind: ConfigKind;
  /** Its entries become the ISO's root; links are followed. */
  readonly sourceDir: string;
  readonly iso: string;
  readonly volumeId: string;
  /** One of these must be there, in any spelling of upper and lower case. */
  readonly requires?: readonly string[];
}

export interface PreparedDisks {
  readonly overlays: readonly OverlayPlan[];
  readonly emptyDisks: readonly EmptyDiskPlan[];
  readonly configIsos: readonly ConfigIsoPlan[];
}

export interface PreparedDiskFacts {
  /** Container disk volume → image format. */
  readonly containerDiskFormats: Readonly<Record<string, string>>;
  readonly blockVolumes: ReadonlySet<string>;
}

const MIB = 1024n * 1024n;
const CONFIG_LABEL = 'cfgdata';
/** Windows' setup looks for its answers on a disk of this name. */
const SYSPREP = { volumeId: 'unattendCD', requires: ['autounattend.xml', 'unattend.xml'] } as const;

export function planPreparedDisks({ spec }: VirtualMachineInstance, facts: PreparedDiskFacts): PreparedDisks {
  const volumes = spec.volumes ?? [];
  const attached = new Set((spec.domain.devices.disks ?? []).map(({ name }) => name));
  return {
    overlays: volumes.flatMap((volume, index) => overlayOf(volume, index, facts)),
    emptyDisks: volumes.flatMap(({ name, emptyDisk }) =>
      emptyDisk ? [{ volume: name, path: emptyDiskImage(name), bytes: wholeMebibytes(emptyDisk.capacity, name) }] : [],
    ),
    // A config volume without a disk is shared as a directory.
    configIsos: volumes.filter(({ name }) => attached.has(name)).flatMap(configIsoOf),
  };
}

function overlayOf({ name, containerDisk, ephemeral }: Volume, index: number, facts: PreparedDiskFacts): OverlayPlan[] {
  if (!containerDisk && !ephemeral) return [];
  const plan = { volume: name, path: overlayImage(name) };
  if (ephemeral) {
    const backingPath = facts.blockVolumes.has(name) ? blockDevice(name) : filesystemImage(name);
    return [{ ...plan, backingPath, backingFormat: 'raw' }];
  }
  const backingFormat = facts.containerDiskFormats[name];
  if (!backingFormat) throw new KvError('NotReady', `no disk info provided for volume ${name}: its image has not been looked at yet`);
  return [{ ...plan, backingPath: containerDiskImage(index), backingFormat }];
}

/** QEMU rounds odd sizes differently for files and devices; whole MiB are the same everywhere. */
export function wholeMebibytes(capacity: Quantity, volume: string): bigint {
  const bytes = (quantityValue(capacity) / MIB) * MIB;
  if (bytes <= 0n) throw new KvError('Invalid', `the size for volume ${volume} is too low: ${capacity}, it must be at least 1Mi`);
  return bytes;
}

function configIsoOf(volume: Volume): ConfigIsoPlan[] {
  const { name, configMap, secret, downwardAPI, serviceAccount, sysprep } = volume;
  const plan = (kind: ConfigKind, volumeId: string | undefined): ConfigIsoPlan => {
    const { source, iso } = configPaths(kind, name);
    return { volume: name, kind, sourceDir: source, iso, volumeId: volumeId || CONFIG_LABEL };
  };
  if (configMap) return [plan('configMap', configMap.volumeLabel)];
  if (secret) return [plan('secret', secret.volumeLabel)];
  if (downwardAPI) return [plan('downwardAPI', downwardAPI.volumeLabel)];
  if (serviceAccount) return [plan('serviceAccount', undefined)];
  return sysprep ? [{ ...plan('sysprep', SYSPREP.volumeId), requires: SYSPREP.requires }] : [];
}
