// Why a component's pods are not ready, in one sentence for the KubeVirt CR's conditions: not schedulable, an image that cannot be
// pulled, a container that keeps ending and its last words. Pure.
import type { Pod } from '../../api/index.js';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

/** Part of every start. */
const PATIENCE = new Set(['ContainerCreating', 'PodInitializing']);
const MAX_WORDS = 200;

/** Of the first pod, by name, that is in trouble; undefined while they are only starting. */
export function troubleOf(pods: readonly Pod[]): string | undefined {
  const byName = [...pods].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  for (const pod of byName) {
    const trouble = unschedulable(pod) ?? containerTrouble(pod);
    if (trouble) return `pod ${pod.metadata.name}: ${trouble}`;
  }
  return undefined;
}

function unschedulable({ status }: Pod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False' ? (scheduled.message ?? scheduled.reason) : undefined;
}

function containerTrouble({ status }: Pod): string | undefined {
  for (const container of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const trouble = waitingTrouble(container) ?? endedTrouble(container);
    if (trouble) return `container ${container.name}: ${trouble}`;
  }
  return undefined;
}

function waitingTrouble({ state, lastState }: ContainerStatus): string | undefined {
  const waiting = state?.waiting;
  if (!waiting?.reason || PATIENCE.has(waiting.reason)) return undefined;
  // A back-off's own message only counts time; what the container said when it ended is the reason.
  const words = lastWords(lastState?.terminated?.message) ?? lastWords(waiting.message);
  return words ? `${waiting.reason}: ${words}` : waiting.reason;
}

function endedTrouble({ state }: ContainerStatus): string | undefined {
  const ended = state?.terminated;
  if (!ended || ended.exitCode === 0) return undefined;
  const words = lastWords(ended.message);
  return `ended with code ${ended.exitCode}${words ? `: ${words}` : ''}`;
}

function lastWords(text: string | undefined): string | undefined {
  const line = text?.trim().split('\n').at(-1)?.trim();
  return line ? line.slice(0, MAX_WORDS) : undefined;
}
