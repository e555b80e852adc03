// Where a launcher pod's volumes lie below the kubelet's pods directory, and its command socket in there. Only looks; directories are
// opened beneath the pods directory; names inside them belong to the launcher, and no link leads out of them.
import { readdir, stat } from 'node:fs/promises';
import { hasCode, KvError } from '../../base/errors.js';
import { existsBeneath, openBeneath, type SafePath } from '../../linux/safe-path.js';

const emptyDir = (podUid: string, volume: string): string => `${podUid}/volumes/kubernetes.io~empty-dir/${volume}`;

export interface PodDirs {
  /** Holds the command socket. */
  readonly sockets: SafePath;
  /** Holds the notify socket. */
  readonly public: SafePath;
}

/** undefined while, or once, the kubelet has no such pod. */
export async function openPodDirs(podsDir: string, podUid: string): Promise<PodDirs | undefined> {
  const sockets = await openIfThere(podsDir, emptyDir(podUid, 'sockets'));
  if (sockets === undefined) return undefined;
  const shared = await openIfThere(podsDir, emptyDir(podUid, 'public'));
  if (shared !== undefined) return { sockets, public: shared };
  await sockets.close();
  return undefined;
}

/**
 * Throws unless the kubelet's directory is what it should be: there is at least our own pod's in it. Without its mount every guest of the node would
 * count as gone.
 */
export async function requirePods(podsDir: string): Promise<void> {
  const pods = await readdir(podsDir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
  if (pods.length > 0) return;
  throw new KvError('NotReady', `the kubelet's pods directory ${podsDir} is missing or empty: is it mounted into virt-handler?`, {
    reason: 'NoPodsDirectory',
  });
}

/** Whether the kubelet (still) has them. */
export const hasPodDirs = (podsDir: string, podUid: string): Promise<boolean> => existsBeneath(podsDir, emptyDir(podUid, 'sockets'));

export async function closePodDirs(dirs: PodDirs): Promise<void> {
  await Promise.all([dirs.sockets.close(), dirs.public.close()]);
}

async function openIfThere(root: string, inside: string): Promise<SafePath | undefined> {
  try {
    return await openBeneath(root, inside);
  } catch (err) {
    if (hasCode(err, 'NotFound')) return undefined;
    throw err;
  }
}

export type SocketName = 'launcher-sock' | 'launcher-init-sock';

export interface CommandSocket {
  readonly name: SocketName;
  /** Open until the caller closes it; its path leads to this very socket, even when the pod puts something else in its place. */
  readonly found: SafePath;
}

/** The socket on which the launcher listens now: under the second name until its libvirt is up. */
export async function commandSocket(dirs: PodDirs): Promise<CommandSocket | undefined> {
  for (const name of ['launcher-sock', 'launcher-init-sock'] as const) {
    const found = await openIfThere(dirs.sockets.path, name);
    if (found === undefined) continue;
    if ((await stat(found.path)).isSocket()) return { name, found };
    await found.close();
  }
  return undefined;
}

export const notifySocket = (dirs: PodDirs): string => `${dirs.public.path}/domain-notify-pipe.sock`;
