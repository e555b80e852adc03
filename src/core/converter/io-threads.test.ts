import { describe, expect, it } from 'vitest';
import type { Disk, DomainSpec } from '../../api/index.js';
import { assignThreads, planIoThreads, scsiThread } from './io-threads.js';

const disk = (name: string, bus = 'virtio', dedicated = false): Disk => ({
  name,
  disk: { bus },
  ...(dedicated ? { dedicatedIOThread: true } : {}),
});
const domain = (disks: Disk[], more: Partial<DomainSpec> = {}): DomainSpec => ({ devices: { disks }, ...more });
const FIVE = ['a', 'b', 'c', 'd', 'e'].map((name) => disk(name));

describe('planIoThreads', () => {
  it.each([
    ['no policy, no dedicated disk', domain([disk('a')]), undefined],
    ['no policy, a dedicated disk', domain([disk('a'), disk('b', 'virtio', true)]), { total: 2, pooled: 1, supplemental: 0 }],
    ['shared', domain(FIVE, { ioThreadsPolicy: 'shared' }), { total: 1, pooled: 1, supplemental: 0 }],
    ['auto, one CPU: two threads', domain(FIVE, { ioThreadsPolicy: 'auto' }), { total: 2, pooled: 2, supplemental: 0 }],
    [
      'auto, by the CPU request',
      domain(FIVE, { ioThreadsPolicy: 'auto', resources: { requests: { cpu: '1500m' }, limits: { cpu: '8' } } }),
      { total: 4, pooled: 4, supplemental: 0 },
    ],
    [
      'auto, no more than disks',
      domain(FIVE, { ioThreadsPolicy: 'auto', resources: { limits: { cpu: '4' } } }),
      { total: 5, pooled: 5, supplemental: 0 },
    ],
    [
      'auto, isolated emulator',
      domain(FIVE, { ioThreadsPolicy: 'auto', cpu: { dedicatedCpuPlacement: true, isolateEmulatorThread: true } }),
      { total: 1, pooled: 1, supplemental: 0 },
    ],
    [
      'dedicated ones beyond the limit leave one pooled',
      domain([...['x', 'y', 'z'].map((n) => disk(n, 'virtio', true)), disk('a')], { ioThreadsPolicy: 'auto' }),
      { total: 4, pooled: 1, supplemental: 0 },
    ],
    [
      'supplemental pool',
      domain(FIVE, { ioThreadsPolicy: 'supplementalPool', ioThreads: { supplementalPoolThreadCount: 3 } }),
      { total: 3, pooled: 0, supplemental: 3 },
    ],
  ])('%s', (_title, spec, want) => {
    expect(planIoThreads(spec)).toEqual(want);
  });
});

describe('assignThreads', () => {
  it('goes round the pool; dedicated threads follow it', () => {
    const disks = [disk('a'), disk('b', 'virtio', true), disk('c'), disk('d'), disk('s', 'sata'), disk('e', 'virtio', true)];
    expect(assignThreads(disks, { total: 4, pooled: 2, supplemental: 0 })).toEqual([
      { id: 1 },
      { id: 3 },
      { id: 2 },
      { id: 1 },
      undefined,
      { id: 4 },
    ]);
  });

  it('lists the whole supplemental pool', () => {
    expect(assignThreads([disk('a'), disk('s', 'scsi')], { total: 2, pooled: 0, supplemental: 2 })).toEqual([{ pool: [1, 2] }, undefined]);
  });

  it('gives none without a plan', () => {
    expect(assignThreads([disk('a')], undefined)).toEqual([undefined]);
  });
});

describe('scsiThread', () => {
  const plan = { total: 3, pooled: 2, supplemental: 0 };
  it.each([
    ['no dedicated SCSI disk', [disk('a', 'scsi')], undefined],
    ['the first pooled thread', [disk('a', 'scsi', true)], 1],
    ['the one after the virtio disks', [disk('v'), disk('a', 'scsi', true)], 2],
    ['round the pool', [disk('v'), disk('w'), disk('a', 'scsi', true)], 1],
  ])('%s', (_title, disks, want) => {
    expect(scsiThread(disks, plan)).toBe(want);
  });
});
