// Memory of processes as the kernel counts it: RSS is what is mapped in, PSS divides what is shared among its users. Parsing is pure.
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

export interface Memory {
  readonly rss: number;
  readonly pss: number;
}

export interface ProcessMemory extends Memory {
  readonly pid: number;
  /** The program, e.g. `libvirtd`; for Node the script it runs. */
  readonly program: string;
}

const KIB = 1024;

/** Text of /proc/<pid>/smaps_rollup; bytes. */
export function parseSmapsRollup(text: string): Memory {
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * KIB;
  return { rss: bytes('Rss'), pss: bytes('Pss') };
}

/** NUL-separated command line → short name. */
export function programName(cmdline: string): string {
  const args = cmdline.split('\0').filter((arg) => arg !== '');
  const first = basename(args[0] ?? '');
  if (first !== 'node') return first;
  const script = args.slice(1).find((arg) => !arg.startsWith('-'));
  return script ? basename(script).replace(/\.js$/, '') : first;
}

/** Control group paths name a pod by its uid, with the systemd driver in another spelling. */
export function isInPod(cgroup: string, podUid: string): boolean {
  return cgroup.includes(`pod${podUid}`) || cgroup.includes(`pod${podUid.replaceAll('-', '_')}`);
}

function readProc(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // The process ended between the listing and the read.
    return '';
  }
}

/** What the mappings of exactly this size hold: the guest's memory in QEMU. Text of /proc/<pid>/smaps. */
export function mappingsOfSize(smaps: string, size: number): Memory {
  const mappings = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return totalOf(mappings.filter((text) => sizeIn(text) === size).map(parseSmapsRollup));
}

const sizeIn = (mapping: string): number => Number(/^Size:\s+(\d+) kB/m.exec(mapping)?.[1] ?? 0) * KIB;

/** A process without the mappings of this size. */
export function memoryWithout(pid: number, size: number): Memory {
  const [all, part] = [parseSmapsRollup(readProc(pid, 'smaps_rollup')), mappingsOfSize(readProc(pid, 'smaps'), size)];
  return { rss: all.rss - part.rss, pss: all.pss - part.pss };
}

export const processMemory = (pid: number | string): ProcessMemory => ({
  pid: Number(pid),
  program: programName(readProc(pid, 'cmdline')),
  ...parseSmapsRollup(readProc(pid, 'smaps_rollup')),
});

/** All processes of a pod except the pause process that holds its namespaces. */
export function processesOfPod(podUid: string): ProcessMemory[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && isInPod(readProc(entry, 'cgroup'), podUid))
    .map(processMemory)
    .filter(({ program, rss }) => program !== '' && program !== 'pause' && rss > 0);
}

const TICKS_PER_SECOND = 100;

/** When a process was started, by this machine's clock and to a hundredth of a second. Text of /proc/<pid>/stat and /proc/uptime. */
export function startOf(stat: string, uptime: string, now: number): number {
  // The name in parentheses may hold anything; the start is the 22nd field, the 20th after it.
  const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  return now - Number(uptime.split(' ')[0]) * 1000 + (ticks * 1000) / TICKS_PER_SECOND;
}

export const startedAt = (pid: number): number => startOf(readProc(pid, 'stat'), readFileSync('/proc/uptime', 'utf8'), Date.now());

/** A process and all below it. */
export function familyOf(pid: number): number[] {
  const children = readProc(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(familyOf)];
}

export const isQemu = ({ program }: Pick<ProcessMemory, 'program'>): boolean => program.startsWith('qemu-system');

export function totalOf(processes: readonly Memory[]): Memory {
  return processes.reduce((sum, { rss, pss }) => ({ rss: sum.rss + rss, pss: sum.pss + pss }), { rss: 0, pss: 0 });
}
