// How QEMU drives a disk: format, cache and I/O mode, error policy, discard, queues and I/O threads.
import type { Disk } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { DiskDriver } from '../domain-devices.js';
import type { DiskBackend } from '../facts.js';
import { busOf, type DiskThread } from '../io-threads.js';
import type { Scope } from '../scope.js';
import type { DiskSource } from './disk-source.js';

export type DriverNeeds = 'devices' | 'cpus' | 'iommu' | 'preallocatedVolumes' | 'diskBackends';

interface DriverPart {
  readonly disk: Disk;
  readonly source: DiskSource;
  readonly thread: DiskThread;
}

const ERROR_POLICIES = ['stop', 'ignore', 'report', 'enospace'] as const;

export function diskDriver(part: DriverPart, scope: Pick<Scope, DriverNeeds>): DiskDriver {
  const { source, thread } = part;
  return {
    name: 'qemu',
    type: source.format,
    error_policy: errorPolicy(part.disk),
    iothread: thread && 'id' in thread ? thread.id : undefined,
    ...(source.fixed ? {} : tuning(part, scope)),
    iothreads: thread && 'pool' in thread ? { iothread: thread.pool.map((id): { readonly id: number } => ({ id })) } : undefined,
  };
}

function tuning(part: DriverPart, scope: Pick<Scope, DriverNeeds>): DiskDriver {
  const virtio = busOf(part.disk) === 'virtio';
  return {
    ...modes(part, scope),
    queues: virtio && scope.devices.blockMultiQueue ? scope.cpus.vcpus || 1 : undefined,
    discard: discards(part, scope) ? 'unmap' : undefined,
    iommu: virtio && scope.iommu ? true : undefined,
  };
}

function discards({ disk, source }: DriverPart, { preallocatedVolumes }: Pick<Scope, DriverNeeds>): boolean {
  const writable = disk.disk !== undefined || disk.lun !== undefined;
  return source.unmap === true || (writable && !preallocatedVolumes.has(disk.name));
}

function errorPolicy({ name, errorPolicy: policy = 'stop' }: Disk): DiskDriver['error_policy'] {
  const known = ERROR_POLICIES.find((each) => each === policy);
  if (known) return known;
  throw new KvError('Invalid', `error policy ${policy} not recognized: disk ${name} can have ${ERROR_POLICIES.join(', ')}`);
}

/** As asked, else, once the backend is known: no host cache where it can be bypassed, and native I/O where it never blocks. */
function modes({ disk, source }: DriverPart, scope: Pick<Scope, DriverNeeds>): Pick<DiskDriver, 'cache' | 'io'> {
  const asked = askedCache(disk);
  const backend = (source.element.file ?? source.element.dev) ? scope.diskBackends?.[disk.name] : undefined;
  const cache = backend ? chooseCache(asked, backend, disk) : asked;
  const native = backend && cache === 'none' && (source.onBlockDevice || backend.preallocated);
  return { cache, io: disk.io || (native ? 'native' : undefined) };
}

/** A disk that several guests write to must not be cached by any of them. */
function askedCache({ name, cache = '', disk, shareable }: Disk): string {
  if (!disk || !shareable) return cache;
  if (cache && cache !== 'none') throw new KvError('Invalid', `a sharable disk requires cache = none got: ${cache} (disk ${name})`);
  return 'none';
}

function chooseCache(asked: string, { directIo }: DiskBackend, { name }: Disk): string {
  if (asked === 'none' && !directIo) {
    throw new KvError(
      'Invalid',
      `Unable to use 'none' cache mode, the file system of disk ${name} does not support direct I/O: leave cache empty`,
    );
  }
  return asked || (directIo ? 'none' : 'writethrough');
}
