// I/O threads, and for dedicated CPUs the pins of vCPUs, emulator, I/O threads and memory.
import type { NumaPlacement } from '../numa.js';
import type { Placement } from '../placement.js';
import type { Step } from '../step.js';
import { el, textEl, type XmlNode } from '../xml.js';

export const tuning: Step<'ioThreads' | 'placement'> = {
  name: 'tuning',
  render: ({ ioThreads, placement }) => ({
    elements: [
      ...(ioThreads && ioThreads.total > 0 ? [textEl('iothreads', ioThreads.total)] : []),
      ...(placement ? [cpuTune(placement)] : []),
      ...(placement?.numa ? [numaTune(placement.numa)] : []),
    ],
  }),
};

function cpuTune({ vcpuPins, emulatorPin, ioThreadPins }: Placement): XmlNode {
  return el('cputune', {}, [
    ...vcpuPins.map((cpu, vcpu) => el('vcpupin', { vcpu, cpuset: cpu })),
    emulatorPin !== undefined && el('emulatorpin', { cpuset: emulatorPin }),
    ...ioThreadPins.map((cpuset, i) => el('iothreadpin', { iothread: i + 1, cpuset })),
  ]);
}

const numaTune = ({ cells }: NumaPlacement): XmlNode =>
  el('numatune', {}, [
    el('memory', { mode: 'strict', nodeset: cells.map(({ hostCell }) => hostCell).join(',') }),
    ...cells.map(({ id, hostCell }) => el('memnode', { cellid: id, mode: 'strict', nodeset: hostCell })),
  ]);
