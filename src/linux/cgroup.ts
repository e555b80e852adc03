// Which control groups a process is in, for both versions of the interface, and which processes belong to a pod.
// Reads only; the kubelet and the container runtime own the tree.
import { join } from 'node:path';
import { listPids, PROC, readOptional } from './proc.js';

export interface CgroupEntry {
  /** 0 for the unified hierarchy. */
  readonly hierarchy: number;
  /** Empty for the unified hierarchy. */
  readonly controllers: readonly string[];
  readonly path: string;
}

/** Parses /proc/<pid>/cgroup. */
export function parseCgroups(text: string): CgroupEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [hierarchy, controllers, ...path] = line.split(':');
      if (hierarchy === undefined || controllers === undefined) return [];
      return [{ hierarchy: Number(hierarchy), controllers: controllers === '' ? [] : controllers.split(','), path: path.join(':') }];
    });
}

/** True when one of the paths lies in the pod's group; the systemd driver writes the UID with underscores. */
export function isInPod(entries: readonly CgroupEntry[], podUid: string): boolean {
  const spellings = [podUid, podUid.replaceAll('-', '_')];
  return entries.some((entry) => spellings.some((uid) => entry.path.includes(uid)));
}

export async function readCgroups(pid: number, proc = PROC): Promise<CgroupEntry[]> {
  return parseCgroups((await readOptional(join(proc, String(pid), 'cgroup'))) ?? '');
}

/** All processes of a pod, in no order. */
export async function pidsOfPod(podUid: string, proc = PROC): Promise<number[]> {
  const pids = await listPids(proc);
  const members = await Promise.all(pids.map(async (pid) => isInPod(await readCgroups(pid, proc), podUid)));
  return pids.filter((_, at) => members[at] === true);
}
