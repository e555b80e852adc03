// Applies the patches that were decided on, in order, and takes the earlier ones back when a later one fails. Decides nothing.
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { HttpRequest } from '../http/index.js';
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { JsonPatchOperation, KubeClient } from '../runtime/types.js';
import type { PatchStep } from './decide-vm.js';
import { keyOf, nameOf } from './handling.js';
import { type ResourceKind, type StatusError, writeFailure } from './status.js';

export interface ApplyDeps {
  readonly client: KubeClient;
  readonly log: Logger;
}

export interface ApplyOptions {
  readonly dryRun: boolean;
  /** Whether the caller hears a webhook's refusal in its own words. */
  readonly invalidPasses?: boolean;
  /** What the path names; default a VM. */
  readonly kind?: ResourceKind;
}

interface Work {
  readonly deps: ApplyDeps;
  readonly key: string;
  readonly dryRun: boolean;
}

async function applyStep({ deps, key, dryRun }: Work, { target }: PatchStep, ops: readonly JsonPatchOperation[]): Promise<void> {
  if (target === 'vmi') await deps.client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, key, ops, { dryRun });
  else await deps.client.jsonPatch(VIRTUAL_MACHINES, key, ops, { dryRun, ...(target === 'vm-status' ? { subresource: 'status' } : {}) });
}

async function undo(work: Work, done: readonly PatchStep[]): Promise<void> {
  for (const step of done.toReversed()) {
    if (!step.undo) continue;
    try {
      await applyStep(work, step, step.undo);
    } catch (err) {
      // The request has failed anyway; the caller gets the first error.
      work.deps.log.error({ key: work.key, err: messageOf(err) }, 'Cannot take back a change');
    }
  }
}

/** The objects are those that the path names. */
export async function applySteps(
  deps: ApplyDeps,
  request: HttpRequest,
  steps: readonly PatchStep[],
  { dryRun, invalidPasses = false, kind = 'virtualmachine' }: ApplyOptions,
): Promise<StatusError | undefined> {
  const work = { deps, key: keyOf(request), dryRun };
  const done: PatchStep[] = [];
  for (const step of steps) {
    try {
      await applyStep(work, step, step.operations);
      done.push(step);
    } catch (err) {
      await undo(work, done);
      return writeFailure(err, kind, nameOf(request), invalidPasses);
    }
  }
  return undefined;
}
