// Handlers of a VM's life-cycle verbs: reads VM and VMI, lets pure functions decide, applies their patches in order and takes the earlier
// ones back when a later one fails. Answers 202.
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import type { Logger } from '../base/logger.js';
import { empty, type Handler, type HttpResponse } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { applySteps } from './apply-steps.js';
import { type Decision, decideRestart, decideStart, decideStop, ownOf, restartOptionsFault } from './decide-vm.js';
import { answering, keyOf, nameOf } from './handling.js';
import {
  type DryRunOptions,
  isDryRun,
  type OptionFields,
  parseOptions,
  RESTART_FIELDS,
  type RestartOptions,
  START_FIELDS,
  STOP_FIELDS,
} from './options.js';
import { notFound, type StatusError, statusAnswer } from './status.js';

export interface LifecycleDeps {
  readonly client: KubeClient;
  readonly log: Logger;
}

type DecideVm<T> = (vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, options: T) => Decision;

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
    const vmi = ownOf(vm, await deps.client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request)));
    const decision = decide(vm, vmi, options.value);
    if ('refusal' in decision) return statusAnswer(decision.refusal);
    const failure = await applySteps(deps, request, decision.steps, { dryRun: isDryRun(options.value) });
    return failure ? statusAnswer(failure) : empty(202);
  };
}

export interface LifecycleHandlers {
  readonly start: Handler;
  readonly stop: Handler;
  readonly restart: Handler;
}

export const lifecycleHandlers = (deps: LifecycleDeps): LifecycleHandlers => ({
  start: answering(vmVerb(deps, START_FIELDS, decideStart), deps.log),
  stop: answering(vmVerb(deps, STOP_FIELDS, decideStop), deps.log),
  restart: answering(vmVerb<RestartOptions>(deps, RESTART_FIELDS, decideRestart, restartOptionsFault), deps.log),
});
