// What the node agent follows of the cluster besides its VMs: the KubeVirt CR as a configuration snapshot, and the bundle of certificate
// authorities by which it recognises virt-api. Read from informers; nothing is fetched.
import type { KubeVirt } from '../api/index.js';
import { type ClusterConfig, clusterConfig } from '../core/config/cluster-config.js';
import { CONFIG_MAPS, KUBEVIRTS } from '../runtime/resources.js';
import type { Manager } from '../runtime/types.js';

export interface ClusterSettings {
  config(): ClusterConfig;
  /** PEM; undefined until the operator has made it. */
  caBundle(): string | undefined;
}

/** Before manager.run(). */
export function followCluster(manager: Manager, namespace: string, caConfigMap: string): ClusterSettings {
  const kubevirts = manager.informer(KUBEVIRTS).store;
  const maps = manager.informer(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${caConfigMap}` }).store;
  let cached: { readonly cr: KubeVirt | undefined; readonly config: ClusterConfig } | undefined;
  return {
    config() {
      // With several CRs the oldest counts, as the operator has it.
      const [cr] = [...kubevirts.list()].sort((a, b) =>
        (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''),
      );
      if (cached === undefined || cached.cr !== cr) cached = { cr, config: clusterConfig(cr) };
      return cached.config;
    },
    caBundle: () => maps.get(`${namespace}/${caConfigMap}`)?.data?.['ca-bundle'],
  };
}
