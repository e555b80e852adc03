// What a run strategy asks for, given the VMI and the first pending state change request. Pure: the table of
// Always, Halted, Manual, RerunOnFailure, Once and WaitAsReceiver. decide.ts turns the answer into steps.
import { ANNOTATION, isDeleting, type VirtualMachine, type VirtualMachineInstance } from '../../api/index.js';
import { hasStartRequest, hasStopRequestFor, hasTwoStrategies, isFinal, migratesAway, rerunWants, runStrategyOf } from './predicates.js';
import { text } from './text.js';

export type StrategyAction =
  | { readonly do: 'start' }
  | { readonly do: 'stop' }
  /** A failed guest of RerunOnFailure is started again by a request that survives our restart. */
  | { readonly do: 'addStartRequest' }
  /** A start request on a Halted VM changes its strategy. */
  | { readonly do: 'setRunning' }
  | { readonly do: 'setRunStrategy'; readonly value: string };

export interface StrategyDecision {
  readonly actions: readonly StrategyAction[];
  /** Goes into the VM's Failure condition. */
  readonly failure?: { readonly reason: string; readonly message: string };
  readonly recheckMs?: number;
}

export interface StrategyInput {
  readonly vm: VirtualMachine;
  readonly vmi: VirtualMachineInstance | undefined;
  /** Milliseconds until the crash back-off of this VM ends; 0 when there is none. */
  readonly backoffMs: number;
}

const MIGRATION_RECHECK_MS = 2_000;

const nothing: StrategyDecision = { actions: [] };
const start: StrategyDecision = { actions: [{ do: 'start' }] };
const stop: StrategyDecision = { actions: [{ do: 'stop' }] };
const failed = (message: string): StrategyDecision => ({ actions: [], failure: { reason: 'FailedCreate', message } });

const startAfterBackoff = ({ backoffMs }: StrategyInput): StrategyDecision =>
  backoffMs > 0 ? { actions: [], recheckMs: backoffMs } : start;

/** The guest lives on elsewhere: a second one here would write to the same disks. */
const afterMigration = ({ status }: VirtualMachineInstance): StrategyDecision =>
  status?.migrationState?.completed
    ? { actions: [{ do: 'setRunStrategy', value: 'Halted' }] }
    : { actions: [], recheckMs: MIGRATION_RECHECK_MS };

function always(input: StrategyInput): StrategyDecision {
  const { vm, vmi } = input;
  if (!vmi) return startAfterBackoff(input);
  if (!isFinal(vmi) && !hasStopRequestFor(vm, vmi)) return nothing;
  return migratesAway(vmi) ? afterMigration(vmi) : stop;
}

function rerunOnFailure(input: StrategyInput): StrategyDecision {
  const { vm, vmi } = input;
  if (!vmi) return rerunWants(vm) ? startAfterBackoff(input) : nothing;
  if (isDeleting(vmi)) return nothing;
  if (vmi.status?.phase === 'Failed') return { actions: [{ do: 'stop' }, { do: 'addStartRequest' }] };
  return vmi.status?.phase === 'Succeeded' || hasStopRequestFor(vm, vmi) ? stop : nothing;
}

function manual({ vm, vmi }: StrategyInput): StrategyDecision {
  if (vmi) return hasStopRequestFor(vm, vmi) ? stop : nothing;
  return hasStartRequest(vm) ? start : nothing;
}

function halted({ vm, vmi }: StrategyInput): StrategyDecision {
  if (vmi) return stop;
  if (!hasStartRequest(vm)) return nothing;
  return { actions: [{ do: 'setRunning' }], failure: { reason: 'FailedCreate', message: text.haltedStartRequested } };
}

function waitAsReceiver({ vm, vmi }: StrategyInput): StrategyDecision {
  if (!vmi) return start;
  if (vmi.metadata.annotations?.[ANNOTATION.createMigrationTarget] === 'true') return nothing;
  const restored = vm.metadata.annotations?.['kubevirt.io/restore-run-strategy'];
  if (vmi.status?.migrationState?.completed && restored) return { actions: [{ do: 'setRunStrategy', value: restored }] };
  return failed(text.nonReceiverVmi);
}

export function decideRunStrategy(input: StrategyInput): StrategyDecision {
  if (hasTwoStrategies(input.vm)) return failed(text.runningAndStrategy);
  const strategy = runStrategyOf(input.vm);
  switch (strategy) {
    case 'Always':
      return always(input);
    case 'RerunOnFailure':
      return rerunOnFailure(input);
    case 'Manual':
      return manual(input);
    case 'Halted':
      return halted(input);
    case 'Once':
      return input.vmi ? nothing : start;
    case 'WaitAsReceiver':
      return waitAsReceiver(input);
    default:
      return failed(text.unknownRunStrategy(strategy));
  }
}
