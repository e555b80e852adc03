// I/O threads, and for dedicated CPUs the pins of vCPUs, emulator, I/O threads and memory.
import type { CpuTune, NumaTune } from '../domain.js';
import type { ItemOf } from '../domain-fields.js';
import type { NumaPlacement } from '../numa.js';
import type { Placement } from '../placement.js';
import type { Fragment, Step } from '../step.js';

export const tuning: Step<'ioThreads' | 'placement'> = {
  name: 'tuning',
  render: ({ ioThreads, placement }): Fragment => ({
    iothreads: ioThreads && ioThreads.total > 0 ? ioThreads.total : undefined,
    cputune: placement && cpuTune(placement),
    numatune: placement?.numa && numaTune(placement.numa),
  }),
};

const cpuTune = ({ vcpuPins, emulatorPin, ioThreadPins }: Placement): CpuTune => ({
  vcpupin: vcpuPins.map((cpu, vcpu): ItemOf<CpuTune['vcpupin']> => ({ vcpu, cpuset: String(cpu) })),
  emulatorpin: emulatorPin === undefined ? undefined : { cpuset: emulatorPin },
  iothreadpin: ioThreadPins.map((cpuset, i): ItemOf<CpuTune['iothreadpin']> => ({ iothread: i + 1, cpuset })),
});

const numaTune = ({ cells }: NumaPlacement): NumaTune => ({
  memory: { mode: 'strict', nodeset: cells.map(({ hostCell }) => hostCell).join(',') },
  memnode: cells.map(({ id, hostCell }): ItemOf<NumaTune['memnode']> => ({ cellid: id, mode: 'strict', nodeset: String(hostCell) })),
});
