// What lies behind a disk: the file or device for each kind of volume, its format, and the image below it. Pure mapping of volume to paths;
// the launcher creates overlays and ISOs at the same paths.
import type { Volume } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import {
  blockDevice,
  type ConfigKind,
  cloudInitIso,
  configPaths,
  containerDiskImage,
  DOWNWARD_METRICS_DISK,
  emptyDiskImage,
  filesystemImage,
  hostDiskImage,
  hotplugBlockDevice,
  hotplugImage,
  overlayImage,
} from '../../storage/paths.js';
import type { BackingStore, DiskSourceElement } from '../domain-devices.js';
import type { Scope } from '../scope.js';

export type SourceNeeds = 'vmi' | 'containerDiskFormats' | 'blockVolumes' | 'changedBlockOverlays' | 'preallocatedVolumes';

export interface DiskSource {
  readonly type: 'file' | 'block';
  readonly format: 'raw' | 'qcow2';
  readonly element: DiskSourceElement;
  readonly backingStore?: BackingStore;
  /** Freed blocks are given back even where the disk itself does not ask for it. */
  readonly unmap?: boolean;
  /** The data sits on a block device, if need be below an overlay. */
  readonly onBlockDevice: boolean;
  /** The volume fixes everything else: read-only, virtio, no tuning. */
  readonly fixed?: true;
}

/** The drive is there, the medium is not. */
export const NO_MEDIUM: DiskSource = { type: 'block', format: 'raw', element: {}, unmap: true, onBlockDevice: true };

const file = (path: string, more: Partial<DiskSource> = {}): DiskSource => ({
  type: 'file',
  format: 'raw',
  element: { file: path },
  onBlockDevice: false,
  ...more,
});

type Needs = Pick<Scope, SourceNeeds>;
type SourceKind = Exclude<keyof Volume, 'name'>;

const config =
  (kind: ConfigKind) =>
  ({ name }: Volume): DiskSource =>
    file(configPaths(kind, name).iso);

/** In the order in which a volume with several sources would be read. */
const SOURCES: readonly (readonly [SourceKind, (volume: Volume, scope: Needs, index: number) => DiskSource])[] = [
  ['containerDisk', containerDisk],
  ['cloudInitNoCloud', cloudInit],
  ['cloudInitConfigDrive', cloudInit],
  ['sysprep', config('sysprep')],
  ['hostDisk', hostDisk],
  ['persistentVolumeClaim', claim],
  ['dataVolume', claim],
  ['ephemeral', ephemeral],
  ['emptyDisk', ({ name }) => file(emptyDiskImage(name), { format: 'qcow2', unmap: true })],
  ['configMap', config('configMap')],
  ['secret', config('secret')],
  ['downwardAPI', config('downwardAPI')],
  ['serviceAccount', config('serviceAccount')],
  ['downwardMetrics', () => file(DOWNWARD_METRICS_DISK, { fixed: true })],
];

/** `index` is the volume's place in spec.volumes. */
export function permanentSource(volume: Volume, index: number, scope: Needs): DiskSource {
  const found = SOURCES.find(([kind]) => volume[kind] !== undefined);
  if (found) return found[1](volume, scope, index);
  throw new KvError('Invalid', `disk ${volume.name} references an unsupported source: remove the disk or use a volume that can be one`);
}

/** Volumes plugged into the running pod appear elsewhere. */
export function hotplugSource(volume: Volume, scope: Needs): DiskSource {
  if (!volume.hostDisk && !volume.persistentVolumeClaim && !volume.dataVolume) {
    throw new KvError(
      'Invalid',
      `hotplug disk ${volume.name} references an unsupported source: only claims and data volumes can be plugged in`,
    );
  }
  const isBlock = scope.blockVolumes.has(volume.name);
  return dataSource(volume.name, isBlock ? { dev: hotplugBlockDevice(volume.name) } : { file: hotplugImage(volume.name) }, scope);
}

function claim({ name }: Volume, scope: Needs): DiskSource {
  return dataSource(name, scope.blockVolumes.has(name) ? { dev: blockDevice(name) } : { file: filesystemImage(name) }, scope);
}

/** The data itself, or a qcow2 above it that remembers which blocks changed since the last backup. */
function dataSource(name: string, data: Data, scope: Needs): DiskSource {
  const unmap = !scope.preallocatedVolumes.has(name);
  const onBlockDevice = data.dev !== undefined;
  const overlay = scope.changedBlockOverlays[name];
  if (!overlay) return { type: typeOf(data), format: 'raw', element: data, unmap, onBlockDevice };
  return { ...tracked(overlay, data), unmap, onBlockDevice };
}

/** Exactly one of both. */
type Data = Pick<DiskSourceElement, 'file' | 'dev'>;

const typeOf = ({ dev }: Data): 'file' | 'block' => (dev === undefined ? 'file' : 'block');

const tracked = (overlay: string, data: Data): DiskSource =>
  file(overlay, {
    format: 'qcow2',
    element: { file: overlay, dataStore: { type: typeOf(data), format: { type: 'raw' }, source: data } },
  });

function hostDisk({ name, hostDisk: given }: Volume, scope: Needs): DiskSource {
  const image = hostDiskImage(name, given?.path ?? '');
  const overlay = scope.changedBlockOverlays[name];
  return overlay ? tracked(overlay, { file: image }) : file(image);
}

function containerDisk({ name }: Volume, { containerDiskFormats }: Needs, index: number): DiskSource {
  const format = containerDiskFormats[name];
  if (!format) throw new KvError('NotReady', `no disk info provided for volume ${name}: its image has not been looked at yet`);
  return overlay(name, format, { file: containerDiskImage(index) });
}

function ephemeral({ name }: Volume, { blockVolumes }: Needs): DiskSource {
  return overlay(name, 'raw', blockVolumes.has(name) ? { dev: blockDevice(name) } : { file: filesystemImage(name) });
}

/** Writes go to a qcow2 that ends with the pod. */
const overlay = (name: string, format: string, data: Data): DiskSource =>
  file(overlayImage(name), {
    format: 'qcow2',
    backingStore: { type: typeOf(data), format: { type: format }, source: data },
    unmap: true,
  });

function cloudInit(volume: Volume, { vmi }: Needs): DiskSource {
  const { namespace = '', name = '' } = vmi.metadata;
  return file(cloudInitIso(volume.cloudInitNoCloud ? 'noCloud' : 'configDrive', namespace, name));
}
