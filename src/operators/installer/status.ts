// The KubeVirt CR's status for each situation of an installation. Pure: the old status and what happened go in, the status to store
// comes out, equal to the old one when nothing is new.
import type { GenerationStatus, KubeVirtCondition, KubeVirtStatus } from '../../api/index.js';
import { assertNever } from '../../base/errors.js';

export interface Target {
  readonly version: string;
  readonly registry: string;
  readonly id: string;
  /** JSON of what the installation was rendered from. */
  readonly config: string;
}

export type Situation =
  | { readonly kind: 'duplicate' }
  /** Being installed, updated or repaired; `gap` is what is waited for. */
  | { readonly kind: 'deploying'; readonly gap: string; readonly created: boolean }
  | { readonly kind: 'ready'; readonly generation: number }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'deleting'; readonly gap: string }
  | { readonly kind: 'deletion-failed'; readonly message: string }
  | { readonly kind: 'deleted' };

export interface StatusInput {
  readonly old: KubeVirtStatus;
  readonly situation: Situation;
  readonly target: Target;
  readonly operatorVersion: string;
  readonly defaultArchitecture: string | undefined;
  /** Of what was applied; undefined keeps the old ones. */
  readonly generations?: readonly GenerationStatus[];
  /** metav1.Time */
  readonly now: string;
}

const DUPLICATE = 'There is an active KubeVirt deployment';

export function isUpdate(old: KubeVirtStatus, target: Target): boolean {
  return old.observedDeploymentID !== undefined && old.observedDeploymentID !== '' && old.observedDeploymentID !== target.id;
}

export function nextStatus(input: StatusInput): KubeVirtStatus {
  const { old, situation, target, operatorVersion, defaultArchitecture, generations } = input;
  if (situation.kind === 'duplicate') return { ...old, conditions: conditionsFor(input) };
  const status: KubeVirtStatus = {
    ...old,
    phase: phaseFor(old, situation),
    operatorVersion,
    targetDeploymentConfig: target.config,
    targetDeploymentID: target.id,
    targetKubeVirtRegistry: target.registry,
    targetKubeVirtVersion: target.version,
    conditions: conditionsFor(input),
    ...(defaultArchitecture ? { defaultArchitecture } : {}),
    ...(generations ? { generations: [...generations] } : {}),
  };
  if (situation.kind !== 'ready') return status;
  return {
    ...status,
    observedDeploymentConfig: target.config,
    observedDeploymentID: target.id,
    observedKubeVirtRegistry: target.registry,
    observedKubeVirtVersion: target.version,
    observedGeneration: situation.generation,
  };
}

function phaseFor(old: KubeVirtStatus, situation: Situation): string {
  switch (situation.kind) {
    case 'ready':
      return 'Deployed';
    case 'deleting':
    case 'deletion-failed':
      return 'Deleting';
    case 'deleted':
      return 'Deleted';
    default:
      // An update or a repair keeps what was reached.
      return old.phase === 'Deployed' ? 'Deployed' : 'Deploying';
  }
}

type Wanted = readonly [type: string, status: 'True' | 'False', reason: string, message: string];

function conditionsFor({ old, situation, target, now }: StatusInput): KubeVirtCondition[] {
  const { set, drop } = wantedConditions(old, situation, target);
  const kept = (old.conditions ?? []).filter(({ type }) => !drop.includes(type));
  return set.reduce((list, wanted) => withCondition(list, wanted, now), kept);
}

function wantedConditions(old: KubeVirtStatus, situation: Situation, target: Target): { set: readonly Wanted[]; drop: readonly string[] } {
  switch (situation.kind) {
    case 'duplicate':
      return { set: [['Synchronized', 'False', 'ExistingDeployment', DUPLICATE]], drop: [] };
    case 'deploying':
      return isUpdate(old, target) ? updating(old, situation, target) : deploying(situation, target);
    case 'ready':
      return {
        set: [CREATED, ...all('AllComponentsReady', 'All components are ready.', 'True', 'False', 'False')],
        drop: ['Synchronized'],
      };
    case 'failed': {
      const message = `An error occurred during deployment: ${situation.message}`;
      const set = all('DeploymentFailed', message, 'False', 'False', 'True');
      return { set: [...set, ['Synchronized', 'False', 'DeploymentFailed', message]], drop: [] };
    }
    case 'deleting': {
      const message = `Deletion was triggered${situation.gap ? `: ${situation.gap}` : ''}`;
      return { set: all('DeletionInProgress', message, 'False', 'False', 'True'), drop: ['Created', 'Synchronized'] };
    }
    case 'deletion-failed': {
      const message = `An error occurred during deletion: ${situation.message}`;
      return { set: [['Synchronized', 'False', 'DeletionFailed', message]], drop: [] };
    }
    case 'deleted':
      return { set: [], drop: ['Created', 'Synchronized'] };
    default:
      return assertNever(situation, 'situation of an installation');
  }
}

const CREATED: Wanted = ['Created', 'True', 'AllResourcesCreated', 'All resources were created.'];

const all = (
  reason: string,
  message: string,
  available: 'True' | 'False',
  progressing: 'True' | 'False',
  degraded: 'True' | 'False',
): Wanted[] => [
  ['Available', available, reason, message],
  ['Progressing', progressing, reason, message],
  ['Degraded', degraded, reason, message],
];

type Deploying = Extract<Situation, { kind: 'deploying' }>;
const withGap = (sentence: string, gap: string): string => (gap ? `${sentence}: ${gap}` : sentence);

function deploying({ gap, created }: Deploying, target: Target): { set: readonly Wanted[]; drop: readonly string[] } {
  const message = withGap(`Deploying version ${target.version} with registry ${target.registry}`, gap);
  const set = all('DeploymentInProgress', message, 'False', 'True', 'False');
  return { set: created ? [CREATED, ...set] : set, drop: ['Synchronized'] };
}

function updating(old: KubeVirtStatus, { gap, created }: Deploying, target: Target): { set: readonly Wanted[]; drop: readonly string[] } {
  const from = `Transitioning from previous version ${old.observedKubeVirtVersion} with registry ${old.observedKubeVirtRegistry}`;
  const message = withGap(`${from} to target version ${target.version} using registry ${target.registry}`, gap);
  const set = all('UpdateInProgress', message, 'True', 'True', 'True');
  return { set: created ? [CREATED, ...set] : set, drop: created ? ['Synchronized'] : ['Created', 'Synchronized'] };
}

/** Both times move whenever status, reason or message changes; a condition keeps its place in the list. */
function withCondition(list: readonly KubeVirtCondition[], [type, status, reason, message]: Wanted, now: string): KubeVirtCondition[] {
  const old = list.find((condition) => condition.type === type);
  if (old && old.status === status && old.reason === reason && old.message === message) return [...list];
  const next = { type, status, reason, message, lastProbeTime: now, lastTransitionTime: now };
  return old ? list.map((condition) => (condition === old ? next : condition)) : [...list, next];
}
