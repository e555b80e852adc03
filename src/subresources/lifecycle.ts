// Handlers of the life-cycle verbs: reads VM and VMI, lets pure functions decide, applies their patches in order and takes the earlier
// ones back when a later one fails. Answers 202 for VMs, 200 for VMIs.
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { hasCode, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { empty, type Handler, type HttpRequest, type HttpResponse } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { JsonPatchOperation, KubeClient } from '../runtime/types.js';
import { type Decision, decideRestart, decideStart, decideStop, type PatchStep, restartOptionsFault } from './decide-vm.js';
import { pauseRefusal, unpauseRefusal } from './decide-vmi.js';
import type { NodeAgents } from './node-agent.js';
import {
  DRY_RUN_FIELDS,
  type DryRunOptions,
  isDryRun,
  parseOptions,
  RESTART_FIELDS,
  type RestartOptions,
  START_FIELDS,
  STOP_FIELDS,
} from './options.js';
import { conflict, internalError, notFound, type StatusError, statusAnswer } from './status.js';

export interface LifecycleDeps {
  readonly client: KubeClient;
  readonly agents: NodeAgents;
  readonly log: Logger;
}

type OptionFields = Parameters<typeof parseOptions>[1];
type DecideVm<T> = (vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, options: T) => Decision;

const keyOf = ({ params }: HttpRequest): string => `${params.ns}/${params.name}`;
const nameOf = ({ params }: HttpRequest): string => params.name ?? '';

async function applyStep(
  deps: LifecycleDeps,
  key: string,
  { target }: PatchStep,
  ops: readonly JsonPatchOperation[],
  dryRun: boolean,
): Promise<void> {
  if (target === 'vmi') await deps.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, key, ops, { dryRun });
  else await deps.client.jsonPatch(VIRTUAL_MACHINES, key, ops, { dryRun, ...(target === 'vm-status' ? { subresource: 'status' } : {}) });
}

async function undo(deps: LifecycleDeps, key: string, done: readonly PatchStep[], dryRun: boolean): Promise<void> {
  for (const step of done.toReversed()) {
    if (!step.undo) continue;
    try {
      await applyStep(deps, key, step, step.undo, dryRun);
    } catch (err) {
      // The request has failed anyway; the caller gets the first error.
      deps.log.error({ key, err: messageOf(err) }, 'Cannot take back a change');
    }
  }
}

async function applySteps(
  deps: LifecycleDeps,
  request: HttpRequest,
  steps: readonly PatchStep[],
  dryRun: boolean,
): Promise<StatusError | undefined> {
  const key = keyOf(request);
  const done: PatchStep[] = [];
  for (const step of steps) {
    try {
      await applyStep(deps, key, step, step.operations, dryRun);
      done.push(step);
    } catch (err) {
      await undo(deps, key, done, dryRun);
      return hasCode(err, 'Conflict') ? conflict('virtualmachine', nameOf(request), messageOf(err)) : internalError(messageOf(err));
    }
  }
  return undefined;
}

/** `early` refuses by the options alone, before anything is read. */
function vmVerb<T extends DryRunOptions>(
  deps: LifecycleDeps,
  fields: OptionFields,
  decide: DecideVm<T>,
  early: (options: T) => StatusError | undefined = () => undefined,
): Handler {
  return async (request): Promise<HttpResponse> => {
    const options = parseOptions<T>(request.body, fields);
    if (!options.ok) return statusAnswer(options.error);
    const fault = early(options.value);
    if (fault) return statusAnswer(fault);
    const vm = await deps.client.find(VIRTUAL_MACHINES, keyOf(request));
    if (!vm) return statusAnswer(notFound('virtualmachine', nameOf(request)));
    const vmi = await deps.client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    const decision = decide(vm, vmi, options.value);
    if ('refusal' in decision) return statusAnswer(decision.refusal);
    const failure = await applySteps(deps, request, decision.steps, isDryRun(options.value));
    return failure ? statusAnswer(failure) : empty(202);
  };
}

type Refuse = (vmi: VirtualMachineInstance, request: HttpRequest) => Promise<StatusError | undefined> | StatusError | undefined;

/** Checks the VMI and hands the request on to its node agent. */
function vmiVerb(deps: LifecycleDeps, verb: string, refuse: Refuse): Handler {
  return async (request): Promise<HttpResponse> => {
    const options = parseOptions<DryRunOptions>(request.body, DRY_RUN_FIELDS);
    if (!options.ok) return statusAnswer(options.error);
    const vmi = await deps.client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = await refuse(vmi, request);
    if (refusal) return statusAnswer(refusal);
    if (isDryRun(options.value)) return empty(200);
    const failure = await deps.agents.put(vmi, verb, request.body);
    return failure ? statusAnswer(failure) : empty(200);
  };
}

export interface LifecycleHandlers {
  readonly start: Handler;
  readonly stop: Handler;
  readonly restart: Handler;
  readonly pause: Handler;
  readonly unpause: Handler;
}

/** A failure to read is an answer too: never a broken connection. */
function answering(handler: Handler, log: Logger): Handler {
  return async (request) => {
    try {
      return await handler(request);
    } catch (err) {
      log.error({ err, path: request.path }, 'Subresource request failed');
      return statusAnswer(internalError(messageOf(err)));
    }
  };
}

export function lifecycleHandlers(deps: LifecycleDeps): LifecycleHandlers {
  const unpausable: Refuse = async (vmi, request) => unpauseRefusal(vmi, await deps.client.find(VIRTUAL_MACHINES, keyOf(request)));
  const handlers = {
    start: vmVerb(deps, START_FIELDS, decideStart),
    stop: vmVerb(deps, STOP_FIELDS, decideStop),
    restart: vmVerb<RestartOptions>(deps, RESTART_FIELDS, decideRestart, restartOptionsFault),
    pause: vmiVerb(deps, 'pause', pauseRefusal),
    unpause: vmiVerb(deps, 'unpause', unpausable),
  };
  return {
    start: answering(handlers.start, deps.log),
    stop: answering(handlers.stop, deps.log),
    restart: answering(handlers.restart, deps.log),
    pause: answering(handlers.pause, deps.log),
    unpause: answering(handlers.unpause, deps.log),
  };
}
