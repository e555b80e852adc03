// The node agent's memory of which networks of which VMI are set up, one small file a network, so that a restarted agent neither does
// the work twice nor mistakes half of it for all. Also where status reads the pod's addresses from. Written by setup.ts only.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type NetworkState, type PodInterfaceCache, podInterfaceCachePath } from '../../core/network/caches.js';

export interface NetworkJournal {
  /** Network name → entry; empty when nothing was begun. */
  read(vmiUid: string): Promise<ReadonlyMap<string, PodInterfaceCache>>;
  write(vmiUid: string, entries: ReadonlyMap<string, PodInterfaceCache>): Promise<void>;
  remove(vmiUid: string, networks: readonly string[]): Promise<void>;
  forget(vmiUid: string): Promise<void>;
}

export const inState = (entries: ReadonlyMap<string, PodInterfaceCache>, networkState: NetworkState): Map<string, PodInterfaceCache> =>
  new Map([...entries].map(([network, entry]) => [network, { ...entry, networkState }]));

/** `privateDir`: survives the agent, not the machine (a reboot ends every launcher anyway). */
export function createNetworkJournal(privateDir: string): NetworkJournal {
  const dirOf = (vmiUid: string): string => join(privateDir, 'network-info-cache', basename(vmiUid));
  const fileOf = (vmiUid: string, network: string): string => join(dirOf(vmiUid), basename(podInterfaceCachePath(vmiUid, network)));
  return {
    async read(vmiUid) {
      const names = await listDir(dirOf(vmiUid));
      const read = async (name: string): Promise<[string, PodInterfaceCache]> => [
        decodeURIComponent(name),
        JSON.parse(await readFile(join(dirOf(vmiUid), name), 'utf8')) as PodInterfaceCache,
      ];
      return new Map(await Promise.all(names.filter((name) => !name.endsWith(PARTIAL)).map(read)));
    },
    async write(vmiUid, entries) {
      await mkdir(dirOf(vmiUid), { recursive: true, mode: 0o700 });
      for (const [network, entry] of entries) await writeWhole(fileOf(vmiUid, network), JSON.stringify(entry));
    },
    async remove(vmiUid, networks) {
      await Promise.all(networks.map((network) => rm(fileOf(vmiUid, network), { force: true })));
    },
    forget: (vmiUid) => rm(dirOf(vmiUid), { recursive: true, force: true }),
  };
}

const PARTIAL = '.partial';

/** A reader, or an agent that starts after a crash, sees the old or the new content, never half of it. */
async function writeWhole(path: string, content: string): Promise<void> {
  await writeFile(`${path}${PARTIAL}`, content, { mode: 0o600 });
  await rename(`${path}${PARTIAL}`, path);
}

async function listDir(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}
