// Reads what the node tells every container about itself: processor time, memory, swap, sockets. Roots are parameters for tests. Reads only.
import { readdir, readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { join } from 'node:path';
import type { HostFacts } from './document.js';

export interface Roots {
  readonly proc: string;
  readonly sys: string;
}

const HERE: Roots = { proc: '/proc', sys: '/sys' };
/** USER_HZ, the same on all architectures that KubeVirt knows. */
const TICKS_PER_SECOND = 100;
const MEMORY_KEYS = ['MemTotal', 'MemFree', 'SwapTotal', 'SwapFree', 'Buffers', 'Cached', 'SwapCached'] as const;

/** Lines "name value" or "name: value kB". */
function table(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').map((line) => line.split(/[:\s]+/));
  return new Map(lines.flatMap(([name = '', value]) => (value === undefined || value === '' ? [] : [[name, Number(value)] as const])));
}

/** user + nice + system of all processors. */
export function cpuSeconds(stat: string): number {
  const [, user = 0, nice = 0, system = 0] = (/^cpu .*$/m.exec(stat)?.[0] ?? '').split(/\s+/).map(Number);
  return (user + nice + system) / TICKS_PER_SECOND;
}

async function physicalCpus(sys: string): Promise<number> {
  const dir = join(sys, 'devices/system/cpu');
  const cpus = (await readdir(dir)).filter((name) => /^cpu\d+$/.test(name));
  const packages = await Promise.all(
    cpus.map((cpu) =>
      readFile(join(dir, cpu, 'topology/physical_package_id'), 'utf8').then(
        (id) => [id.trim()],
        // A processor that is switched off has no topology.
        () => [],
      ),
    ),
  );
  return new Set(packages.flat()).size;
}

export type NodeFacts = Omit<HostFacts, 'node' | 'product' | 'now'>;

export async function readNodeFacts({ proc, sys }: Roots = HERE): Promise<NodeFacts> {
  const read = (name: string): Promise<string> => readFile(join(proc, name), 'utf8');
  const texts = Promise.all([read('stat'), read('meminfo'), read('vmstat')]);
  // Swapping is counted in pages.
  const [[stat, meminfo, vmstat], sockets, pageBytes] = await Promise.all([texts, physicalCpus(sys), readPageBytes()]);
  const [memory, paging] = [table(meminfo), table(vmstat)];
  const swapped = (name: string): number => Math.floor(((paging.get(name) ?? 0) * pageBytes) / 1024);
  return {
    physicalCpus: sockets,
    cpuSeconds: cpuSeconds(stat),
    memory: Object.fromEntries(MEMORY_KEYS.map((key) => [key, memory.get(key) ?? 0])) as NodeFacts['memory'],
    swappedInKiB: swapped('pswpin'),
    swappedOutKiB: swapped('pswpout'),
  };
}

/** Type of the entry of the auxiliary vector that holds the size of a page. */
const AT_PAGESZ = 6n;
const ENTRY_BYTES = 16;

/** From /proc/self/auxv: pairs of 64-bit words in the machine's order. */
export function pageBytesOf(auxv: Buffer, endianness: 'BE' | 'LE'): number {
  const word = (at: number): bigint => (endianness === 'LE' ? auxv.readBigUInt64LE(at) : auxv.readBigUInt64BE(at));
  for (let at = 0; at + ENTRY_BYTES <= auxv.length; at += ENTRY_BYTES) {
    if (word(at) === AT_PAGESZ) return Number(word(at + ENTRY_BYTES / 2));
  }
  return DEFAULT_PAGE_BYTES;
}

const DEFAULT_PAGE_BYTES = 4096;

const readPageBytes = async (): Promise<number> => pageBytesOf(await readFile('/proc/self/auxv'), endianness());
