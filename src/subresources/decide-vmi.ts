// Whether a VMI may be paused, unpaused, or spoken to by console or VNC now. Pure.
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { badRequest, conflict, forbidden, type StatusError } from './status.js';

const nameOf = (vmi: VirtualMachineInstance): string => vmi.metadata.name ?? '';
const isRunning = (vmi: VirtualMachineInstance): boolean => vmi.status?.phase === 'Running';
const isPaused = (vmi: VirtualMachineInstance): boolean => vmi.status?.conditions?.some((c) => c.type === 'Paused') ?? false;
const refuse = (vmi: VirtualMachineInstance, why: string): StatusError => conflict('virtualmachineinstance', nameOf(vmi), why);

const NOT_RUNNING = 'VMI is not running';

export function pauseRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (!isRunning(vmi)) return refuse(vmi, 'VM is not running');
  const probe = vmi.spec.livenessProbe;
  if (probe && !probe.guestAgentPing) {
    return forbidden('virtualmachineinstance', nameOf(vmi), 'Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported');
  }
  return isPaused(vmi) ? refuse(vmi, 'VMI is already paused') : undefined;
}

/** `vm`: the VM of the same name, if there is one. */
export function unpauseRefusal(vmi: VirtualMachineInstance, vm: VirtualMachine | undefined): StatusError | undefined {
  if (vm?.status?.snapshotInProgress !== undefined) return conflict('virtualmachine', nameOf(vmi), 'VM snapshot is in progress');
  if (!isRunning(vmi)) return refuse(vmi, NOT_RUNNING);
  return isPaused(vmi) ? undefined : refuse(vmi, 'VMI is not paused');
}

export function consoleRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (vmi.spec.domain.devices.autoattachSerialConsole === false) return badRequest('No serial consoles are present.');
  if (vmi.status?.phase === 'Failed') return refuse(vmi, 'VMI is in failed status');
  return isRunning(vmi) ? undefined : badRequest(NOT_RUNNING);
}

export function vncRefusal(vmi: VirtualMachineInstance): StatusError | undefined {
  if (vmi.spec.domain.devices.autoattachGraphicsDevice === false) return badRequest('No graphics devices are present.');
  return isRunning(vmi) ? undefined : badRequest(NOT_RUNNING);
}
