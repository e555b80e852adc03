// Mount tables and bind mounts. The table of a process is parsed here; from the tables of a container and of the host it follows
// under which path the host sees a file of the container (findHostPath, pure). Bind mounts are made in the host's mount
// namespace by a child, because a mount of another namespace cannot be bound here. Called by the node agent only.
import { join, relative } from 'node:path/posix';
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { run } from './exec.js';
import { PROC, readOptional } from './proc.js';

export interface Mount {
  readonly id: number;
  readonly parentId: number;
  /** major:minor of the file system. */
  readonly device: string;
  /** The directory of the file system that is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  readonly isReadOnly: boolean;
  /** True when mounts below it propagate to others. */
  readonly isShared: boolean;
  readonly fsType: string;
}

const HOST_MOUNT_NS = '/proc/1/ns/mnt';

/** Parses /proc/<pid>/mountinfo; a later line lies over an earlier one at the same place. */
export function parseMountInfo(text: string): Mount[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseMount);
}

function parseMount(line: string): Mount {
  const fields = line.split(' ');
  const dash = fields.indexOf('-', 6);
  const [id, parentId, device, root, mountPoint, options] = fields;
  const fsType = fields[dash + 1];
  if (dash < 0 || device === undefined || root === undefined || mountPoint === undefined || options === undefined || fsType === undefined) {
    throw new KvError('Invalid', `not a line of mountinfo: ${line}`);
  }
  return {
    id: Number(id),
    parentId: Number(parentId),
    device,
    root: unescapeOctal(root),
    mountPoint: unescapeOctal(mountPoint),
    isReadOnly: options.split(',').includes('ro'),
    isShared: fields.slice(6, dash).some((field) => field.startsWith('shared:')),
    fsType,
  };
}

/** The kernel writes blanks, tabs, newlines and backslashes as \ooo. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

export async function readMounts(pid: number, proc = PROC): Promise<Mount[]> {
  const text = await readOptional(join(proc, String(pid), 'mountinfo'));
  if (text === undefined) throw new KvError('NotFound', `process ${pid} has ended`);
  return parseMountInfo(text);
}

export const isBeneath = (dir: string, path: string): boolean => dir === '/' || path === dir || path.startsWith(`${dir}/`);

/** The mount that `path` lies on: the longest mount point wins, among equals the last one. */
export function mountOf(mounts: readonly Mount[], path: string): Mount | undefined {
  let best: Mount | undefined;
  for (const mount of mounts) {
    if (isBeneath(mount.mountPoint, path) && mount.mountPoint.length >= (best?.mountPoint.length ?? 0)) best = mount;
  }
  return best;
}

/**
 * Paths under which the host may see the container's file `path`: places where the same file system is mounted with a root that
 * covers the file. Best first; the caller compares device and inode, since a place may be covered by another mount.
 */
export function findHostPaths(host: readonly Mount[], container: readonly Mount[], path: string): string[] {
  const mount = mountOf(container, path);
  if (mount === undefined) return [];
  const inFileSystem = join(mount.root, relative(mount.mountPoint, path));
  return host
    .filter((candidate) => candidate.device === mount.device && isBeneath(candidate.root, inFileSystem))
    .toSorted((a, b) => b.root.length - a.root.length || b.id - a.id)
    .map((candidate) => join(candidate.mountPoint, relative(candidate.root, inFileSystem)));
}

/** Mount points strictly below `dir`, innermost first: the order in which they can be unmounted. */
export function mountPointsBelow(mounts: readonly Mount[], dir: string): string[] {
  return mounts
    .map((mount) => mount.mountPoint)
    .filter((point) => point !== dir && isBeneath(dir, point))
    .toReversed();
}

// The final mount must be read-only from its first moment: a later remount does not reach the copy that has already propagated into the
// launcher. So the flag is set on a private staging mount, and that one is bound to its place.
const BIND_READ_ONLY = `set -e
stage=$1 source=$2 target=$3
mkdir -p "$stage"
mountpoint -q "$stage" || { mount -t tmpfs -o size=64k,mode=700 kubevirt-stage "$stage"; mount --make-private "$stage"; }
at="$stage/$$"
: > "$at"
trap 'umount "$at" 2>/dev/null; rm -f "$at"' EXIT
mount -c --bind "$source" "$at"
mount -o remount,bind,ro "$at"
mount -c --bind "$at" "$target"`;

export interface BindMount {
  /** As the host sees it, or /proc/<pid>/fd/<n> of a descriptor opened through the host's root. */
  readonly source: string;
  /** The same. */
  readonly target: string;
  /** A directory of the host for the staging mount. */
  readonly stage: string;
  /** Default: the mount namespace of process 1. */
  readonly mountNs?: string;
}

/** Binds one file read-only in the host's mount namespace, from where it propagates into the pod. */
export async function bindFileReadOnly(ctx: Ctx, bind: BindMount): Promise<void> {
  const ns = bind.mountNs ?? HOST_MOUNT_NS;
  await run(ctx, 'nsenter', [`--mount=${ns}`, '--', 'sh', '-c', BIND_READ_ONLY, 'bind', bind.stage, bind.source, bind.target]);
}

/** Binds one file or directory as it is in the host's mount namespace, from where it propagates into the pod. */
export async function bindWritable(ctx: Ctx, { source, target, mountNs = HOST_MOUNT_NS }: Omit<BindMount, 'stage'>): Promise<void> {
  await run(ctx, 'nsenter', [`--mount=${mountNs}`, '--', 'mount', '-c', '--bind', source, target]);
}

/** Unmounts in the host's mount namespace; a mount that is still in use goes away with its last user. */
export async function unmountLazily(ctx: Ctx, mountPoint: string, mountNs = HOST_MOUNT_NS): Promise<void> {
  await run(ctx, 'nsenter', [`--mount=${mountNs}`, '--', 'umount', '-l', '-c', mountPoint]);
}
