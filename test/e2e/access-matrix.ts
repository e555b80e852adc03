// Who may do what with the API: each role beside each subresource and each kind. Written down here once; asked of the rendered roles
// by test/golden/access.test.ts and of a real API server by the journey of this name. Pure.

export const ROLES = ['admin', 'edit', 'view', 'migrate', 'default', 'instancetype'] as const;
export type RoleName = (typeof ROLES)[number];

/** The ClusterRole of each; `default` and `instancetype` are bound to everybody who is logged in. */
export const CLUSTER_ROLE: Readonly<Record<RoleName, string>> = {
  admin: 'kubevirt.io:admin',
  edit: 'kubevirt.io:edit',
  view: 'kubevirt.io:view',
  migrate: 'kubevirt.io:migrate',
  default: 'kubevirt.io:default',
  instancetype: 'instancetype.kubevirt.io:view',
};

export interface Question {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly namespaced: boolean;
}

export interface Row extends Question {
  readonly allowed: readonly RoleName[];
}

const SUBRESOURCES = 'subresources.kubevirt.io';
const NOBODY: readonly RoleName[] = [];
const OPERATORS: readonly RoleName[] = ['admin', 'edit'];
const READERS: readonly RoleName[] = ['admin', 'edit', 'view'];

const of = (resource: string, verb: string, allowed: readonly RoleName[], names: string): Row[] =>
  names.split(' ').map((subresource) => ({ group: SUBRESOURCES, resource, subresource, verb, namespaced: true, allowed }));

const alone = (resource: string, verb: string, allowed: readonly RoleName[], namespaced = false): Row => ({
  group: SUBRESOURCES,
  resource,
  verb,
  namespaced,
  allowed,
});

/** Every verb of docs/subresources.md. */
export const SUBRESOURCE_ROWS: readonly Row[] = [
  ...of('virtualmachines', 'update', OPERATORS, 'start stop restart addvolume removevolume memorydump removememorydump evacuate/cancel'),
  ...of('virtualmachines', 'update', ['migrate'], 'migrate'),
  ...of('virtualmachines', 'get', READERS, 'expand-spec objectgraph'),
  ...of('virtualmachines', 'get', OPERATORS, 'portforward'),
  ...of(
    'virtualmachineinstances',
    'update',
    OPERATORS,
    'pause unpause freeze unfreeze reset softreboot addvolume removevolume sev/setupsession sev/injectlaunchsecret evacuate/cancel',
  ),
  ...of('virtualmachineinstances', 'update', NOBODY, 'backup redefine-checkpoint'),
  ...of('virtualmachineinstances', 'get', OPERATORS, 'console vnc portforward usbredir'),
  // A picture shows more than a console that somebody must log in to.
  ...of('virtualmachineinstances', 'get', ['admin'], 'vnc/screenshot'),
  ...of('virtualmachineinstances', 'get', NOBODY, 'vsock'),
  ...of(
    'virtualmachineinstances',
    'get',
    READERS,
    'guestosinfo userlist filesystemlist objectgraph sev/fetchcertchain sev/querylaunchmeasurement',
  ),
  alone('expand-vm-spec', 'update', READERS, true),
  alone('version', 'get', ['default']),
  alone('guestfs', 'get', ['default']),
];

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'update', 'patch', 'delete'];
export const VERBS = [...READ, ...WRITE, 'deletecollection'] as const;

interface Kind {
  readonly group: string;
  readonly resource: string;
  readonly namespaced?: false;
  /** Roles beyond the usual: admin everything, edit all but deletecollection, view reads. */
  readonly roles?: Readonly<Partial<Record<RoleName, readonly string[]>>>;
}

const USUAL: Readonly<Partial<Record<RoleName, readonly string[]>>> = { admin: VERBS, edit: [...READ, ...WRITE], view: READ };
const READ_BY_ALL = { admin: READ, edit: READ, view: READ };
const CLUSTER_TYPES = { ...USUAL, instancetype: READ };

const KINDS: readonly Kind[] = [
  { group: 'kubevirt.io', resource: 'virtualmachines' },
  { group: 'kubevirt.io', resource: 'virtualmachineinstances' },
  { group: 'kubevirt.io', resource: 'virtualmachineinstancepresets' },
  { group: 'kubevirt.io', resource: 'virtualmachineinstancereplicasets' },
  { group: 'kubevirt.io', resource: 'virtualmachineinstancemigrations', roles: { ...READ_BY_ALL, migrate: VERBS } },
  { group: 'kubevirt.io', resource: 'kubevirts', roles: { edit: ['get', 'list'], view: ['get', 'list'], default: ['get', 'list'] } },
  { group: 'pool.kubevirt.io', resource: 'virtualmachinepools' },
  { group: 'snapshot.kubevirt.io', resource: 'virtualmachinesnapshots' },
  { group: 'snapshot.kubevirt.io', resource: 'virtualmachinesnapshotcontents' },
  { group: 'snapshot.kubevirt.io', resource: 'virtualmachinerestores' },
  { group: 'backup.kubevirt.io', resource: 'virtualmachinebackups' },
  { group: 'backup.kubevirt.io', resource: 'virtualmachinebackuptrackers' },
  { group: 'export.kubevirt.io', resource: 'virtualmachineexports' },
  { group: 'clone.kubevirt.io', resource: 'virtualmachineclones' },
  { group: 'instancetype.kubevirt.io', resource: 'virtualmachineinstancetypes' },
  { group: 'instancetype.kubevirt.io', resource: 'virtualmachinepreferences' },
  { group: 'instancetype.kubevirt.io', resource: 'virtualmachineclusterinstancetypes', namespaced: false, roles: CLUSTER_TYPES },
  { group: 'instancetype.kubevirt.io', resource: 'virtualmachineclusterpreferences', namespaced: false, roles: CLUSTER_TYPES },
  { group: 'migrations.kubevirt.io', resource: 'migrationpolicies', namespaced: false, roles: READ_BY_ALL },
  { group: 'plugin.kubevirt.io', resource: 'plugins', namespaced: false, roles: { admin: VERBS, view: READ } },
];

export const KIND_ROWS: readonly Row[] = KINDS.flatMap(({ group, resource, namespaced = true, roles = USUAL }) =>
  VERBS.map((verb) => ({ group, resource, verb, namespaced, allowed: ROLES.filter((role) => roles[role]?.includes(verb)) })),
);

export const titleOf = ({ group, resource, subresource, verb }: Question): string =>
  `${verb} ${resource}${subresource ? `/${subresource}` : ''}${group === SUBRESOURCES ? '' : `.${group}`}`;
