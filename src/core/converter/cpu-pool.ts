// Hands out the pod's exclusive CPUs: whole cores first, so that sibling threads of the guest are siblings on the host, then left-over threads
// of one NUMA cell, then, where crossing cells is allowed, whatever remains. Used by placement.ts for one domain.
import { KvError } from '../../base/errors.js';
import type { HostCell, HostTopology } from './host-topology.js';

interface Cell {
  /** Cores with at least as many free threads as a guest core has. */
  readonly whole: number[][];
  /** Threads of cores that are too small or partly used. */
  readonly loose: number[];
}

export interface CpuPoolOptions {
  readonly threadsPerCore: number;
  /** A guest core may have threads on different NUMA cells. */
  readonly crossing: boolean;
}

export class CpuPool {
  readonly #cells: readonly Cell[];
  readonly #options: CpuPoolOptions;
  readonly #available: number;

  constructor(cpuSet: readonly number[], topology: HostTopology | undefined, options: CpuPoolOptions) {
    this.#options = options;
    this.#available = cpuSet.length;
    const free = new Set(cpuSet);
    const seen = new Set<number>();
    this.#cells = (topology?.cells ?? []).map((cell) => sortCores(freeCores(cell, free, seen), options.threadsPerCore));
  }

  /** CPUs for `count` guest cores, in vCPU order. */
  takeCores(count: number): number[] {
    const threads: number[] = [];
    let left = count;
    for (const take of [(cell: Cell) => this.#takeWhole(cell), (cell: Cell) => this.#takeLoose(cell)]) {
      for (const cell of this.#cells) {
        while (left > 0) {
          const chunk = take(cell);
          if (chunk.length === 0) break;
          threads.push(...chunk);
          left--;
        }
      }
    }
    const missing = left * this.#options.threadsPerCore;
    const rest = this.#options.crossing ? this.#takeAnywhere(missing) : [];
    // A last core that is short of a thread is taken as it is.
    const lacking = Math.floor((missing - rest.length) / this.#options.threadsPerCore);
    if (lacking > 0) throw this.#tooFew(lacking, count);
    return [...threads, ...rest];
  }

  /** One CPU for a helper thread. */
  takeThread(purpose: string): number {
    const cell = this.#cells.find(({ whole, loose }) => whole.length + loose.length > 0);
    const thread = cell?.loose.shift() ?? (cell && this.#takeFromCore(cell, 1)[0]);
    if (thread === undefined) {
      throw new KvError('Invalid', `no CPU allocated for ${purpose}: the pod needs one exclusive CPU more than it has`);
    }
    return thread;
  }

  #tooFew(lacking: number, count: number): KvError {
    const enough = this.#available >= count * this.#options.threadsPerCore;
    const why =
      enough && !this.#options.crossing
        ? `could not fit ${lacking} core(s) without crossing numa cell boundaries for individual cores`
        : `not enough exclusive threads provided, could not fit ${lacking} core(s)`;
    return new KvError('Invalid', `${why}: the pod has ${this.#available} exclusive CPUs for ${count} guest cores`);
  }

  #takeWhole(cell: Cell): number[] {
    return cell.whole.length > 0 ? this.#takeFromCore(cell, this.#options.threadsPerCore) : [];
  }

  #takeLoose(cell: Cell): number[] {
    const { threadsPerCore } = this.#options;
    return cell.loose.length >= threadsPerCore ? cell.loose.splice(0, threadsPerCore) : [];
  }

  #takeAnywhere(count: number): number[] {
    const threads: number[] = [];
    for (const cell of this.#cells) threads.push(...cell.loose.splice(0, count - threads.length));
    return threads;
  }

  /** Threads of the first whole core; what is left of it stays whole if it still holds a guest core. */
  #takeFromCore(cell: Cell, count: number): number[] {
    const core = cell.whole.shift() ?? [];
    const taken = core.splice(0, count);
    if (core.length >= this.#options.threadsPerCore) cell.whole.unshift(core);
    else cell.loose.push(...core);
    return taken;
  }
}

/** The free threads of each core of a cell; a core listed by several of its threads counts once. */
function freeCores(cell: HostCell, free: ReadonlySet<number>, seen: Set<number>): number[][] {
  const cores: number[][] = [];
  for (const cpu of cell.cpus) {
    if (seen.has(cpu.id)) continue;
    const threads = cpu.siblings.length > 0 ? cpu.siblings : [cpu.id];
    for (const thread of threads) seen.add(thread);
    cores.push(threads.filter((thread) => free.has(thread)));
  }
  return cores;
}

function sortCores(cores: readonly number[][], threadsPerCore: number): Cell {
  const isWhole = (core: readonly number[]): boolean => core.length >= threadsPerCore;
  return { whole: cores.filter(isWhole), loose: cores.filter((core) => !isWhole(core)).flat() };
}
