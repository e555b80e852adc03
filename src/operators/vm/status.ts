// The VM's next status, computed from one snapshot. Pure; an equal status is not written.
import {
  ANNOTATION,
  type Condition,
  type ConditionValue,
  findCondition,
  isDeleting,
  type PersistentVolumeClaim,
  type VirtualMachine,
  type VirtualMachineInstance,
  type VirtualMachineStateChangeRequest,
  type VirtualMachineStatus,
  withCondition,
  withConditions,
} from '../../api/index.js';
import type { Plan } from './decide.js';
import { remainingVolumeRequests } from './live-volumes.js';
import { nextMemoryDump } from './memory-dump.js';
import { isFinal, isLeftOver, runStrategyOf } from './predicates.js';
import { printableStatus } from './printable-status.js';
import { restartReason } from './restart.js';
import { generationOf } from './revision.js';
import { ownVmi, type Seen } from './seen.js';
import { nextStartFailure } from './start-failure.js';
import { text } from './text.js';

export interface StatusInput {
  readonly seen: Seen;
  readonly pvcs: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly plan: Pick<Plan, 'failure' | 'requestStart'>;
  readonly createPending: boolean;
  readonly deletePending: boolean;
  readonly now: number;
  readonly random: number;
}

/** Conditions of the VM itself; every other type mirrors the VMI. */
const OWN = new Set(['Failure', 'Ready', 'RestartRequired', 'ManualRecoveryRequired']);

/** The start that it asks for is that of its successor. */
const isToBeRerun = (vm: VirtualMachine, vmi: VirtualMachineInstance): boolean =>
  runStrategyOf(vm) === 'RerunOnFailure' && vmi.status?.phase === 'Failed';

/**
 * What is started may have ended before anybody looked: a request that waited for it to live would stand in the way of every other one
 * for ever.
 */
function isRequestDone(request: VirtualMachineStateChangeRequest, vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): boolean {
  if (request.action === 'Stop') return !vmi || request.uid === undefined || request.uid !== vmi.metadata.uid;
  return vmi !== undefined && !isDeleting(vmi) && !isToBeRerun(vm, vmi);
}

export function remainingRequests(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): VirtualMachineStateChangeRequest[] {
  const requests = (vm.status?.stateChangeRequests ?? []).filter((request) => !isLeftOver(vm, request));
  const [first, ...rest] = requests;
  return first && isRequestDone(first, vm, vmi) ? rest : [...requests];
}

function requestsOf({ seen, plan }: StatusInput, vmi: VirtualMachineInstance | undefined): VirtualMachineStateChangeRequest[] {
  const left = remainingRequests(seen.vm, vmi);
  return plan.requestStart ? [...left, { action: 'Start' }] : left;
}

function readyOf(vmi: VirtualMachineInstance | undefined): ConditionValue {
  if (!vmi) return { status: 'False', reason: 'VMINotExists', message: text.vmiMissing };
  const ready = findCondition(vmi.status?.conditions, 'Ready');
  return ready ? (ready as ConditionValue) : { status: 'False', reason: 'VMIConditionMissing', message: text.vmiConditionMissing };
}

/** The VMI's conditions as they are, and none that it no longer has. */
function mirrored(conditions: readonly Condition[], vmi: VirtualMachineInstance | undefined): Condition[] {
  if (!vmi) return [...conditions];
  const theirs = (vmi.status?.conditions ?? []).filter((c) => !OWN.has(c.type)) as Condition[];
  const kept = conditions.filter((c) => OWN.has(c.type) || theirs.some((t) => t.type === c.type));
  const known = kept.map((c) => (OWN.has(c.type) ? c : (theirs.find((t) => t.type === c.type) ?? c)));
  return [...known, ...theirs.filter((t) => !kept.some((c) => c.type === t.type))];
}

/** The running guest differs from the template in a way that only a restart applies. */
export function restartRequired(seen: Seen): ConditionValue | undefined {
  const message = restartReason(seen);
  return message === undefined ? undefined : { status: 'True', message };
}

function conditionsOf({ seen, plan: { failure }, now }: StatusInput): Condition[] {
  const vmi = ownVmi(seen);
  const mine = withConditions(
    seen.vm.status?.conditions as Condition[] | undefined,
    {
      Ready: readyOf(vmi),
      Failure: failure ? { status: 'True', ...failure } : undefined,
    },
    now,
  );
  return mirrored(withCondition(mine, 'RestartRequired', restartRequired(seen), now), vmi);
}

function generationsOf(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): Partial<VirtualMachineStatus> {
  if (!vmi) return {};
  const observed = Number(vmi.metadata.annotations?.[ANNOTATION.vmGeneration]) || generationOf(vmi.status?.virtualMachineRevisionName);
  return {
    ...(observed ? { observedGeneration: observed } : {}),
    ...(vm.metadata.generation ? { desiredGeneration: vm.metadata.generation } : {}),
  };
}

const dropEmpty = (status: VirtualMachineStatus): VirtualMachineStatus =>
  Object.fromEntries(Object.entries(status).filter(([, v]) => v !== undefined && !(Array.isArray(v) && v.length === 0)));

export function nextVmStatus(input: StatusInput): VirtualMachineStatus {
  const { seen, now, random } = input;
  const { vm } = seen;
  const vmi = ownVmi(seen);
  const { startFailure: _f, memoryDumpRequest: _m, ...status } = vm.status ?? {};
  const memoryDumpRequest = nextMemoryDump(vm, vmi);
  const conditions = conditionsOf(input);
  const startFailure = nextStartFailure(vm, vmi, { now, random });
  const next: VirtualMachineStatus = dropEmpty({
    ...status,
    ...generationsOf(vm, vmi),
    created: vmi !== undefined,
    ready: findCondition(conditions, 'Ready')?.status === 'True',
    runStrategy: runStrategyOf(vm),
    conditions,
    stateChangeRequests: requestsOf(input, vmi),
    volumeRequests: remainingVolumeRequests(vm, vmi),
    ...(memoryDumpRequest ? { memoryDumpRequest } : {}),
    ...(startFailure ? { startFailure } : {}),
  });
  next.printableStatus = printableStatus({
    vm: { ...vm, status: next },
    vmi,
    dataVolumes: seen.dataVolumes,
    pvcs: input.pvcs,
    createPending: input.createPending,
    deletePending: input.deletePending,
    now,
  });
  return next;
}

/** How long the VMI has been Running; infinite while it is not. */
function runningForMs(vmi: VirtualMachineInstance, now: number): number {
  if (vmi.status?.phase !== 'Running') return Number.POSITIVE_INFINITY;
  const since = vmi.status.phaseTransitionTimestamps?.find((t) => t.phase === 'Running')?.phaseTransitionTimestamp;
  return since === undefined ? Number.POSITIVE_INFINITY : now - Date.parse(since);
}

/**
 * The VMI has no word of its own yet (just created), or its Ready condition has not caught up with its phase, or the VM was deleted a
 * moment ago: the next event, or the end, is milliseconds away, and writing in between would only cost a write.
 */
export function isTooEarly(seen: Seen, now: number): boolean {
  const vmi = ownVmi(seen);
  if (isDeleting(seen.vm)) return vmi !== undefined && now - Date.parse(seen.vm.metadata.deletionTimestamp ?? '') < QUICK_END_MS;
  const created = vmi?.metadata.creationTimestamp;
  if (!vmi || !created || isDeleting(vmi) || isFinal(vmi)) return false;
  const ready = findCondition(vmi.status?.conditions, 'Ready');
  if (!ready) return now - Date.parse(created) < EARLY_MS;
  return ready.reason === 'GuestNotRunning' && runningForMs(vmi, now) < EARLY_MS;
}

export const EARLY_MS = 1500;
/** A deletion that takes no longer is not announced; times of deletion are whole seconds, so this is at least one second less. */
const QUICK_END_MS = 2500;
