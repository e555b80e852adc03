// What each component may do, and its account. The node agent's rights are the smallest: it runs on every node. Pure.
import { ACCOUNT } from './names.js';
import {
  accountSubject,
  clusterRole,
  clusterRoleBinding,
  type PolicyRule,
  READ,
  role,
  roleBinding,
  rule,
  serviceAccount,
  WRITE,
} from './rbac.js';

const INSTANCETYPES =
  'virtualmachineinstancetypes virtualmachineclusterinstancetypes virtualmachinepreferences virtualmachineclusterpreferences';

const READ_CONFIGURATION = [rule('apiextensions.k8s.io', 'customresourcedefinitions', READ), rule('kubevirt.io', 'kubevirts', READ)];

export const API_RULES: readonly PolicyRule[] = [
  rule('', 'pods', 'get list delete patch'),
  rule('kubevirt.io', 'virtualmachines virtualmachineinstances', 'get list watch patch update'),
  rule('', 'persistentvolumeclaims', 'get list'),
  rule('kubevirt.io', 'virtualmachines/status', 'patch'),
  rule('kubevirt.io', 'virtualmachineinstancemigrations', 'create get list watch patch'),
  rule('kubevirt.io', 'virtualmachineinstancepresets', 'watch list'),
  rule('', 'configmaps', READ),
  rule('', 'limitranges', 'watch list'),
  ...READ_CONFIGURATION,
  rule('snapshot.kubevirt.io', 'virtualmachinesnapshots virtualmachinerestores virtualmachinesnapshotcontents', READ),
  rule('backup.kubevirt.io', 'virtualmachinebackups', READ),
  rule('backup.kubevirt.io', 'virtualmachinebackuptrackers', READ),
  rule('cdi.kubevirt.io', 'datasources datavolumes', READ),
  rule('', 'namespaces', READ),
  rule('instancetype.kubevirt.io', INSTANCETYPES, READ),
  rule('migrations.kubevirt.io', 'migrationpolicies', READ),
  rule('apps', 'controllerrevisions', 'create list get'),
  rule('', 'nodes', 'get'),
];

const withParts = (resource: string, ...parts: readonly string[]): string =>
  [resource, ...parts.map((part) => `${resource}/${part}`)].join(' ');

export const CONTROLLER_RULES: readonly PolicyRule[] = [
  rule('', 'namespaces', 'get list watch patch'),
  rule('policy', 'poddisruptionbudgets', 'get list watch delete create patch'),
  rule('', 'pods configmaps endpoints services', 'get list watch delete update create patch'),
  rule('', 'events', 'update create patch'),
  rule('', 'secrets', 'create'),
  rule('', 'pods/finalizers', 'update'),
  rule('', 'pods/eviction', 'create'),
  rule('', 'pods/status', 'patch'),
  rule('', 'nodes', 'get list watch update patch'),
  rule('apps', 'daemonsets', 'list'),
  rule('apps', 'controllerrevisions', 'watch list create delete get update'),
  rule('', 'persistentvolumeclaims', 'get list watch create update delete patch'),
  rule(
    'snapshot.kubevirt.io',
    [
      withParts('virtualmachinesnapshots', 'status', 'finalizers'),
      withParts('virtualmachinesnapshotcontents', 'status', 'finalizers'),
      withParts('virtualmachinerestores', 'status'),
    ].join(' '),
    WRITE,
  ),
  rule('export.kubevirt.io', withParts('virtualmachineexports', 'status', 'finalizers'), WRITE),
  rule('backup.kubevirt.io', withParts('virtualmachinebackups', 'status', 'finalizers'), WRITE),
  rule('backup.kubevirt.io', withParts('virtualmachinebackuptrackers', 'status'), WRITE),
  rule('template.kubevirt.io', 'virtualmachinetemplates', READ),
  rule('pool.kubevirt.io', withParts('virtualmachinepools', 'finalizers', 'status', 'scale'), 'watch list create delete update patch get'),
  rule('kubevirt.io', '*', '*'),
  rule('kubevirt.io', 'virtualmachines/finalizers virtualmachineinstances/finalizers', 'update'),
  rule(
    'subresources.kubevirt.io',
    [
      'virtualmachines/stop',
      ...['addvolume', 'removevolume', 'backup', 'redefine-checkpoint', 'freeze', 'unfreeze', 'reset', 'softreboot'].map(
        (verb) => `virtualmachineinstances/${verb}`,
      ),
      'virtualmachineinstances/sev/setupsession',
      'virtualmachineinstances/sev/injectlaunchsecret',
    ].join(' '),
    'update',
  ),
  rule('cdi.kubevirt.io', '*', '*'),
  rule('apiextensions.k8s.io', 'customresourcedefinitions', READ),
  rule('authorization.k8s.io', 'subjectaccessreviews', 'create'),
  rule('snapshot.storage.k8s.io', 'volumesnapshotclasses', READ),
  rule('snapshot.storage.k8s.io', 'volumesnapshots', 'get list watch create update delete'),
  rule('storage.k8s.io', 'storageclasses', READ),
  rule('instancetype.kubevirt.io', INSTANCETYPES, READ),
  rule('migrations.kubevirt.io', 'migrationpolicies', READ),
  rule('clone.kubevirt.io', withParts('virtualmachineclones', 'status', 'finalizers'), 'get list watch update patch delete'),
  rule('', 'namespaces', 'get'),
  rule('', 'resourcequotas', 'list watch'),
  rule('batch', 'jobs', 'create get delete'),
  rule('resource.k8s.io', 'resourceslices resourceclaims', 'list watch get'),
];

/** While virt-controller itself reads which resources a network needs. */
export const ATTACHMENT_RULES: readonly PolicyRule[] = [rule('k8s.cni.cncf.io', 'network-attachment-definitions', 'get')];

/** Its token lies on every node: only what it uses. The admission policies narrow the writes to its own node and machines. */
export const HANDLER_RULES: readonly PolicyRule[] = [
  rule('kubevirt.io', 'virtualmachineinstances', 'update list watch'),
  rule('kubevirt.io', 'kubevirts', READ),
  rule('plugin.kubevirt.io', 'plugins', 'list'),
  rule('', 'nodes', 'get patch'),
  rule('', 'events', 'create patch'),
];

/** Rights in the install namespace. */
const CONTROLLER_NAMESPACE_RULES: readonly PolicyRule[] = [
  rule('route.openshift.io', 'routes', 'list get watch'),
  rule('', 'secrets', 'list get watch'),
  rule('networking.k8s.io', 'ingresses', 'list get watch'),
  rule('coordination.k8s.io', 'leases', 'get list watch delete update create patch'),
];
const CONFIG_MAP_RULES: readonly PolicyRule[] = [rule('', 'configmaps', READ)];

export const NAMESPACE_RULES: readonly PolicyRule[] = [...CONTROLLER_NAMESPACE_RULES, ...CONFIG_MAP_RULES];

/** What the aggregation layer asks of an API server: to check tokens and rights with the main one. */
export const AUTH_DELEGATOR_RULES: readonly PolicyRule[] = [
  rule('authentication.k8s.io', 'tokenreviews', 'create'),
  rule('authorization.k8s.io', 'subjectaccessreviews', 'create'),
];

type RbacObject =
  | ReturnType<typeof serviceAccount>
  | ReturnType<typeof clusterRole>
  | ReturnType<typeof clusterRoleBinding>
  | ReturnType<typeof role>
  | ReturnType<typeof roleBinding>;

function component(namespace: string, account: string, rules: readonly PolicyRule[], own: readonly PolicyRule[]): RbacObject[] {
  const subject = accountSubject(account, namespace);
  return [
    serviceAccount(account, namespace),
    clusterRole(account, rules),
    clusterRoleBinding(account, account, subject),
    role(account, namespace, own),
    roleBinding(account, namespace, account, subject),
  ];
}

export interface RbacOptions {
  /** virt-controller reads the definitions of secondary networks. */
  readonly attachmentDefinitions: boolean;
}

export function componentRbac(namespace: string, { attachmentDefinitions }: RbacOptions): RbacObject[] {
  const api = accountSubject(ACCOUNT.api, namespace);
  return [
    ...component(namespace, ACCOUNT.api, API_RULES, CONFIG_MAP_RULES),
    clusterRoleBinding('kubevirt-apiserver-auth-delegator', 'system:auth-delegator', api),
    // Where the main API server publishes by which certificate it is to be recognised.
    roleBinding('kubevirt-apiserver', 'kube-system', 'extension-apiserver-authentication-reader', api),
    ...component(
      namespace,
      ACCOUNT.controller,
      attachmentDefinitions ? [...CONTROLLER_RULES, ...ATTACHMENT_RULES] : CONTROLLER_RULES,
      CONTROLLER_NAMESPACE_RULES,
    ),
    ...component(namespace, ACCOUNT.handler, HANDLER_RULES, CONFIG_MAP_RULES),
  ];
}
