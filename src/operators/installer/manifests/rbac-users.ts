// The roles for users: default (everybody), view, edit, admin (aggregated into Kubernetes' own roles of these names) and migrate.
// Pure.
import type { ClusterRole, ClusterRoleBinding } from '../../../api/index.js';
import { AUTHENTICATED, clusterRole, clusterRoleBinding, type PolicyRule, READ, rule } from './rbac.js';

const SUBRESOURCES = 'subresources.kubevirt.io';
const EDIT = ['get', 'delete', 'create', 'update', 'patch', 'list', 'watch'] as const;
const ADMIN = [...EDIT, 'deletecollection'] as const;

const of = (resource: string, names: string): string =>
  names
    .split(' ')
    .map((name) => `${resource}/${name}`)
    .join(' ');

const GUEST_FACTS = 'guestosinfo filesystemlist userlist sev/fetchcertchain sev/querylaunchmeasurement';

const consoles = (screenshot: string): PolicyRule =>
  rule(
    SUBRESOURCES,
    [
      of('virtualmachineinstances', `console vnc ${screenshot}portforward ${GUEST_FACTS} usbredir`),
      'virtualmachines/objectgraph virtualmachineinstances/objectgraph',
    ].join(' '),
    'get',
  );

const OPERATE: readonly PolicyRule[] = [
  rule(
    SUBRESOURCES,
    of(
      'virtualmachineinstances',
      'pause unpause addvolume removevolume freeze unfreeze softreboot reset sev/setupsession sev/injectlaunchsecret evacuate/cancel',
    ),
    'update',
  ),
  rule(SUBRESOURCES, of('virtualmachines', 'expand-spec portforward'), 'get'),
  rule(
    SUBRESOURCES,
    of('virtualmachines', 'start stop restart addvolume removevolume memorydump removememorydump evacuate/cancel'),
    'update',
  ),
  rule(SUBRESOURCES, 'expand-vm-spec', 'update'),
];

const MACHINES = 'virtualmachines virtualmachineinstances virtualmachineinstancepresets virtualmachineinstancereplicasets';
const MIGRATIONS = 'virtualmachineinstancemigrations';
const SNAPSHOTS = 'virtualmachinesnapshots virtualmachinesnapshotcontents virtualmachinerestores';
const BACKUPS = 'virtualmachinebackups virtualmachinebackuptrackers';
const INSTANCETYPES =
  'virtualmachineinstancetypes virtualmachineclusterinstancetypes virtualmachinepreferences virtualmachineclusterpreferences';

const READ_KUBEVIRT = rule('kubevirt.io', 'kubevirts', 'get list');
const READ_POLICIES = rule('migrations.kubevirt.io', 'migrationpolicies', READ);

const objects = (verbs: readonly string[], plugins: readonly PolicyRule[]): PolicyRule[] => [
  rule('snapshot.kubevirt.io', SNAPSHOTS, verbs),
  rule('backup.kubevirt.io', BACKUPS, verbs),
  ...plugins,
  rule('export.kubevirt.io', 'virtualmachineexports', verbs),
  rule('clone.kubevirt.io', 'virtualmachineclones', verbs),
  rule('instancetype.kubevirt.io', INSTANCETYPES, verbs),
  rule('pool.kubevirt.io', 'virtualmachinepools', verbs),
];

export const USER_RULES = {
  default: [READ_KUBEVIRT, rule(SUBRESOURCES, 'version guestfs', 'get list')],
  admin: [
    consoles('vnc/screenshot '),
    ...OPERATE,
    rule('kubevirt.io', MACHINES, ADMIN),
    rule('kubevirt.io', MIGRATIONS, READ),
    ...objects(ADMIN, [rule('plugin.kubevirt.io', 'plugins', ADMIN)]),
    READ_POLICIES,
  ],
  edit: [
    consoles(''),
    ...OPERATE,
    rule('kubevirt.io', MACHINES, EDIT),
    rule('kubevirt.io', MIGRATIONS, READ),
    ...objects(EDIT, []),
    READ_KUBEVIRT,
    READ_POLICIES,
  ],
  view: [
    READ_KUBEVIRT,
    rule(
      SUBRESOURCES,
      `virtualmachines/expand-spec ${of('virtualmachineinstances', GUEST_FACTS)} virtualmachines/objectgraph virtualmachineinstances/objectgraph`,
      'get',
    ),
    rule(SUBRESOURCES, 'expand-vm-spec', 'update'),
    rule('kubevirt.io', `${MACHINES} ${MIGRATIONS}`, READ),
    ...objects(READ, []),
    READ_POLICIES,
    rule('plugin.kubevirt.io', 'plugins', READ),
  ],
  instancetypeView: [rule('instancetype.kubevirt.io', 'virtualmachineclusterinstancetypes virtualmachineclusterpreferences', READ)],
  migrate: [rule(SUBRESOURCES, 'virtualmachines/migrate', 'update'), rule('kubevirt.io', MIGRATIONS, ADMIN)],
} satisfies Record<string, readonly PolicyRule[]>;

/** `aggregate` false (roleAggregationStrategy Manual): the roles exist, but an administrator binds them. */
export function userRbac(aggregate: boolean): (ClusterRole | ClusterRoleBinding)[] {
  const into = (role: string): Record<string, string> => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: String(aggregate) });
  const everybody = { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' } };
  const fallback = clusterRole('kubevirt.io:default', USER_RULES.default, { 'kubernetes.io/bootstrapping': 'rbac-defaults' });
  const binding = clusterRoleBinding('kubevirt.io:default', 'kubevirt.io:default', AUTHENTICATED);
  return [
    { ...fallback, metadata: { ...fallback.metadata, ...everybody } },
    { ...binding, metadata: { ...binding.metadata, ...everybody } },
    clusterRole('kubevirt.io:admin', USER_RULES.admin, into('admin')),
    clusterRole('kubevirt.io:edit', USER_RULES.edit, into('edit')),
    clusterRole('kubevirt.io:view', USER_RULES.view, into('view')),
    clusterRole('kubevirt.io:migrate', USER_RULES.migrate),
    clusterRole('instancetype.kubevirt.io:view', USER_RULES.instancetypeView),
    clusterRoleBinding('instancetype.kubevirt.io:view', 'instancetype.kubevirt.io:view', AUTHENTICATED),
  ];
}
