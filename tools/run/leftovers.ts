// What a test run leaves on the machine outside its temporary folder: mounts, network namespaces, loop devices, links, control groups,
// processes. Each is told by what the run itself chose (its folders, its process ids, the cluster's names), so that what others do on
// the machine meanwhile does not count. The decisions are pure; readMachine() reads.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCgroupLayout } from '../../test/cluster/cgroups.js';
import type { ClusterConfig } from '../../test/cluster/config.js';
import { ownPaths } from '../../test/cluster/down.js';
import { mountsBelow } from '../../test/cluster/mounts.js';

export interface MachineProcess {
  readonly pid: number;
  readonly args: readonly string[];
  /** `NAME=value` each, as it was started with. */
  readonly env: readonly string[];
}

export interface Machine {
  /** As /proc/self/mounts has them. */
  readonly mounts: string;
  readonly namespaces: readonly string[];
  readonly loops: readonly { readonly name: string; readonly file: string }[];
  readonly links: readonly string[];
  /** Control groups of the cluster's name. */
  readonly groups: readonly string[];
  readonly processes: readonly MachineProcess[];
}

export interface Ours {
  /** The run's temporary folder. */
  readonly temporary: string;
  /** The cluster's folder: it is down by then, whoever had brought it up. */
  readonly cluster: string;
  /** What only the cluster's processes have on their command lines. */
  readonly programs: readonly string[];
  /** The folder of images and programs, where another run may be at work: only mounts and loop devices count. */
  readonly cache: string;
  readonly links: readonly string[];
}

/** One phrase each. `before` is the machine as the run found it. */
export function leftOn(before: Machine, after: Machine, ours: Ours): string[] {
  const folders = [ours.temporary, ours.cluster, ours.cache];
  const alive = new Set(after.processes.map(({ pid }) => pid));
  return [
    ...added(points(before, folders), points(after, folders)).map((point) => `mount ${point}`),
    ...added(before.namespaces, after.namespaces)
      .filter((name) => isOurNamespace(name, alive))
      .map((name) => `network namespace ${name}`),
    ...newLoops(before, after, folders),
    ...after.links.filter((link) => ours.links.includes(link)).map((link) => `network link ${link}`),
    ...after.groups.map((group) => `control group ${group}`),
    ...after.processes.filter((each) => isOurProcess(each, ours)).map(({ pid, args }) => `process ${pid} (${args.join(' ').slice(0, 80)})`),
  ];
}

const added = (before: readonly string[], after: readonly string[]): string[] => after.filter((each) => !before.includes(each));

const points = ({ mounts }: Machine, folders: readonly string[]): string[] => folders.flatMap((folder) => mountsBelow(folder, mounts));

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Tests put their process's id into the name: while that lives, a run of somebody else is at work. */
function isOurNamespace(name: string, alive: ReadonlySet<number>): boolean {
  const pid = /^kvt-(\d+)-/.exec(name)?.[1];
  return pid !== undefined && !alive.has(Number(pid));
}

function newLoops(before: Machine, after: Machine, folders: readonly string[]): string[] {
  const known = new Set(before.loops.map(({ name, file }) => `${name} ${file}`));
  return after.loops
    .filter(({ name, file }) => !known.has(`${name} ${file}`) && folders.some((folder) => isBelow(file, folder)))
    .map(({ name, file }) => `loop device ${name} (${file})`);
}

/** Children have the run's temporary folder in their environment; the cluster's have its folder on their command lines. */
function isOurProcess({ args, env }: MachineProcess, { temporary, programs }: Ours): boolean {
  return env.includes(`TMPDIR=${temporary}`) || args.some((arg) => [temporary, ...programs].some((path) => isBelow(arg, path)));
}

export function ourThings(config: ClusterConfig, temporary: string): Ours {
  const links = [config.bridge, ...config.nodes.map(({ hostLink }) => hostLink)];
  return { temporary, cluster: config.stateDir, programs: ownPaths(config), cache: config.cacheDir, links };
}

export function readMachine(config: ClusterConfig): Machine {
  return {
    mounts: readFileSync('/proc/self/mounts', 'utf8'),
    namespaces: existsSync('/run/netns') ? readdirSync('/run/netns') : [],
    loops: readLoops(),
    links: readdirSync('/sys/class/net'),
    groups: readGroups(config.cgroup),
    processes: readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
      .map((pid) => ({ pid: Number(pid), args: readFields(pid, 'cmdline'), env: readFields(pid, 'environ') })),
  };
}

function readFields(pid: string, file: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').filter(Boolean);
  } catch {
    // It ended meanwhile, or is somebody else's.
    return [];
  }
}

function readGroups(name: string): string[] {
  const layout = readCgroupLayout();
  return (layout.version === 1 ? layout.mounts : [layout.mount]).map((mount) => join(mount, name)).filter((group) => existsSync(group));
}

function readLoops(): { name: string; file: string }[] {
  return readdirSync('/sys/block').flatMap((name) => {
    const file = join('/sys/block', name, 'loop/backing_file');
    return existsSync(file) ? [{ name, file: readFileSync(file, 'utf8').trim() }] : [];
  });
}
