// Building blocks of RBAC objects: compact rules, accounts, bindings. Pure.
import {
  type ClusterRole,
  type ClusterRoleBinding,
  LABEL,
  type ObjectMeta,
  type Role,
  type RoleBinding,
  type ServiceAccount,
} from '../../../api/index.js';

export type PolicyRule = NonNullable<Role['rules']>[number];

const RBAC = 'rbac.authorization.k8s.io';
const API_VERSION = `${RBAC}/v1`;

export const READ = ['get', 'list', 'watch'] as const;
export const WRITE = ['get', 'list', 'watch', 'create', 'update', 'delete', 'patch'] as const;

/** `resources` and `verbs` are lists separated by spaces. */
export function rule(group: string, resources: string, verbs: string | readonly string[], resourceNames?: readonly string[]): PolicyRule {
  return {
    apiGroups: [group],
    resources: resources.split(' '),
    verbs: typeof verbs === 'string' ? verbs.split(' ') : [...verbs],
    ...(resourceNames ? { resourceNames: [...resourceNames] } : {}),
  };
}

const metadata = (name: string, namespace?: string): ObjectMeta => ({
  name,
  ...(namespace ? { namespace } : {}),
  labels: { [LABEL.app]: '' },
});

export const serviceAccount = (name: string, namespace: string): ServiceAccount => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: metadata(name, namespace),
});

export const clusterRole = (name: string, rules: readonly PolicyRule[], labels: Record<string, string> = {}): ClusterRole => ({
  apiVersion: API_VERSION,
  kind: 'ClusterRole',
  metadata: { name, labels: { [LABEL.app]: '', ...labels } },
  rules: [...rules],
});

export const role = (name: string, namespace: string, rules: readonly PolicyRule[]): Role => ({
  apiVersion: API_VERSION,
  kind: 'Role',
  metadata: metadata(name, namespace),
  rules: [...rules],
});

type Subject = NonNullable<RoleBinding['subjects']>[number];

export const accountSubject = (name: string, namespace: string): Subject => ({ kind: 'ServiceAccount', name, namespace });
export const AUTHENTICATED: Subject = { apiGroup: RBAC, kind: 'Group', name: 'system:authenticated' };

export const clusterRoleBinding = (name: string, roleName: string, subject: Subject): ClusterRoleBinding => ({
  apiVersion: API_VERSION,
  kind: 'ClusterRoleBinding',
  metadata: metadata(name),
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: roleName },
  subjects: [subject],
});

export const roleBinding = (name: string, namespace: string, roleName: string, subject: Subject): RoleBinding => ({
  apiVersion: API_VERSION,
  kind: 'RoleBinding',
  metadata: metadata(name, namespace),
  roleRef: { apiGroup: RBAC, kind: 'Role', name: roleName },
  subjects: [subject],
});
