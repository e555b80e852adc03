// Where component pods may run: the KubeVirt CR's placement, or by default the control plane for infrastructure and every Linux node
// for virt-handler. Terms that a component brings itself stay. Pure.
import type { ComponentConfig, NodePlacement, PodSpec } from '../../../api/index.js';

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>;

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const MASTER = 'node-role.kubernetes.io/master';
const WORKER = 'node-role.kubernetes.io/worker';

const exists = (key: string): { matchExpressions: { key: string; operator: string }[] } => ({
  matchExpressions: [{ key, operator: 'Exists' }],
});

export const INFRA_AFFINITY: NodeAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [exists(CONTROL_PLANE), exists(MASTER)] },
  preferredDuringSchedulingIgnoredDuringExecution: [
    { weight: 100, preference: { matchExpressions: [{ key: WORKER, operator: 'DoesNotExist' }] } },
  ],
};

export const INFRA_TOLERATIONS = [CONTROL_PLANE, MASTER].map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' }));

export function placed(pod: PodSpec, config: ComponentConfig | undefined, kind: 'infra' | 'workloads'): PodSpec {
  const placement = (config?.nodePlacement ?? defaultPlacement(kind)) as Placement;
  const affinity = mergedAffinity(pod.affinity, placement.affinity);
  return {
    ...pod,
    nodeSelector: { 'kubernetes.io/os': 'linux', ...placement.nodeSelector, ...pod.nodeSelector },
    ...(affinity ? { affinity } : {}),
    tolerations: [...(pod.tolerations ?? []), ...(placement.tolerations ?? [])],
  };
}

type Placement = Omit<NodePlacement, 'affinity' | 'tolerations'> & Pick<PodSpec, 'affinity' | 'tolerations'>;

const defaultPlacement = (kind: 'infra' | 'workloads'): Placement =>
  kind === 'infra' ? { affinity: { nodeAffinity: INFRA_AFFINITY }, tolerations: INFRA_TOLERATIONS } : {};

/** Lists of terms are joined; a required node affinity of the placement is added to the component's own. */
function mergedAffinity(own: PodSpec['affinity'], given: PodSpec['affinity']): PodSpec['affinity'] {
  if (!own || !given) return own ?? given;
  return joined(own, given) as PodSpec['affinity'];
}

function joined(a: unknown, b: unknown): unknown {
  if (b === undefined) return a;
  if (a === undefined) return b;
  if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return b;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, joined((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])]),
  );
}
