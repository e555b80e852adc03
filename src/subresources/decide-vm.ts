// What start, stop and restart of a VirtualMachine do, by its run strategy and the state of its VMI: patches to make, or the refusal.
// Pure; the handlers in lifecycle.ts read the objects and apply the patches.
import { controllerOf, isFinalPhase, type VirtualMachine, type VirtualMachineInstance } from '../api/index.js';
import type { JsonPatchOperation } from '../runtime/types.js';
import type { RestartOptions, StartOptions, StopOptions } from './options.js';
import { badRequest, conflict, internalError, type StatusError } from './status.js';

export interface PatchStep {
  readonly target: 'vm' | 'vm-status' | 'vmi';
  readonly operations: readonly JsonPatchOperation[];
  /** Applied when a later step fails. */
  readonly undo?: readonly JsonPatchOperation[];
}

export type Decision = { readonly refusal: StatusError } | { readonly steps: readonly PatchStep[] };

type ChangeRequest = NonNullable<NonNullable<VirtualMachine['status']>['stateChangeRequests']>[number];

const RECOVERY_REQUIRED =
  'VM recovery required: Volume migration failed, leaving some volumes pointing to non-consistent targets; manual intervention is needed to reassign them to their original volumes.';
const SHORTEST_GRACE_SECONDS = 1;
const GRACE_PATH = '/spec/terminationGracePeriodSeconds';

const nameOf = (vm: VirtualMachine): string => vm.metadata.name ?? '';
const refuse = (vm: VirtualMachine, why: string): Decision => ({ refusal: conflict('virtualmachine', nameOf(vm), why) });
const phaseOf = (vmi: VirtualMachineInstance | undefined): string => vmi?.status?.phase ?? '';
const isFinal = (vmi: VirtualMachineInstance | undefined): boolean => isFinalPhase(phaseOf(vmi));
const isLive = (vmi: VirtualMachineInstance | undefined): vmi is VirtualMachineInstance => vmi !== undefined && !isFinal(vmi);

function hasCondition(vm: VirtualMachine, type: string): boolean {
  return vm.status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false;
}

/** The VM's own instance, or one that nobody controls and that it is about to take over. */
export function ownOf({ metadata }: VirtualMachine, vmi: VirtualMachineInstance | undefined): VirtualMachineInstance | undefined {
  const owner = vmi && controllerOf(vmi);
  return owner && owner.uid !== metadata.uid ? undefined : vmi;
}

/** undefined when the VM says both or neither. */
function strategyOf({ spec }: VirtualMachine): string | undefined {
  if (spec.running !== undefined && spec.runStrategy !== undefined) return undefined;
  if (spec.running === undefined) return spec.runStrategy;
  return spec.running ? 'Always' : 'Halted';
}

const ambiguous: Decision = { refusal: internalError('running and runStrategy are mutually exclusive: remove one of them from the VM') };

/** Turns the VM on or off in its own terms. */
function runStep({ spec }: VirtualMachine, on: boolean): PatchStep {
  const [path, old, next] =
    spec.runStrategy === undefined
      ? (['/spec/running', spec.running, on] as const)
      : (['/spec/runStrategy', spec.runStrategy, on ? 'Always' : 'Halted'] as const);
  return {
    target: 'vm',
    operations: [
      { op: 'test', path, value: old },
      { op: 'replace', path, value: next },
    ],
  };
}

/** Sets a status where there is none, unless the controller writes one meanwhile. */
export const firstStatus = ({ status }: VirtualMachine, value: object): PatchStep => ({
  target: 'vm-status',
  operations: [
    { op: 'test', path: '/status', value: status ?? null },
    { op: 'add', path: '/status', value },
  ],
});

/** A request for the controller; only a lone stop may replace one that still waits. */
function requestStep(vm: VirtualMachine, changes: readonly ChangeRequest[]): PatchStep | undefined {
  const { status } = vm;
  if (!status || Object.keys(status).length === 0) return firstStatus(vm, { stateChangeRequests: changes });
  const path = '/status/stateChangeRequests';
  const waiting = status.stateChangeRequests ?? [];
  const isLoneStop = changes.length === 1 && changes[0]?.action === 'Stop';
  if (waiting.length > 0 && !isLoneStop) return undefined;
  return {
    target: 'vm-status',
    operations: [
      { op: 'test', path, value: status.stateChangeRequests ?? null },
      { op: 'add', path, value: changes },
      ...(status.startFailure ? [{ op: 'remove', path: '/status/startFailure' } as const] : []),
    ],
  };
}

function request(vm: VirtualMachine, changes: readonly ChangeRequest[], before: readonly PatchStep[] = []): Decision {
  const step = requestStep(vm, changes);
  return step ? { steps: [...before, step] } : { refusal: internalError('unable to complete request: stop/start already underway') };
}

function graceStep(vmi: VirtualMachineInstance, seconds: number): PatchStep {
  const old = vmi.spec.terminationGracePeriodSeconds;
  const change = (from: number | undefined, to: number | undefined): readonly JsonPatchOperation[] => [
    { op: 'test', path: GRACE_PATH, value: from ?? null },
    to === undefined ? { op: 'remove', path: GRACE_PATH } : { op: 'add', path: GRACE_PATH, value: to },
  ];
  return { target: 'vmi', operations: change(old, seconds), undo: change(seconds, old) };
}

/** What still waits to be started would turn a VM on again that is Halted. Until it is, it starts without a request. */
function forgetStep({ status }: VirtualMachine): PatchStep[] {
  const waiting = status?.stateChangeRequests;
  if (!waiting?.some(({ action }) => action === 'Start')) return [];
  const path = '/status/stateChangeRequests';
  return [
    {
      target: 'vm-status',
      operations: [
        { op: 'test', path, value: waiting },
        { op: 'remove', path },
      ],
      undo: [
        { op: 'test', path, value: null },
        { op: 'add', path, value: waiting },
      ],
    },
  ];
}

const stopOf = (vmi: VirtualMachineInstance): ChangeRequest => ({ action: 'Stop', ...(vmi.metadata.uid ? { uid: vmi.metadata.uid } : {}) });

/** A VMI that has ended is stopped first, so that a new one takes its place. */
const startRequests = (vmi: VirtualMachineInstance | undefined, start: ChangeRequest): readonly ChangeRequest[] =>
  vmi && isFinal(vmi) ? [stopOf(vmi), start] : [start];

function startByStrategy(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, start: ChangeRequest): Decision {
  const strategy = strategyOf(vm);
  switch (strategy) {
    case 'Halted':
      return start.data ? request(vm, [start]) : { steps: [runStep(vm, true)] };
    case 'RerunOnFailure':
      if (phaseOf(vmi) === 'Failed') return refuse(vm, 'RerunOnFailure does not support starting VM from failed state');
      return request(vm, startRequests(vmi, start));
    case 'Manual':
      return request(vm, startRequests(vmi, start));
    case 'Always':
    case 'Once':
      return refuse(vm, `${strategy} does not support manual start requests`);
    default:
      return strategy === undefined ? ambiguous : { steps: [] };
  }
}

export function decideStart(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, { paused = false }: StartOptions): Decision {
  if (isLive(vmi) && !['', 'Unknown'].includes(phaseOf(vmi))) return refuse(vm, 'VM is already running');
  if (hasCondition(vm, 'ManualRecoveryRequired')) return refuse(vm, RECOVERY_REQUIRED);
  return startByStrategy(vm, vmi, { action: 'Start', ...(paused ? { data: { paused: 'true' } } : {}) });
}

function decideHaltedStop(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, { gracePeriod }: StopOptions): Decision {
  if (!isLive(vmi)) return refuse(vm, 'VM is not running');
  const old = vmi.spec.terminationGracePeriodSeconds;
  if (gracePeriod === undefined || (old !== undefined && gracePeriod >= old)) {
    return refuse(vm, 'Halted only supports manual stop requests with a shorter graceperiod');
  }
  return request(vm, [stopOf(vmi)], [graceStep(vmi, gracePeriod)]);
}

export function decideStop(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, options: StopOptions): Decision {
  const { gracePeriod } = options;
  const grace = isLive(vmi) && gracePeriod !== undefined ? [graceStep(vmi, gracePeriod)] : [];
  const strategy = strategyOf(vm);
  switch (strategy) {
    case 'Halted':
      return decideHaltedStop(vm, vmi, options);
    case 'RerunOnFailure':
    case 'Manual':
      return isLive(vmi) ? request(vm, [stopOf(vmi)], grace) : refuse(vm, 'VM is not running');
    case 'Always':
    case 'Once':
      return { steps: [...grace, ...forgetStep(vm), runStep(vm, false)] };
    default:
      return strategy === undefined ? ambiguous : { steps: [] };
  }
}

/** What is wrong with the options whatever the VM. */
export function restartOptionsFault({ gracePeriodSeconds = 0 }: RestartOptions): StatusError | undefined {
  if (gracePeriodSeconds > 0) return badRequest('For force restart, only gracePeriod=0 is supported for now');
  return gracePeriodSeconds < 0 ? badRequest('gracePeriod has to be greater or equal to 0') : undefined;
}

export function decideRestart(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, options: RestartOptions): Decision {
  const fault = restartOptionsFault(options);
  if (fault) return { refusal: fault };
  if (hasCondition(vm, 'VolumesChange')) return refuse(vm, RECOVERY_REQUIRED);
  const strategy = strategyOf(vm);
  if (strategy === undefined) return ambiguous;
  // The misspelling is what scripts match.
  if (strategy === 'Halted' || strategy === 'Once') return refuse(vm, `RunStategy ${strategy} does not support manual restart requests`);
  if (!vmi) return refuse(vm, 'VM is not running: Halted');
  const grace = options.gracePeriodSeconds === 0 ? [graceStep(vmi, SHORTEST_GRACE_SECONDS)] : [];
  return request(vm, [stopOf(vmi), { action: 'Start' }], grace);
}
