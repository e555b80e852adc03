// What the VM controller does next, as data. Pure: reads one snapshot (Seen), returns steps; reconciler.ts performs them.
import {
  ANNOTATION,
  controllerOf,
  FINALIZER,
  isDeleting,
  isFinalPhase,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import type { Chosen } from '../../core/instancetype/index.js';
import { deepEqual } from '../../runtime/patch.js';
import { type DataVolumeStep, planTemplates, type TemplatesPlan } from './data-volumes.js';
import { decideLive, type LiveStep } from './live.js';
import { isStartRequested, runStrategyOf } from './predicates.js';
import { holdsStartOf, isStartRevisionOf, specOf } from './revision.js';
import { decideRunStrategy, type StrategyAction } from './run-strategy.js';
import { type Failure, ownVmi, revisionOf, type Seen } from './seen.js';
import { backoffLeftMs } from './start-failure.js';
import { text } from './text.js';

export type { Failure, Seen } from './seen.js';
export { ownVmi, revisionOf } from './seen.js';

export type Step =
  | { readonly do: 'ensureFinalizer' }
  | { readonly do: 'dropFinalizer' }
  | { readonly do: 'adoptVmi'; readonly vmi: VirtualMachineInstance }
  | {
      readonly do: 'createVmi';
      readonly asMigrationTarget: boolean;
      readonly staleRevisions: readonly string[];
      readonly chosen?: Chosen;
    }
  | { readonly do: 'deleteVmi'; readonly vmi: VirtualMachineInstance }
  | { readonly do: 'releaseVmi'; readonly vmi: VirtualMachineInstance }
  | { readonly do: 'bumpGeneration'; readonly vmi: VirtualMachineInstance }
  | LiveStep
  | DataVolumeStep
  | { readonly do: 'setRunStrategy'; readonly field: 'running' | 'runStrategy'; readonly value: string | boolean };

export interface Plan {
  readonly steps: readonly Step[];
  /** Becomes the Failure condition. */
  readonly failure?: Failure;
  readonly recheckMs?: number;
  /** Append a start request to the status: the failed guest of RerunOnFailure comes up again, also after our own restart. */
  readonly requestStart?: boolean;
}

const ORPHAN = 'orphan';

const hasFinalizer = (vm: VirtualMachine): boolean => vm.metadata.finalizers?.includes(FINALIZER.vmController) === true;

const isMarked = (vm: VirtualMachine): boolean => vm.metadata.annotations?.[ANNOTATION.latestObservedApiVersion] === 'v1';

/** The instance's own finalizer goes once its end has been seen; the VMI controller keeps its own until the pods are gone. */
function release(vmi: VirtualMachineInstance | undefined): Step[] {
  const final = isFinalPhase(vmi?.status?.phase);
  return vmi && final && vmi.metadata.finalizers?.includes(FINALIZER.vmController) ? [{ do: 'releaseVmi', vmi }] : [];
}

function decideDeletion(seen: Seen): Plan {
  const own = ownVmi(seen);
  // What nobody controls stays: a guest of that name that was never taken over, or one that the garbage collector has just let go because
  // the VM was to be deleted without it.
  const vmi = own && controllerOf(own) ? own : undefined;
  if (!hasFinalizer(seen.vm)) return { steps: release(vmi) };
  if (!vmi || seen.vm.metadata.finalizers?.includes(ORPHAN)) return { steps: [{ do: 'dropFinalizer' }] };
  // The VMI controller lets the guest of a deleted VM go by itself.
  return { steps: isDeleting(vmi) ? [] : [{ do: 'deleteVmi', vmi }] };
}

const isStart = (a: StrategyAction): boolean => a.do === 'start';

function blockedStart({ vm, vmi, unfound }: Seen): Plan['failure'] {
  const owner = vmi && controllerOf(vmi);
  if (vmi && owner && owner.uid !== vm.metadata.uid) {
    return { reason: 'FailedCreate', message: text.vmiOwnedByOther(vmi.metadata.name ?? '', `${owner.kind} ${owner.name}`) };
  }
  return unfound;
}

/** In the words that the VM uses itself: its strategy, or on and off. */
const turned = ({ spec }: VirtualMachine, value: string): Step =>
  spec.runStrategy
    ? { do: 'setRunStrategy', field: 'runStrategy', value }
    : { do: 'setRunStrategy', field: 'running', value: value !== 'Halted' };

function stepOf(action: StrategyAction, seen: Seen): Step[] {
  const vmi = ownVmi(seen);
  switch (action.do) {
    case 'start':
      return [
        {
          do: 'createVmi',
          asMigrationTarget: runStrategyOf(seen.vm) === 'WaitAsReceiver',
          staleRevisions: seen.revisions
            .filter((r) => isStartRevisionOf(seen.vm, r.metadata.name ?? '') && !holdsStartOf(seen.vm, r))
            .map((r) => r.metadata.name ?? ''),
          ...(seen.chosen ? { chosen: seen.chosen } : {}),
        },
      ];
    case 'stop':
      return vmi && !isDeleting(vmi) ? [{ do: 'deleteVmi', vmi }] : [];
    case 'addStartRequest':
      return []; // part of the status, see Plan.requestStart
    case 'setRunning':
      return [turned(seen.vm, 'Always')];
    case 'setRunStrategy':
      return [turned(seen.vm, action.value)];
  }
}

/** The VM's generation moved but not its template: what runs is what the VM asks for, so say so on the VMI. */
function bumpGeneration(seen: Seen): Step[] {
  const vmi = ownVmi(seen);
  const stored = specOf(revisionOf(seen));
  if (!vmi || !stored || isDeleting(vmi)) return [];
  const isCurrent = vmi.metadata.annotations?.[ANNOTATION.vmGeneration] === String(seen.vm.metadata.generation);
  return !isCurrent && deepEqual(stored.template, seen.vm.spec.template) ? [{ do: 'bumpGeneration', vmi }] : [];
}

/** Steps of a VM that is neither new nor deleted. */
function decideRun(seen: Seen, now: number): Plan {
  const vmi = ownVmi(seen);
  const decision = decideRunStrategy({ vm: seen.vm, vmi, backoffMs: backoffLeftMs(seen.vm, now) });
  // First the request is stored, then what failed goes: once that is gone, only the request tells that a new guest is wanted.
  if (decision.actions.some((a) => a.do === 'addStartRequest') && !isStartRequested(seen.vm))
    return { steps: adopt(vmi), requestStart: true };
  const starts = decision.actions.some(isStart);
  const blocked = starts ? blockedStart(seen) : undefined;
  if (blocked) return { steps: [], failure: blocked };
  const templates = planTemplates(seen, starts);
  if (starts && !templates.isReady) return waitingFor(templates, vmi);
  // What starts or stops now is changed afterwards, if it still has to be.
  const live = decision.actions.length === 0 ? decideLive(seen, now) : { steps: [] };
  const { failure = seen.unfound ?? live.failure ?? templates.failure, recheckMs = templates.recheckMs } = decision;
  return {
    steps: [
      ...templates.steps,
      ...adopt(vmi),
      ...bumpGeneration(seen),
      ...decision.actions.flatMap((a) => stepOf(a, seen)),
      ...release(vmi),
      ...live.steps,
    ],
    ...(failure && { failure }),
    ...(recheckMs !== undefined && { recheckMs }),
  };
}

const waitingFor = ({ steps, failure, recheckMs }: TemplatesPlan, vmi: VirtualMachineInstance | undefined): Plan => ({
  steps: [...adopt(vmi), ...steps],
  ...(failure ? { failure } : {}),
  ...(recheckMs === undefined ? {} : { recheckMs }),
});

const adopt = (vmi: VirtualMachineInstance | undefined): Step[] =>
  vmi && !controllerOf(vmi) && !isDeleting(vmi) ? [{ do: 'adoptVmi', vmi }] : [];

export function decideVm(seen: Seen, now: number): Plan {
  if (!seen.settled) return { steps: [] };
  if (isDeleting(seen.vm)) return decideDeletion(seen);
  if (!hasFinalizer(seen.vm) || !isMarked(seen.vm)) return { steps: [{ do: 'ensureFinalizer' }] };
  return decideRun(seen, now);
}
