// What the VMI controller does next, as data. Pure: one snapshot in, steps and at most one failure out.
import { FINALIZER, isDeleting, type Pod } from '../../api/index.js';
import { needsBackendStorage } from '../pod-template/index.js';
import { awaitDataVolumes, type DataVolumeStep, fillingFailure, retireTemporaryPods } from './data-volumes.js';
import { decideHotplug, type HotplugStep } from './hotplug.js';
import { isPodFinal } from './pod-state.js';
import { type Failure, isFinal, phaseOf, type Seen } from './seen.js';
import { isStateClaimUsable } from './state-claim.js';
import { text } from './text.js';
import { missingClaims } from './volumes.js';

export type Step =
  | { readonly do: 'ensureFinalizer' }
  | { readonly do: 'createStateClaim' }
  | { readonly do: 'createPod' }
  | { readonly do: 'deletePod'; readonly pod: Pod }
  | DataVolumeStep
  | HotplugStep;

export interface Plan {
  readonly steps: readonly Step[];
  /** Becomes Synchronized=False. */
  readonly failure?: Failure;
}

/** A pod that is on its way out already is left alone, unless it has ended and only its object remains. */
const isDeletable = (pod: Pod): boolean => !isDeleting(pod) || isPodFinal(pod);

function decideDeletion(seen: Seen): Plan {
  return { steps: seen.pods.filter((p) => isDeletable(p) && !isDeleting(p)).map((pod) => ({ do: 'deletePod', pod })) };
}

function missingClaim(seen: Seen): Plan | undefined {
  const missing = missingClaims(seen.vmi, seen.pvcs);
  if (missing.length === 0) return undefined;
  const message = missing.map((name) => text.pvcMissing(`${seen.vmi.metadata.namespace}/${name}`)).join('; ');
  return { steps: [], failure: { reason: 'FailedPvcNotFound', message } };
}

/** Its own claim comes first; the pod follows once it can be mounted. */
function missingState(seen: Seen): Plan | undefined {
  if (!needsBackendStorage(seen.vmi)) return undefined;
  const { stateClaim } = seen;
  if (!stateClaim) return { steps: [{ do: 'createStateClaim' }] };
  if (isStateClaimUsable(seen, stateClaim)) return undefined;
  const message = text.statePending(`${seen.vmi.metadata.namespace}/${stateClaim.metadata.name}`);
  return { steps: [], failure: { reason: 'BackendStorageNotReady', message } };
}

export function decideVmi(seen: Seen): Plan {
  if (!seen.settled) return { steps: [] };
  const plan = decideGuest(seen);
  return { ...plan, steps: [...plan.steps, ...decideHotplug(seen)] };
}

function decideGuest(seen: Seen): Plan {
  if (isDeleting(seen.vmi)) return decideDeletion(seen);
  if (isFinal(seen.vmi)) return { steps: [] };
  if (!seen.vmi.metadata.finalizers?.includes(FINALIZER.vmi)) return { steps: [{ do: 'ensureFinalizer' }] };
  const phase = phaseOf(seen.vmi);
  if (seen.pod || (phase !== '' && phase !== 'Pending')) return { steps: retireTemporaryPods(seen) };
  const awaited = awaitDataVolumes(seen);
  if (awaited) {
    const failure = fillingFailure(seen);
    return { steps: awaited, ...(failure ? { failure } : {}) };
  }
  return missingClaim(seen) ?? missingState(seen) ?? { steps: [...retireTemporaryPods(seen), { do: 'createPod' }] };
}
