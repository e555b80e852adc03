// The objects by which the API server itself is asked whether a changed placement of the KubeVirt CR would be accepted: one deployment for the
// infrastructure, one daemon set for the workloads, created as dry runs. Pure; virt-operator's webhook sends them and tells what came back.
import type { ComponentConfig, DaemonSet, Deployment, KubeVirt, PodSpec } from '../../api/index.js';
import type { KubeVirtCause } from './admit-kubevirt-rules.js';

export type PlacementProbe =
  | { readonly at: string; readonly kind: 'Deployment'; readonly object: Deployment }
  | { readonly at: string; readonly kind: 'DaemonSet'; readonly object: DaemonSet };

const NAME = 'kubevirt-placement-probe';
const LABELS = { 'kubevirt.io/placement-probe': '' };

/** Nothing is ever pulled: the objects are not stored. */
function template({ nodePlacement }: ComponentConfig): NonNullable<Deployment['spec']>['template'] {
  const { nodeSelector, affinity, tolerations } = (nodePlacement ?? {}) as Pick<PodSpec, 'nodeSelector' | 'affinity' | 'tolerations'>;
  return {
    metadata: { labels: LABELS },
    spec: {
      containers: [{ name: 'probe', image: 'probe.invalid/none:none' }],
      ...(nodeSelector ? { nodeSelector } : {}),
      ...(affinity ? { affinity } : {}),
      ...(tolerations ? { tolerations } : {}),
    },
  };
}

const changed = (next: ComponentConfig | undefined, old: ComponentConfig | undefined): next is ComponentConfig =>
  next?.nodePlacement !== undefined && JSON.stringify(next) !== JSON.stringify(old);

export function placementProbes(kv: KubeVirt, old: KubeVirt | undefined): PlacementProbe[] {
  const { infra, workloads } = kv.spec;
  const metadata = { name: NAME, namespace: kv.metadata.namespace ?? 'kubevirt' };
  const selector = { matchLabels: LABELS };
  const probes: PlacementProbe[] = [];
  if (changed(infra, old?.spec.infra)) {
    const object: Deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 1, selector, template: template(infra) },
    };
    probes.push({ at: 'spec.infra.nodePlacement', kind: 'Deployment', object });
  }
  if (changed(workloads, old?.spec.workloads)) {
    const object: DaemonSet = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { selector, template: template(workloads) } };
    probes.push({ at: 'spec.workloads.nodePlacement', kind: 'DaemonSet', object });
  }
  return probes;
}

export const placementCause = ({ at }: PlacementProbe, why: string): KubeVirtCause => ({
  type: 'FieldValueInvalid',
  field: '',
  message: `${at} would not be accepted in a pod: ${why}`,
});
