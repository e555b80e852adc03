import { describe, expect, it } from 'vitest';
import { CpuPool } from './cpu-pool.js';
import type { HostTopology } from './host-topology.js';

/** Cells of CPU ids; `pairs` makes neighbours siblings. */
const host = (cells: number[][], pairs = false): HostTopology => ({
  cells: cells.map((cpus, id) => ({
    id,
    cpus: cpus.map((cpu, i) => ({ id: cpu, siblings: pairs ? cpus.slice(i - (i % 2), i - (i % 2) + 2) : [] })),
    distances: [],
  })),
});

const ONE = host([[0, 1, 2, 3, 4, 5, 6, 7]], true);
const TWO = host(
  [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ],
  true,
);

describe('takeCores', () => {
  it.each([
    ['whole cores in order', ONE, [0, 1, 2, 3], { cores: 2, threadsPerCore: 2, crossing: true }, [0, 1, 2, 3]],
    ['whole cores before halves', ONE, [1, 2, 3, 4], { cores: 1, threadsPerCore: 2, crossing: true }, [2, 3]],
    ['halves of one cell together', ONE, [1, 2, 5, 6], { cores: 2, threadsPerCore: 2, crossing: false }, [1, 2, 5, 6]],
    ['halves across cells where allowed', TWO, [0, 4], { cores: 1, threadsPerCore: 2, crossing: true }, [0, 4]],
    ['single threads off a core, core by core', ONE, [0, 1, 2, 3], { cores: 3, threadsPerCore: 1, crossing: true }, [0, 1, 2]],
    ['the next cell when the first is full', TWO, [0, 1, 4, 5], { cores: 2, threadsPerCore: 2, crossing: false }, [0, 1, 4, 5]],
    ['a last core that is short of a thread', ONE, [0, 1, 2], { cores: 2, threadsPerCore: 2, crossing: true }, [0, 1, 2]],
  ] as const)('%s', (_title, topology, cpuSet, { cores, ...options }, want) => {
    expect(new CpuPool(cpuSet, topology, options).takeCores(cores)).toEqual(want);
  });

  it.each([
    ['too few CPUs', [0, 1], { threadsPerCore: 1, crossing: true }, 'not enough exclusive threads provided, could not fit 1 core(s)'],
    [
      'cores that would span cells',
      [0, 4, 2, 6],
      { threadsPerCore: 2, crossing: false },
      'could not fit 1 core(s) without crossing numa cell',
    ],
  ] as const)('%s', (_title, cpuSet, options, message) => {
    const count = options.threadsPerCore === 1 ? 3 : 2;
    const topology =
      options.threadsPerCore === 1
        ? ONE
        : host(
            [
              [0, 1, 2, 3],
              [4, 5],
              [6, 7],
            ],
            true,
          );
    expect(() => new CpuPool(cpuSet, topology, options).takeCores(count)).toThrow(message);
  });

  it('has nothing without a topology', () => {
    expect(() => new CpuPool([0, 1], undefined, { threadsPerCore: 1, crossing: true }).takeCores(1)).toThrow('could not fit 1 core(s)');
  });
});

describe('takeThread', () => {
  it('uses up broken cores before it breaks another', () => {
    const pool = new CpuPool([0, 1, 2, 3, 4, 5], ONE, { threadsPerCore: 2, crossing: true });
    expect(pool.takeCores(1)).toEqual([0, 1]);
    expect([pool.takeThread('a'), pool.takeThread('b'), pool.takeThread('c')]).toEqual([2, 3, 4]);
    expect(pool.takeThread('d')).toBe(5);
    expect(() => pool.takeThread('the iothread')).toThrow('no CPU allocated for the iothread');
  });
});
