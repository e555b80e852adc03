// The matrix of roles and verbs against the roles that are installed: pure, no cluster.
import { describe, expect, it } from 'vitest';
import type { ClusterRole, ClusterRoleBinding } from '../../src/api/index.js';
import { crds } from '../../src/api/schema/crds.js';
import { userRbac } from '../../src/operators/installer/manifests/rbac-users.js';
import { GROUP_PATHS, SUBRESOURCES } from '../../src/subresources/verbs.js';
import { CLUSTER_ROLE, KIND_ROWS, type Question, ROLES, type RoleName, SUBRESOURCE_ROWS, titleOf } from '../e2e/access-matrix.js';

const objects = userRbac(true);
const roleNamed = (name: string): ClusterRole | undefined =>
  objects.find((object): object is ClusterRole => object.kind === 'ClusterRole' && object.metadata.name === name);

function allows(role: RoleName, { group, resource, subresource, verb }: Question): boolean {
  const target = subresource ? `${resource}/${subresource}` : resource;
  return (roleNamed(CLUSTER_ROLE[role])?.rules ?? []).some(
    ({ apiGroups = [], resources = [], verbs }) => apiGroups.includes(group) && resources.includes(target) && verbs.includes(verb),
  );
}

describe('matrix', () => {
  it.each([...SUBRESOURCE_ROWS, ...KIND_ROWS].map((row) => [titleOf(row), row] as const))('%s', (_title, row) => {
    expect(ROLES.filter((role) => allows(role, row))).toEqual(row.allowed);
  });

  it('asks about every subresource that is served, and about no other', () => {
    const verb = { GET: 'get', PUT: 'update' } as const;
    const served = SUBRESOURCES.map(({ resource, name, method }) => `${verb[method]} ${resource}/${name.replace(/\/:.*/, '')}`);
    // Open to everybody, or guarded by the KubeVirt CR instead of a role.
    const unguarded = /healthz|profiler/;
    const alone = GROUP_PATHS.filter(({ path }) => !unguarded.test(path)).map(
      ({ path, method }) => `${verb[method]} ${path.split('/').at(-1)}`,
    );
    expect(SUBRESOURCE_ROWS.map(titleOf).sort()).toEqual([...new Set([...served, ...alone])].sort());
  });

  it('asks about every kind', () => {
    const kinds = crds().map(({ spec }) => `${spec.names.plural}.${spec.group}`);
    expect([...new Set(KIND_ROWS.map(({ resource, group }) => `${resource}.${group}`))].sort()).toEqual([...kinds].sort());
  });
});

describe('bindings', () => {
  const bindings = objects.filter((object): object is ClusterRoleBinding => object.kind === 'ClusterRoleBinding');

  it('bind everybody who is logged in to the two harmless roles, and nobody to more', () => {
    expect(bindings.map(({ roleRef, subjects }) => [roleRef.name, subjects?.map(({ kind, name }) => `${kind} ${name}`)])).toEqual([
      ['kubevirt.io:default', ['Group system:authenticated']],
      ['instancetype.kubevirt.io:view', ['Group system:authenticated']],
    ]);
  });

  it.each([
    ['kubevirt.io:admin', { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' }],
    ['kubevirt.io:edit', { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' }],
    ['kubevirt.io:view', { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }],
    ['kubevirt.io:migrate', {}],
    ['kubevirt.io:default', { 'kubernetes.io/bootstrapping': 'rbac-defaults' }],
    ['instancetype.kubevirt.io:view', {}],
  ])('%s has the labels of its role', (name, labels) => {
    expect(roleNamed(name)?.metadata.labels).toEqual({ 'kubevirt.io': '', ...labels });
  });
});
