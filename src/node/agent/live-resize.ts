// Which of a running VMI's sizes differ from what the guest has and can be changed where it runs. Hard limits of the pod and dedicated CPUs cannot
// follow: such a VMI is resized by a migration into a larger pod, or by a restart. Pure.
import type { VirtualMachineInstance } from '../../api/index.js';
import { compareQuantities } from '../../api/quantity.js';
import { canResizeCpus, canResizeMemory } from '../../core/resources/in-place.js';

export interface Resize {
  readonly cpus: boolean;
  readonly memory: boolean;
}

export function liveResize({ spec, status }: VirtualMachineInstance): Resize {
  const { cpu, memory } = spec.domain;
  const has = status?.currentCPUTopology;
  const wantsCpus = (cpu?.maxSockets ?? 0) > 0 && has !== undefined && (cpu?.sockets ?? 1) !== (has.sockets ?? 1);
  return { cpus: canResizeCpus(spec.domain) && wantsCpus, memory: canResizeMemory(spec.domain) && wantsMemory(memory, status?.memory) };
}

function wantsMemory(
  wanted: VirtualMachineInstance['spec']['domain']['memory'],
  has: NonNullable<VirtualMachineInstance['status']>['memory'],
): boolean {
  if (wanted?.guest === undefined || wanted.maxGuest === undefined || has?.guestAtBoot === undefined) return false;
  return compareQuantities(wanted.guest, has.guestRequested ?? has.guestAtBoot) !== 0;
}
