// Whether a workload runs as it was last described, on all its pods; and if not, a sentence about what is missing. Pure.
import type { DaemonSet, Deployment, Pod } from '../../api/index.js';
import { troubleOf } from './pod-trouble.js';

/** undefined: rolled out. Otherwise why not; `pods` are those of the workload. */
export function rolloutGap(workload: Deployment | DaemonSet | undefined, name: string, pods: readonly Pod[]): string | undefined {
  const gap = workloadGap(workload, name);
  const trouble = gap && troubleOf(pods);
  return trouble ? `${gap} (${trouble})` : gap;
}

function workloadGap(workload: Deployment | DaemonSet | undefined, name: string): string | undefined {
  if (!workload) return `${name} does not exist yet`;
  if ((workload.status?.observedGeneration ?? 0) < (workload.metadata.generation ?? 0))
    return `${name} was changed and is not looked at yet`;
  return workload.kind === 'DaemonSet' ? daemonSetGap(workload as DaemonSet, name) : deploymentGap(workload as Deployment, name);
}

function deploymentGap({ spec, status }: Deployment, name: string): string | undefined {
  const wanted = spec?.replicas ?? 1;
  const [updated, available, all] = [status?.updatedReplicas ?? 0, status?.availableReplicas ?? 0, status?.replicas ?? 0];
  if (updated >= wanted && available >= wanted && all <= updated) return undefined;
  const failure = status?.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True');
  return `${Math.min(updated, available)} of ${wanted} pods of deployment ${name} are ready${failure?.message ? ` (${failure.message})` : ''}`;
}

function daemonSetGap({ status }: DaemonSet, name: string): string | undefined {
  const wanted = status?.desiredNumberScheduled ?? 0;
  const [updated, available] = [status?.updatedNumberScheduled ?? 0, status?.numberAvailable ?? 0];
  if (updated >= wanted && available >= wanted) return undefined;
  return `${Math.min(updated, available)} of ${wanted} pods of daemonset ${name} are ready`;
}
