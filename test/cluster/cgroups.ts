// Control groups of the cluster, for both versions of the interface: one sub-tree a node (its kubelet's root), and with
// version 2 one more group for the cluster's own processes, since inner groups there may hold none.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KvError } from '../../src/base/errors.js';

/** Where the kernel's groups are mounted. */
export type CgroupLayout = { readonly version: 1; readonly mounts: readonly string[] } | { readonly version: 2; readonly mount: string };

const NEEDED = ['cpu', 'cpuset', 'memory', 'pids', 'io', 'hugetlb'];
const DELEGATE_ATTEMPTS = 5;
const REQUIRED = ['cpu', 'memory', 'pids'];

/** Reads the layout out of /proc/mounts: version 1 as soon as any controller is mounted the old way. */
export function detectCgroups(mounts: string): CgroupLayout {
  const entries = mounts.split('\n').flatMap((line) => {
    const [, path, type, options = ''] = line.split(' ');
    return path !== undefined && type?.startsWith('cgroup') ? [{ path, type, options: options.split(',') }] : [];
  });
  const old = entries.filter((entry) => entry.type === 'cgroup');
  // A lone name=systemd hierarchy beside version 2 limits nothing: such a machine is a version 2 machine.
  // Beside version 1 a version 2 mount may exist, without controllers; the runtimes make groups in it all the same.
  if (old.some((entry) => entry.options.includes('memory')))
    return { version: 1, mounts: [...new Set(entries.map((entry) => entry.path))] };
  const unified = entries.find((entry) => entry.type === 'cgroup2');
  if (unified) return { version: 2, mount: unified.path };
  throw new KvError('Terminal', 'no control groups are mounted (/proc/mounts shows none); mount cgroup2 on /sys/fs/cgroup, then try again');
}

export function readCgroupLayout(): CgroupLayout {
  return detectCgroups(readFileSync('/proc/mounts', 'utf8'));
}

/** The kubelet's cgroupRoot. */
export function nodeCgroup(root: string, node: string): string {
  return `/${root}/${node}`;
}

/** Makes the nodes' groups with every controller usable in them. */
export function createCgroups(layout: CgroupLayout, root: string, nodes: readonly string[]): void {
  if (layout.version === 1) {
    for (const mount of layout.mounts) {
      for (const path of [root, ...nodes.map((node) => join(root, node))]) makeV1Group(join(mount, path));
    }
    return;
  }
  const controllers = usableControllers(readFileSync(join(layout.mount, 'cgroup.controllers'), 'utf8'));
  delegate(layout.mount, controllers);
  mkdirSync(join(layout.mount, root), { recursive: true });
  delegate(join(layout.mount, root), controllers);
  for (const group of [...nodes, 'system']) mkdirSync(join(layout.mount, root, group), { recursive: true });
}

export function usableControllers(available: string): string[] {
  const present = available.trim().split(/\s+/);
  const missing = REQUIRED.filter((name) => !present.includes(name));
  if (missing.length > 0) {
    throw new KvError(
      'Terminal',
      `the control group controllers ${missing.join(', ')} are not available here; run on the host or delegate them`,
    );
  }
  return NEEDED.filter((name) => present.includes(name));
}

/** Version 2 only: the cluster's own processes leave the caller's group, so that the end of its session does not end them. */
export function adoptInto(layout: CgroupLayout, root: string): (pid: number) => void {
  return (pid) => {
    if (layout.version === 2) moveProcess(pid, join(layout.mount, root, 'system'));
  };
}

function makeV1Group(dir: string): void {
  if (existsSync(dir)) return;
  mkdirSync(dir);
  // A new cpuset is empty, and nothing can run in it before it has processors and memory.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (existsSync(join(dir, file))) writeFileSync(join(dir, file), readFileSync(join(dir, '..', file)));
  }
}

/** Version 2: lets the groups below `dir` use the controllers. */
export function delegate(dir: string, controllers: readonly string[]): void {
  const file = join(dir, 'cgroup.subtree_control');
  const text = controllers.map((name) => `+${name}`).join(' ');
  for (let attempt = 1; ; attempt++) {
    try {
      writeFileSync(file, text);
      return;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EBUSY' || attempt === DELEGATE_ATTEMPTS) throw err;
      // In a container the top group holds processes, and a group with processes cannot delegate: move them into a leaf. Again for
      // those that came meanwhile.
      moveProcesses(dir, join(dir, 'init'));
    }
  }
}

function moveProcesses(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const pid of members(from)) moveProcess(pid, to);
}

function moveProcess(pid: number, group: string): void {
  try {
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
  } catch (err) {
    // The process ended meanwhile.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

function members(dir: string): number[] {
  try {
    return readFileSync(join(dir, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // The group is gone.
    return [];
  }
}

/** Ends whatever still runs in the cluster's groups (or only in one node's) and removes them. */
export async function removeCgroups(layout: CgroupLayout, path: string): Promise<void> {
  const tops = layout.version === 1 ? layout.mounts.map((mount) => join(mount, path)) : [join(layout.mount, path)];
  for (const top of tops) await removeTree(top);
}

async function removeTree(top: string): Promise<void> {
  for (let attempt = 0; existsSync(top); attempt++) {
    const dirs = tree(top);
    for (const pid of dirs.flatMap(members)) killMember(pid);
    if (dirs.every(removeGroup)) return;
    if (attempt === 100) {
      throw new KvError(
        'Internal',
        `control group ${top} cannot be removed; processes in it: ${dirs.flatMap(members).join(' ') || 'none'}`,
      );
    }
    await sleep(50);
  }
}

/** Deepest first. */
function tree(dir: string): string[] {
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...below.flatMap((entry) => tree(join(dir, entry.name))), dir];
}

function killMember(pid: number): void {
  // 0 stands for a process of a namespace that this one cannot see; pid 1 and we ourselves never belong here.
  if (pid <= 1 || pid === process.pid) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

function removeGroup(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (err) {
    // The kernel frees a group a moment after its last process ended; the caller tries again.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return true;
    if ((err as NodeJS.ErrnoException).code === 'EBUSY') return false;
    throw err;
  }
}
