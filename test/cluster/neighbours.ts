// Other local clusters on the same machine. Each writes its state folder into a register while it is up. Two may run side by side only in
// network namespaces of their own, since their addresses are the same; but even then they share mount points of the machine, which the
// last of them takes away. Called by up.ts, down.ts and node.ts.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import type { ClusterConfig } from './config.js';
import { isAlive, readRecords } from './process-records.js';

type Registered = Pick<ClusterConfig, 'registerDir' | 'cgroup' | 'stateDir'>;

const entry = ({ registerDir, cgroup }: Registered): string => join(registerDir, cgroup);

export function register(config: Registered): void {
  mkdirSync(config.registerDir, { recursive: true });
  writeFileSync(entry(config), config.stateDir);
}

export function unregister(config: Registered): void {
  rmSync(entry(config), { force: true });
  try {
    rmdirSync(config.registerDir);
  } catch (err) {
    // Another cluster's entry is in it, or there was never one.
    if (!['ENOTEMPTY', 'ENOENT'].includes((err as NodeJS.ErrnoException).code ?? '')) throw err;
  }
}

/** State folders of the other clusters that run. */
export function neighbours(config: Registered): string[] {
  return readEntries(config.registerDir).filter(
    (stateDir) => stateDir !== config.stateDir && readRecords(join(stateDir, 'pids')).some((record) => isAlive(record)),
  );
}

function readEntries(dir: string): string[] {
  try {
    return readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'));
  } catch (err) {
    // No register, or an entry that went in this moment.
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    return [];
  }
}

/** The bridge carries the state folder of its cluster as its alias. A bridge without one is from before, or half made: everybody's. */
export interface BridgeLink {
  readonly ifname: string;
  readonly ifalias?: string;
}

export function ownerOfBridge(links: readonly BridgeLink[], { bridge }: Pick<ClusterConfig, 'bridge'>): string | undefined {
  return links.find(({ ifname }) => ifname === bridge)?.ifalias;
}

/** Why this cluster may not use the machine's network. */
export function assertBridgeIsOurs(owner: string | undefined, { stateDir, bridge }: Pick<ClusterConfig, 'stateDir' | 'bridge'>): void {
  if (owner === undefined || owner === stateDir) return;
  throw new KvError(
    'Terminal',
    `another local cluster has this machine's network (bridge ${bridge}): the one in ${owner}. Both have the same addresses. Take it down ` +
      `first (KUBEVIRT_TS_CLUSTER_DIR=${owner} npm run cluster -- down), or start this one in a network namespace of its own (unshare --net)`,
  );
}
