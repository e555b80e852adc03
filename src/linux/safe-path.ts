// Opens paths inside a directory that somebody else may write to (a launcher's root, a pod's volume) without being led out of it:
// every component is opened without following links, and links are resolved against the given root, as inside a chroot.
// The result is a descriptor; work through its /proc/self/fd path. Used for everything the node agent touches in a pod.
import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { KvError } from '../base/errors.js';

/** An open descriptor that names one file or directory, whatever happens to its name. */
export interface SafePath {
  /** /proc/self/fd/<n>: usable in every call of this process, and as a parent of further names. */
  readonly path: string;
  /** /proc/<our pid>/fd/<n>: the same for a child process. */
  readonly pathForChild: string;
  /** Where it lies below the root once every link is resolved; a name that may have changed since. */
  readonly resolved: string;
  close(): Promise<void>;
}

const O_PATH = 0o10000000;
const MAX_LINKS = 40;

/** Opens `inside` (absolute or relative, interpreted below `root`); NotFound when a component is missing. */
export async function openBeneath(root: string, inside: string): Promise<SafePath> {
  const walk: Walk = { names: namesOf(inside), stack: [{ name: '', handle: await openRoot(root) }], linksLeft: MAX_LINKS };
  try {
    while (walk.names.length > 0) await step(walk, `${inside} in ${root}`);
    const resolved = `/${walk.stack
      .slice(1)
      .map(({ name }) => name)
      .join('/')}`;
    const last = walk.stack.pop();
    if (last === undefined) throw new KvError('Internal', `lost the root while opening ${inside}`);
    return safePath(last.handle, resolved);
  } finally {
    await Promise.all(walk.stack.map(({ handle }) => handle.close()));
  }
}

/** True when something exists at `inside`. */
export async function existsBeneath(root: string, inside: string): Promise<boolean> {
  try {
    const found = await openBeneath(root, inside);
    await found.close();
    return true;
  } catch (err) {
    if (err instanceof KvError && err.code === 'NotFound') return false;
    throw err;
  }
}

/** Opens, hands over, closes. */
export async function withBeneath<T>(root: string, inside: string, use: (found: SafePath) => Promise<T>): Promise<T> {
  const found = await openBeneath(root, inside);
  try {
    return await use(found);
  } finally {
    await found.close();
  }
}

interface Opened {
  readonly name: string;
  readonly handle: FileHandle;
}

interface Walk {
  names: string[];
  readonly stack: Opened[];
  linksLeft: number;
}

async function step(walk: Walk, what: string): Promise<void> {
  const name = walk.names.shift() ?? '';
  if (name === '..') return up(walk);
  const parent = `/proc/self/fd/${walk.stack.at(-1)?.handle.fd ?? -1}`;
  const next = await openNoFollow(`${parent}/${name}`, what);
  if (!(await next.stat()).isSymbolicLink()) {
    walk.stack.push({ name, handle: next });
    return;
  }
  await next.close();
  if (walk.linksLeft-- === 0) throw new KvError('Invalid', `too many symbolic links while opening ${what}`);
  const target = await readlink(`${parent}/${name}`);
  if (target.startsWith('/')) await backToRoot(walk);
  walk.names = [...namesOf(target), ...walk.names];
}

/** `..` at the root stays at the root. */
async function up(walk: Walk): Promise<void> {
  if (walk.stack.length > 1) await walk.stack.pop()?.handle.close();
}

async function backToRoot(walk: Walk): Promise<void> {
  while (walk.stack.length > 1) await walk.stack.pop()?.handle.close();
}

async function openRoot(root: string): Promise<FileHandle> {
  try {
    return await open(root, O_PATH | constants.O_DIRECTORY);
  } catch (cause) {
    throw new KvError(isMissing(cause) ? 'NotFound' : 'Internal', `cannot open ${root}`, { cause });
  }
}

async function openNoFollow(path: string, what: string): Promise<FileHandle> {
  try {
    return await open(path, O_PATH | constants.O_NOFOLLOW);
  } catch (cause) {
    throw new KvError(isMissing(cause) ? 'NotFound' : 'Internal', `cannot open ${what}`, { cause });
  }
}

const isMissing = (err: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((err as NodeJS.ErrnoException).code ?? '');

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

function safePath(handle: FileHandle, resolved: string): SafePath {
  return {
    path: `/proc/self/fd/${handle.fd}`,
    pathForChild: `/proc/${process.pid}/fd/${handle.fd}`,
    resolved,
    close: () => handle.close(),
  };
}
