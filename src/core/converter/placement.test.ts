import { describe, expect, it } from 'vitest';
import { type GuestParts, guest } from '../../../test/builders/domain.js';
import { planCpus } from './cpu-topology.js';
import type { HostTopology } from './host-topology.js';
import { planIoThreads } from './io-threads.js';
import { type Placement, planPlacement } from './placement.js';

const TOPOLOGY: HostTopology = {
  cells: [0, 1].map((id) => ({
    id,
    cpus: [0, 1, 2, 3].map((n) => ({ id: 4 * id + n, siblings: [] })),
    distances: [
      { id, value: 10 },
      { id: 1 - id, value: 20 },
    ],
  })),
};

function place(parts: GuestParts, cpuSet: number[], topology: HostTopology | undefined = TOPOLOGY): Placement {
  const vmi = guest(parts);
  const { domain } = vmi.spec;
  return planPlacement({
    vmi,
    cpus: planCpus(domain, true),
    ioThreads: planIoThreads(domain),
    facts: { cpuSet, ...(topology ? { topology } : {}) },
  });
}

const cpu = (more: object): GuestParts => ({ domain: { cpu: { dedicatedCpuPlacement: true, ...more } } });

describe('pins', () => {
  it('only running vCPUs, with hotplug', () => {
    expect(place(cpu({ cores: 2, maxSockets: 4 }), [1, 2])).toEqual({ vcpuPins: [1, 2], ioThreadPins: [] });
  });

  it('a CPU of its own for the emulator', () => {
    expect(place(cpu({ cores: 2, isolateEmulatorThread: true }), [0, 1, 2])).toEqual({
      vcpuPins: [0, 1],
      emulatorPin: '2',
      ioThreadPins: [],
    });
  });

  it('two for the emulator where the number of pinned CPUs must be even', () => {
    const annotations = { 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity': '' };
    const even = { ...cpu({ cores: 2, isolateEmulatorThread: true }), annotations };
    expect(place(even, [0, 1, 2, 3]).emulatorPin).toBe('2,3');
    expect(place({ ...even, ...cpu({ cores: 3, isolateEmulatorThread: true }) }, [0, 1, 2, 3]).emulatorPin).toBe('3');
  });

  it.each([
    ['a single shared thread gets all CPUs', 'shared', 1, ['0,1,2,3']],
    ['threads share the CPUs in slices', 'auto', 3, ['0,1', '2', '3']],
    ['more threads than CPUs get one each', 'auto', 5, ['1', '2', '3', '0', '1']],
  ])('%s', (_title, ioThreadsPolicy, disks, want) => {
    const parts = {
      domain: { cpu: { cores: 4, dedicatedCpuPlacement: true }, ioThreadsPolicy, resources: { requests: { cpu: '4' } } },
      devices: { disks: Array.from({ length: disks }, (_, i) => ({ name: `d${i}`, disk: { bus: 'virtio' } })) },
    };
    expect(place(parts, [0, 1, 2, 3]).ioThreadPins).toEqual(want);
  });

  it('a supplemental pool has CPUs beside those of the vCPUs, before the emulator', () => {
    const domain = {
      cpu: { cores: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true },
      ioThreadsPolicy: 'supplementalPool',
      ioThreads: { supplementalPoolThreadCount: 2 },
    };
    expect(place({ domain }, [0, 1, 2, 3, 4, 5])).toEqual({ vcpuPins: [0, 1], ioThreadPins: ['2', '3'], emulatorPin: '4' });
  });

  it('pooled threads run with an isolated emulator', () => {
    const parts = { domain: { cpu: { cores: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true }, ioThreadsPolicy: 'auto' } };
    expect(place(parts, [0, 1, 2]).ioThreadPins).toEqual(['2']);
  });
});

describe('NUMA passthrough', () => {
  const passthrough = (memory: object): GuestParts => ({
    domain: { cpu: { cores: 4, dedicatedCpuPlacement: true, numa: { guestMappingPassthrough: {} } }, memory },
  });
  const MIB = 1024n * 1024n;

  it('mirrors the cells in use and splits memory in whole pages', () => {
    const { numa } = place(passthrough({ guest: '10Mi', hugepages: { pageSize: '2Mi' } }), [2, 3, 4, 5]);
    const distances = [
      [
        { id: 0, value: 10 },
        { id: 1, value: 20 },
      ],
      [
        { id: 1, value: 10 },
        { id: 0, value: 20 },
      ],
    ];
    expect(numa).toEqual({
      pageBytes: 2n * MIB,
      cells: [
        { id: 0, hostCell: 0, vcpus: [0, 1], memoryBytes: 6n * MIB, distances: distances[0] },
        { id: 1, hostCell: 1, vcpus: [2, 3], memoryBytes: 4n * MIB, distances: distances[1] },
      ],
    });
  });

  it('numbers guest cells from 0 and drops distances to unused ones', () => {
    const { numa } = place(passthrough({ guest: '8Mi', hugepages: { pageSize: '2Mi' } }), [4, 5, 6, 7]);
    expect(numa?.cells).toEqual([{ id: 0, hostCell: 1, vcpus: [0, 1, 2, 3], memoryBytes: 8n * MIB, distances: [{ id: 0, value: 10 }] }]);
  });

  it.each([
    ['no huge pages', { guest: '8Mi' }, 'restricted to VMIs with hugepages enabled'],
    ['less than a page a cell', { guest: '2Mi', hugepages: { pageSize: '2Mi' } }, 'not enough memory requested'],
    ['no whole pages', { guest: '9Mi', hugepages: { pageSize: '2Mi' } }, "requested memory can't be divided"],
  ])('refuses %s', (_title, memory, message) => {
    expect(() => place(passthrough(memory), [2, 3, 4, 5])).toThrow(message);
  });
});
