// The resources our processes read and write: one constant each, so that no path is spelled twice.
import type {
  APIService,
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  ControllerRevision,
  CoreEvent,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  Job,
  KubeObject,
  KubeVirt,
  Lease,
  MigrationPolicy,
  MutatingWebhookConfiguration,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Plugin,
  Pod,
  PodDisruptionBudget,
  PriorityClass,
  ResourceQuota,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  StorageClass,
  SubjectAccessReview,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
  VirtualMachine,
  VirtualMachineBackup,
  VirtualMachineBackupTracker,
  VirtualMachineClone,
  VirtualMachineClusterInstancetype,
  VirtualMachineClusterPreference,
  VirtualMachineExport,
  VirtualMachineInstance,
  VirtualMachineInstanceMigration,
  VirtualMachineInstancePreset,
  VirtualMachineInstanceReplicaSet,
  VirtualMachineInstancetype,
  VirtualMachinePool,
  VirtualMachinePreference,
  VirtualMachineRestore,
  VirtualMachineSnapshot,
  VirtualMachineSnapshotContent,
} from '../api/index.js';
import type { Resource } from './types.js';

const resource = <T extends KubeObject>(apiVersion: string, plural: string, kind: string, namespaced = true): Resource<T> => {
  const at = apiVersion.indexOf('/');
  return { group: at < 0 ? '' : apiVersion.slice(0, at), version: apiVersion.slice(at + 1), plural, kind, namespaced };
};

export const VIRTUAL_MACHINES = resource<VirtualMachine>('kubevirt.io/v1', 'virtualmachines', 'VirtualMachine');
export const VIRTUAL_MACHINE_INSTANCES = resource<VirtualMachineInstance>(
  'kubevirt.io/v1',
  'virtualmachineinstances',
  'VirtualMachineInstance',
);
export const KUBEVIRTS = resource<KubeVirt>('kubevirt.io/v1', 'kubevirts', 'KubeVirt');
export const VIRTUAL_MACHINE_INSTANCE_REPLICA_SETS = resource<VirtualMachineInstanceReplicaSet>(
  'kubevirt.io/v1',
  'virtualmachineinstancereplicasets',
  'VirtualMachineInstanceReplicaSet',
);
export const VIRTUAL_MACHINE_INSTANCE_PRESETS = resource<VirtualMachineInstancePreset>(
  'kubevirt.io/v1',
  'virtualmachineinstancepresets',
  'VirtualMachineInstancePreset',
);
export const VIRTUAL_MACHINE_INSTANCE_MIGRATIONS = resource<VirtualMachineInstanceMigration>(
  'kubevirt.io/v1',
  'virtualmachineinstancemigrations',
  'VirtualMachineInstanceMigration',
);
export const VIRTUAL_MACHINE_POOLS = resource<VirtualMachinePool>('pool.kubevirt.io/v1beta1', 'virtualmachinepools', 'VirtualMachinePool');
export const VIRTUAL_MACHINE_SNAPSHOTS = resource<VirtualMachineSnapshot>(
  'snapshot.kubevirt.io/v1beta1',
  'virtualmachinesnapshots',
  'VirtualMachineSnapshot',
);
export const VIRTUAL_MACHINE_SNAPSHOT_CONTENTS = resource<VirtualMachineSnapshotContent>(
  'snapshot.kubevirt.io/v1beta1',
  'virtualmachinesnapshotcontents',
  'VirtualMachineSnapshotContent',
);
export const VIRTUAL_MACHINE_RESTORES = resource<VirtualMachineRestore>(
  'snapshot.kubevirt.io/v1beta1',
  'virtualmachinerestores',
  'VirtualMachineRestore',
);
export const VIRTUAL_MACHINE_EXPORTS = resource<VirtualMachineExport>(
  'export.kubevirt.io/v1',
  'virtualmachineexports',
  'VirtualMachineExport',
);
export const VIRTUAL_MACHINE_CLONES = resource<VirtualMachineClone>(
  'clone.kubevirt.io/v1beta1',
  'virtualmachineclones',
  'VirtualMachineClone',
);
export const VIRTUAL_MACHINE_INSTANCETYPES = resource<VirtualMachineInstancetype>(
  'instancetype.kubevirt.io/v1beta1',
  'virtualmachineinstancetypes',
  'VirtualMachineInstancetype',
);
export const VIRTUAL_MACHINE_CLUSTER_INSTANCETYPES = resource<VirtualMachineClusterInstancetype>(
  'instancetype.kubevirt.io/v1beta1',
  'virtualmachineclusterinstancetypes',
  'VirtualMachineClusterInstancetype',
  false,
);
export const VIRTUAL_MACHINE_PREFERENCES = resource<VirtualMachinePreference>(
  'instancetype.kubevirt.io/v1beta1',
  'virtualmachinepreferences',
  'VirtualMachinePreference',
);
export const VIRTUAL_MACHINE_CLUSTER_PREFERENCES = resource<VirtualMachineClusterPreference>(
  'instancetype.kubevirt.io/v1beta1',
  'virtualmachineclusterpreferences',
  'VirtualMachineClusterPreference',
  false,
);
export const MIGRATION_POLICIES = resource<MigrationPolicy>(
  'migrations.kubevirt.io/v1alpha1',
  'migrationpolicies',
  'MigrationPolicy',
  false,
);
export const VIRTUAL_MACHINE_BACKUPS = resource<VirtualMachineBackup>(
  'backup.kubevirt.io/v1alpha1',
  'virtualmachinebackups',
  'VirtualMachineBackup',
);
export const VIRTUAL_MACHINE_BACKUP_TRACKERS = resource<VirtualMachineBackupTracker>(
  'backup.kubevirt.io/v1alpha1',
  'virtualmachinebackuptrackers',
  'VirtualMachineBackupTracker',
);
export const PLUGINS = resource<Plugin>('plugin.kubevirt.io/v1alpha1', 'plugins', 'Plugin', false);

export const PODS = resource<Pod>('v1', 'pods', 'Pod');
export const NODES = resource<Node>('v1', 'nodes', 'Node', false);
export const NAMESPACES = resource<Namespace>('v1', 'namespaces', 'Namespace', false);
export const SERVICES = resource<Service>('v1', 'services', 'Service');
export const SECRETS = resource<Secret>('v1', 'secrets', 'Secret');
export const CONFIG_MAPS = resource<ConfigMap>('v1', 'configmaps', 'ConfigMap');
export const SERVICE_ACCOUNTS = resource<ServiceAccount>('v1', 'serviceaccounts', 'ServiceAccount');
export const PERSISTENT_VOLUME_CLAIMS = resource<PersistentVolumeClaim>('v1', 'persistentvolumeclaims', 'PersistentVolumeClaim');
export const RESOURCE_QUOTAS = resource<ResourceQuota>('v1', 'resourcequotas', 'ResourceQuota');
export const EVENTS = resource<CoreEvent>('v1', 'events', 'Event');
export const STORAGE_CLASSES = resource<StorageClass>('storage.k8s.io/v1', 'storageclasses', 'StorageClass', false);
export const CONTROLLER_REVISIONS = resource<ControllerRevision>('apps/v1', 'controllerrevisions', 'ControllerRevision');
export const DEPLOYMENTS = resource<Deployment>('apps/v1', 'deployments', 'Deployment');
export const DAEMON_SETS = resource<DaemonSet>('apps/v1', 'daemonsets', 'DaemonSet');
export const JOBS = resource<Job>('batch/v1', 'jobs', 'Job');
export const LEASES = resource<Lease>('coordination.k8s.io/v1', 'leases', 'Lease');
export const PRIORITY_CLASSES = resource<PriorityClass>('scheduling.k8s.io/v1', 'priorityclasses', 'PriorityClass', false);
export const POD_DISRUPTION_BUDGETS = resource<PodDisruptionBudget>('policy/v1', 'poddisruptionbudgets', 'PodDisruptionBudget');
export const ROLES = resource<Role>('rbac.authorization.k8s.io/v1', 'roles', 'Role');
export const ROLE_BINDINGS = resource<RoleBinding>('rbac.authorization.k8s.io/v1', 'rolebindings', 'RoleBinding');
export const CLUSTER_ROLES = resource<ClusterRole>('rbac.authorization.k8s.io/v1', 'clusterroles', 'ClusterRole', false);
export const CLUSTER_ROLE_BINDINGS = resource<ClusterRoleBinding>(
  'rbac.authorization.k8s.io/v1',
  'clusterrolebindings',
  'ClusterRoleBinding',
  false,
);
export const CUSTOM_RESOURCE_DEFINITIONS = resource<CustomResourceDefinition>(
  'apiextensions.k8s.io/v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
);
export const API_SERVICES = resource<APIService>('apiregistration.k8s.io/v1', 'apiservices', 'APIService', false);
export const VALIDATING_WEBHOOK_CONFIGURATIONS = resource<ValidatingWebhookConfiguration>(
  'admissionregistration.k8s.io/v1',
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
  false,
);
export const MUTATING_WEBHOOK_CONFIGURATIONS = resource<MutatingWebhookConfiguration>(
  'admissionregistration.k8s.io/v1',
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
  false,
);
export const VALIDATING_ADMISSION_POLICIES = resource<ValidatingAdmissionPolicy>(
  'admissionregistration.k8s.io/v1',
  'validatingadmissionpolicies',
  'ValidatingAdmissionPolicy',
  false,
);
export const VALIDATING_ADMISSION_POLICY_BINDINGS = resource<ValidatingAdmissionPolicyBinding>(
  'admissionregistration.k8s.io/v1',
  'validatingadmissionpolicybindings',
  'ValidatingAdmissionPolicyBinding',
  false,
);
export const SUBJECT_ACCESS_REVIEWS = resource<SubjectAccessReview>(
  'authorization.k8s.io/v1',
  'subjectaccessreviews',
  'SubjectAccessReview',
  false,
);

export interface InstancetypeObject extends KubeObject {
  readonly spec?: unknown;
}

const instancetypes = (plural: string, kind: string, namespaced: boolean): Resource<InstancetypeObject> =>
  resource<InstancetypeObject>('instancetype.kubevirt.io/v1beta1', plural, kind, namespaced);

/** Instance types and preferences, by their kind. */
export const INSTANCETYPES = {
  VirtualMachineInstancetype: instancetypes('virtualmachineinstancetypes', 'VirtualMachineInstancetype', true),
  VirtualMachineClusterInstancetype: instancetypes('virtualmachineclusterinstancetypes', 'VirtualMachineClusterInstancetype', false),
  VirtualMachinePreference: instancetypes('virtualmachinepreferences', 'VirtualMachinePreference', true),
  VirtualMachineClusterPreference: instancetypes('virtualmachineclusterpreferences', 'VirtualMachineClusterPreference', false),
} as const;

/** Of CDI and of the snapshot controller: a cluster may serve neither. */
export const DATA_VOLUMES = resource<KubeObject>('cdi.kubevirt.io/v1beta1', 'datavolumes', 'DataVolume');
export const DATA_SOURCES = resource<KubeObject>('cdi.kubevirt.io/v1beta1', 'datasources', 'DataSource');
export const VOLUME_SNAPSHOTS = resource<KubeObject>('snapshot.storage.k8s.io/v1', 'volumesnapshots', 'VolumeSnapshot');
