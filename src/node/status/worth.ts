// Whether a new status of a VMI is worth a write. Nobody waits for what the guest agent or the interfaces of a VMI say that is being deleted;
// its end, its volumes and what goes wrong still count. Pure, called before each write of the node agent.
import { isDeleting, type VirtualMachineInstance, type VirtualMachineInstanceStatus } from '../../api/index.js';
import { deepEqual } from '../../runtime/patch.js';

const TELLING = new Set(['Synchronized', 'Paused']);

function essence({ phase, reason, volumeStatus, migrationState, conditions = [] }: VirtualMachineInstanceStatus): object {
  return { phase, reason, volumeStatus, migrationState, conditions: conditions.filter((c) => TELLING.has(c.type)) };
}

export function isWorthWriting(vmi: VirtualMachineInstance, next: VirtualMachineInstanceStatus): boolean {
  return !isDeleting(vmi) || !deepEqual(essence(vmi.status ?? {}), essence(next));
}
