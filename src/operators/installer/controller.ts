// Wires the installer into a manager: which changes lead to which reconcile. Called by virt-operator's main.
import { keyOf } from '../../api/index.js';
import { KUBEVIRTS, NODES } from '../../runtime/resources.js';
import type { Controller, Manager } from '../../runtime/types.js';
import { CERTIFIER, type Certifier } from './certificates/certificate-keeper.js';
import { changesShape, clusterShape } from './cluster-shape.js';
import type { InstallEnv } from './install-context.js';
import { watchManaged } from './managed.js';
import { reconcileKubeVirt } from './reconciler.js';

export function startInstaller(manager: Manager, env: InstallEnv, certifier: Certifier = CERTIFIER): Controller {
  const kubevirts = manager.informer(KUBEVIRTS);
  const nodes = manager.informer(NODES);
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
      { informer: nodes, keys: (node, old) => (changesShape(node, old) ? allKeys() : []) },
    ],
    reconcile: reconcileKubeVirt({
      client: manager.client,
      certifier,
      env,
      kinds,
      kubevirts: () => kubevirts.store.list(),
      shape: () => clusterShape(nodes.store.list()),
    }),
  });
  return controller;
}
