// What the controllers know about the cluster at this moment: the KubeVirt configuration and whether images can be mounted as
// volumes. Read from informers, so that a change of the CR or of a node counts from the next decision on.
import { type KubeVirt, LABEL, type Node } from '../api/index.js';
import { type ClusterConfig, clusterConfig } from '../core/config/cluster-config.js';
import { servesImageVolumes } from '../core/config/image-volumes.js';
import { KUBEVIRTS, NAMESPACES, NODES, RESOURCE_QUOTAS } from '../runtime/resources.js';
import type { Manager, Store } from '../runtime/types.js';

export interface ClusterFacts {
  config(): ClusterConfig;
  imageVolumes(): boolean;
  /** Labels of a namespace, and the resources that its quotas bound. */
  namespace(name: string): NamespaceFacts;
}

export interface NamespaceFacts {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly quotaResources: ReadonlySet<string>;
}

const QUOTAS_BY_NAMESPACE = 'namespace';

/** The only KubeVirt CR; with several, the oldest counts, as the operator has it. */
function theCr(store: Store<KubeVirt>): KubeVirt | undefined {
  return [...store.list()].sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''))[0];
}

const canRunGuests = (node: Node): boolean => node.metadata.labels?.[LABEL.schedulable] === 'true';

/** Before manager.run(). `kubernetesVersion` is the API server's gitVersion. */
export function clusterFacts(manager: Manager, kubernetesVersion: () => string): ClusterFacts {
  const kubevirts = manager.informer(KUBEVIRTS).store;
  const nodes = manager.informer(NODES).store;
  const namespaces = manager.informer(NAMESPACES).store;
  const quotas = manager.informer(RESOURCE_QUOTAS);
  quotas.addIndex(QUOTAS_BY_NAMESPACE, (quota) => [quota.metadata.namespace ?? '']);
  let cached: { readonly cr: KubeVirt | undefined; readonly config: ClusterConfig } | undefined;
  const config = (): ClusterConfig => {
    const cr = theCr(kubevirts);
    if (!cached || cached.cr !== cr) cached = { cr, config: clusterConfig(cr) };
    return cached.config;
  };
  return {
    config,
    namespace: (name) => ({
      namespaceLabels: namespaces.get(name)?.metadata.labels ?? {},
      quotaResources: new Set(quotas.store.byIndex(QUOTAS_BY_NAMESPACE, name).flatMap((q) => Object.keys(q.spec?.hard ?? {}))),
    }),
    imageVolumes: () =>
      servesImageVolumes({
        isGateOn: config().isEnabled('ImageVolume'),
        kubernetesVersion: kubernetesVersion(),
        runtimes: nodes
          .list()
          .filter(canRunGuests)
          .map((node) => node.status?.nodeInfo?.containerRuntimeVersion ?? ''),
      }),
  };
}
