// Wires the installer into a manager: which changes lead to which reconcile. Called by virt-operator's main.
import { keyOf, LABEL } from '../../api/index.js';
import { KUBEVIRTS, NODES, PODS } from '../../runtime/resources.js';
import type { Controller, Manager } from '../../runtime/types.js';
import { CERTIFIER, type Certifier } from './certificates/certificate-keeper.js';
import { changesShape, clusterShape } from './cluster-shape.js';
import type { InstallEnv } from './install-context.js';
import { watchManaged } from './managed.js';
import { troubleOf } from './pod-trouble.js';
import { reconcileKubeVirt } from './reconciler.js';

/** On the pods of every component, and not on launchers. */
const COMPONENT_PODS = 'prometheus.kubevirt.io=true';
const BY_COMPONENT = 'component';

export function startInstaller(manager: Manager, env: InstallEnv, certifier: Certifier = CERTIFIER): Controller {
  const kubevirts = manager.informer(KUBEVIRTS);
  const nodes = manager.informer(NODES);
  const pods = manager.informer(PODS, { namespace: env.namespace, labelSelector: COMPONENT_PODS });
  pods.addIndex(BY_COMPONENT, ({ metadata }) => [metadata.labels?.[LABEL.app] ?? '']);
  const allKeys = (): string[] => kubevirts.store.list().map(keyOf);
  // Declared below, used by handlers that run only after the manager has started.
  let controller: Controller | undefined;
  const kinds = watchManaged(manager, env.namespace, () => {
    for (const key of allKeys()) controller?.enqueue(key);
  });
  controller = manager.controller({
    name: 'virt-operator',
    workers: 1,
    sources: [
      // When the active CR goes, the next may take its place.
      { informer: kubevirts, keys: (kv) => [...new Set([keyOf(kv), ...allKeys()])] },
      // While a workload is not ready its pods say why.
      { informer: pods, keys: (pod, old) => (troubleOf([pod]) === (old && troubleOf([old])) ? [] : allKeys()) },
      { informer: nodes, keys: (node, old) => (changesShape(node, old) ? allKeys() : []) },
    ],
    reconcile: reconcileKubeVirt({
      client: manager.client,
      certifier,
      env,
      kinds,
      kubevirts: () => kubevirts.store.list(),
      podsOf: (component) => pods.store.byIndex(BY_COMPONENT, component),
      shape: () => clusterShape(nodes.store.list()),
    }),
  });
  return controller;
}
