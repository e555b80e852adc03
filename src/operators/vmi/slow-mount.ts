// A launcher pod that the kubelet cannot give its volumes: the pod's status names no reason, only its events do, which virt-controller may not
// read. After a while the VMI says what the pod mounts and where to look. Pure.
import type { Pod } from '../../api/index.js';
import type { PodProblem } from './pod-state.js';
import { text } from './text.js';

/** Kubelets mount in a second or two; what takes longer is missing or slow. */
const PATIENCE_MS = 20_000;

/** `ConfigMap a`, `PersistentVolumeClaim b`: what must be there before the pod's first container starts. */
function mounted(pod: Pod): string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ configMap, secret, persistentVolumeClaim: claim, hostPath }) => [
    ...(configMap?.name && !configMap.optional ? [`ConfigMap ${configMap.name}`] : []),
    ...(secret?.secretName && !secret.optional ? [`Secret ${secret.secretName}`] : []),
    ...(claim ? [`PersistentVolumeClaim ${claim.claimName}`] : []),
    ...(hostPath?.type === 'Directory' ? [`directory ${hostPath.path} on node ${pod.spec?.nodeName ?? ''}`] : []),
  ]);
}

/** Since when the kubelet works at the pod's volumes; images are pulled only after them. */
function mountingSince({ status }: Pod): number | undefined {
  const prepared = status?.conditions?.find((c) => c.type === 'PodReadyToStartContainers');
  return status?.startTime && status.phase === 'Pending' && prepared?.status === 'False' ? Date.parse(status.startTime) : undefined;
}

export function mountProblem(pod: Pod, now: number): PodProblem | undefined {
  const since = mountingSince(pod);
  const names = mounted(pod);
  if (since === undefined || names.length === 0 || now - since < PATIENCE_MS) return undefined;
  return { reason: 'ContainerCreating', message: text.mounting(pod.metadata.name ?? '', names.join(', ')) };
}

/** When to look again at a pod that has time left. */
export function mountPatienceMs(pod: Pod | undefined, now: number): number | undefined {
  const since = pod && mountingSince(pod);
  if (since === undefined || mounted(pod as Pod).length === 0) return undefined;
  return now - since < PATIENCE_MS ? PATIENCE_MS - (now - since) : undefined;
}
