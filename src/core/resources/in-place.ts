// Which of a guest's sizes can follow where it runs. Hard limits of its pod, dedicated CPUs and huge pages cannot: such a guest gets its new
// size in a larger pod, by a migration or a restart. Asked by the VM controller before it hands a size on, and by the node agent. Pure.
import type { DomainSpec } from '../../api/index.js';

export const canResizeCpus = ({ cpu, resources }: DomainSpec): boolean =>
  cpu?.dedicatedCpuPlacement !== true && resources?.limits?.cpu === undefined;

export const canResizeMemory = ({ memory, resources }: DomainSpec): boolean =>
  memory?.hugepages === undefined && resources?.limits?.memory === undefined;
