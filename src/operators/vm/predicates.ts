// Small questions about a VM and its VMI that several decisions ask. Pure; names as in the API's documentation.
import {
  isDeleting,
  isFinalPhase,
  type RunStrategy,
  type VirtualMachine,
  type VirtualMachineInstance,
  type VirtualMachineStateChangeRequest,
} from '../../api/index.js';

export const isFinal = (vmi: VirtualMachineInstance): boolean => isFinalPhase(vmi.status?.phase);

/** `running: true` reads as Always, `running: false` and nothing at all as Halted. Any other text is returned as it stands. */
export function runStrategyOf(vm: VirtualMachine): RunStrategy | string {
  if (vm.spec.runStrategy) return vm.spec.runStrategy;
  return vm.spec.running ? 'Always' : 'Halted';
}

/** Nobody knows which one is meant. */
export const hasTwoStrategies = ({ spec }: VirtualMachine): boolean => Boolean(spec.runStrategy) && spec.running !== undefined;

/** A guest that migrates to or from another cluster, or another namespace: only one side has an address to synchronise with. */
export function migratesAway({ status }: VirtualMachineInstance): boolean {
  const { sourceState, targetState } = status?.migrationState ?? {};
  return (
    sourceState !== undefined &&
    targetState !== undefined &&
    (sourceState.syncAddress === undefined) !== (targetState.syncAddress === undefined)
  );
}

const firstRequest = (vm: VirtualMachine) => vm.status?.stateChangeRequests?.find((request) => !isLeftOver(vm, request));

export const hasStartRequest = (vm: VirtualMachine): boolean => firstRequest(vm)?.action === 'Start';

/**
 * Asked for before its VM was turned off, of which its status does not know yet: the second half of a restart. A guest that is to start paused
 * is asked for on a VM that is off.
 */
export const isLeftOver = (vm: VirtualMachine, { action, data }: VirtualMachineStateChangeRequest): boolean =>
  action === 'Start' &&
  data?.paused !== 'true' &&
  runStrategyOf(vm) === 'Halted' &&
  vm.status?.runStrategy !== undefined &&
  vm.status.runStrategy !== 'Halted';

/** Now, or once an earlier request is done. */
export const isStartRequested = (vm: VirtualMachine): boolean =>
  vm.status?.stateChangeRequests?.some(({ action }) => action === 'Start') === true;

export const hasStartPausedRequest = (vm: VirtualMachine): boolean => hasStartRequest(vm) && firstRequest(vm)?.data?.paused === 'true';

/** A stop request counts only for the VMI that it names. */
export function hasStopRequestFor(vm: VirtualMachine, vmi: VirtualMachineInstance): boolean {
  const request = firstRequest(vm);
  return request?.action === 'Stop' && request.uid !== undefined && request.uid === vmi.metadata.uid;
}

export const wasEverRunning = (vmi: VirtualMachineInstance): boolean =>
  (vmi.status?.phaseTransitionTimestamps ?? []).some((t) => t.phase === 'Running');

/** The guest ended before it ever ran: what the crash back-off counts. */
export const failedEarly = (vmi: VirtualMachineInstance): boolean => isFinal(vmi) && !wasEverRunning(vmi);

/** Is a VM with this strategy meant to be up now (or to come up)? */
export function isSetToStart(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): boolean {
  if (hasTwoStrategies(vm)) return false;
  switch (runStrategyOf(vm)) {
    case 'Always':
      return true;
    case 'Manual':
      return vmi ? !hasStopRequestFor(vm, vmi) : hasStartRequest(vm);
    case 'RerunOnFailure':
      return vmi ? vmi.status?.phase !== 'Succeeded' : rerunWants(vm);
    case 'Once':
      return vmi === undefined;
    default:
      return false;
  }
}

/** RerunOnFailure starts on request, and once when the strategy has just been set. */
export const rerunWants = (vm: VirtualMachine): boolean => hasStartRequest(vm) || vm.status?.runStrategy !== 'RerunOnFailure';

export const isLive = (vmi: VirtualMachineInstance | undefined): boolean => vmi !== undefined && !isFinal(vmi) && !isDeleting(vmi);
