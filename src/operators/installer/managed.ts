// The kinds that the operator manages, and the order in which they go. Everything it creates carries one label, by which its
// informers find it again.
import { type KubeObject, LABEL } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import * as resources from '../../runtime/resources.js';
import type { Manager, Resource, Store } from '../../runtime/types.js';
import { OPERATOR_NAME } from './manifests/names.js';

export const MANAGED_SELECTOR = `${LABEL.managedBy}=${OPERATOR_NAME}`;

/** In the order of deletion, after the CRDs: who serves goes before what it needs. */
const DELETION_ORDER: readonly Resource<KubeObject>[] = [
  resources.DAEMON_SETS,
  resources.POD_DISRUPTION_BUDGETS,
  resources.DEPLOYMENTS,
  resources.VALIDATING_WEBHOOK_CONFIGURATIONS,
  resources.MUTATING_WEBHOOK_CONFIGURATIONS,
  resources.API_SERVICES,
  resources.SERVICES,
  resources.CLUSTER_ROLE_BINDINGS,
  resources.CLUSTER_ROLES,
  resources.ROLE_BINDINGS,
  resources.ROLES,
  resources.SERVICE_ACCOUNTS,
  resources.SECRETS,
  resources.CONFIG_MAPS,
  resources.VALIDATING_ADMISSION_POLICY_BINDINGS,
  resources.VALIDATING_ADMISSION_POLICIES,
];

/** Only in the install namespace: what the operator may not, or need not, read elsewhere. RoleBindings also lie in kube-system. */
const OWN_NAMESPACE_ONLY = new Set(['Secret', 'ConfigMap', 'ServiceAccount', 'Service', 'Deployment', 'DaemonSet', 'PodDisruptionBudget']);

export interface ManagedKind {
  readonly resource: Resource<KubeObject>;
  readonly store: Store<KubeObject>;
}

export interface ManagedKinds {
  readonly crds: ManagedKind;
  readonly others: readonly ManagedKind[];
  of(object: KubeObject): ManagedKind;
}

/** Declares the informers; `onChange` hears of every change of a managed object. */
export function watchManaged(manager: Manager, namespace: string, onChange: () => void): ManagedKinds {
  const watch = (resource: Resource<KubeObject>): ManagedKind => {
    const scope = OWN_NAMESPACE_ONLY.has(resource.kind) ? { namespace } : {};
    const informer = manager.informer(resource, { labelSelector: MANAGED_SELECTOR, ...scope });
    informer.on({ added: onChange, updated: onChange, deleted: onChange });
    return { resource, store: informer.store };
  };
  const crds = watch(resources.CUSTOM_RESOURCE_DEFINITIONS);
  const others = DELETION_ORDER.map(watch);
  const byKind = new Map([crds, ...others].map((kind) => [kind.resource.kind, kind]));
  return {
    crds,
    others,
    of(object) {
      const found = byKind.get(object.kind ?? '');
      if (!found) throw new KvError('Internal', `the operator does not manage objects of kind ${object.kind}`);
      return found;
    },
  };
}
