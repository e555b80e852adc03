// The kinds that the operator manages, and the order in which they go. Everything it creates carries one label, by which its
// informers find it again. Kinds that others bring, or that come only with the installation, are followed from when they are served.
import { type CustomResourceDefinition, type KubeObject, LABEL } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import * as resources from '../../runtime/resources.js';
import type { Informer, Manager, Resource, Store } from '../../runtime/types.js';
import { PROMETHEUS_RULES, SERVICE_MONITORS } from './manifests/monitoring.js';
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

const clusterKind = (plural: string, kind: string): Resource<KubeObject> => ({
  group: 'instancetype.kubevirt.io',
  version: 'v1beta1',
  plural,
  kind,
  namespaced: false,
});

/** Of our own CRDs: their objects go with them. */
const COMMON: readonly Resource<KubeObject>[] = [
  clusterKind('virtualmachineclusterinstancetypes', 'VirtualMachineClusterInstancetype'),
  clusterKind('virtualmachineclusterpreferences', 'VirtualMachineClusterPreference'),
];
/** Of the Prometheus operator. */
const MONITORING: readonly Resource<KubeObject>[] = [SERVICE_MONITORS, PROMETHEUS_RULES];

export interface ManagedKind {
  readonly resource: Resource<KubeObject>;
  readonly store: Store<KubeObject>;
}

export interface ManagedKinds {
  readonly crds: ManagedKind;
  /** Served by every cluster; in the order of deletion. */
  readonly others: readonly ManagedKind[];
  of(object: KubeObject): ManagedKind;
  /** Kinds of our own CRDs; undefined until all are served and read. */
  common(): readonly ManagedKind[] | undefined;
  /** Undefined until (or unless) the cluster has the Prometheus operator's kinds. */
  monitoring(): readonly ManagedKind[] | undefined;
  /** A served kind of these two is not read yet: what is there of it, and what not, is unknown. */
  isReading(): boolean;
}

/** Declares the informers; `onChange` hears of every change of a managed object. */
export function watchManaged(manager: Manager, namespace: string, onChange: () => void): ManagedKinds {
  const follow = (resource: Resource<KubeObject>, whenServed = false): Informer<KubeObject> => {
    const scope = OWN_NAMESPACE_ONLY.has(resource.kind) ? { namespace } : {};
    const informer = manager.informer(resource, { labelSelector: MANAGED_SELECTOR, ...scope, ...(whenServed ? { whenServed } : {}) });
    informer.on({ added: onChange, updated: onChange, deleted: onChange });
    return informer;
  };
  const watch = (resource: Resource<KubeObject>): ManagedKind => ({ resource, store: follow(resource).store });
  const crds = watch(resources.CUSTOM_RESOURCE_DEFINITIONS);
  const others = DELETION_ORDER.map(watch);
  const byKind = new Map([crds, ...others].map((kind) => [kind.resource.kind, kind]));
  const late = new Map<string, Informer<KubeObject>>();
  const lateKinds = (wanted: readonly Resource<KubeObject>[]): readonly ManagedKind[] | undefined => {
    const informers = wanted.map((resource) => {
      const informer = late.get(resource.kind) ?? follow(resource, true);
      late.set(resource.kind, informer);
      return informer;
    });
    if (!informers.every((informer) => informer.hasSynced())) return undefined;
    const kinds = informers.map(({ resource, store }) => ({ resource, store }));
    for (const kind of kinds) byKind.set(kind.resource.kind, kind);
    return kinds;
  };
  const foreign = MONITORING.map((resource) => watchCrd(manager, crdName(resource), onChange));
  const isCommonServed = (): boolean => COMMON.every((resource) => isEstablished(crds.store.get(crdName(resource))));
  const isMonitoringServed = (): boolean => foreign.every((store) => store.list().some(isEstablished));
  const common = (): readonly ManagedKind[] | undefined => (isCommonServed() ? lateKinds(COMMON) : undefined);
  const monitoring = (): readonly ManagedKind[] | undefined => (isMonitoringServed() ? lateKinds(MONITORING) : undefined);
  return {
    crds,
    others,
    of(object) {
      const found = byKind.get(object.kind ?? '');
      if (!found) throw new KvError('Internal', `the operator does not manage objects of kind ${object.kind}`);
      return found;
    },
    common,
    monitoring,
    isReading: () => (isCommonServed() && !common()) || (isMonitoringServed() && !monitoring()),
  };
}

const crdName = ({ plural, group }: Resource<KubeObject>): string => `${plural}.${group}`;

function watchCrd(manager: Manager, name: string, onChange: () => void): Store<KubeObject> {
  const informer = manager.informer<KubeObject>(resources.CUSTOM_RESOURCE_DEFINITIONS, { fieldSelector: `metadata.name=${name}` });
  informer.on({ added: onChange, updated: onChange, deleted: onChange });
  return informer.store;
}

function isEstablished(object: KubeObject | undefined): boolean {
  const crd = object as CustomResourceDefinition | undefined;
  if (!crd || crd.metadata.deletionTimestamp) return false;
  return crd.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
}
