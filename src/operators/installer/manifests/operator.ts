// virt-operator's own objects: what `kubectl apply -k .` installs. Rendered into config/ by tools/gen-config.ts, so that the
// operator's rights always contain every right it hands out (the API server refuses an escalation otherwise). Pure.
import type { ClusterRole, Deployment, KubeObject, PriorityClass } from '../../../api/index.js';
import { LABEL } from '../../../api/index.js';
import { ACCOUNT, OPERATOR_NAME, SECRET } from './names.js';
import { INFRA_AFFINITY, INFRA_TOLERATIONS } from './placement.js';
import {
  CPU,
  CRITICAL_TOLERATION,
  httpsGet,
  PRIORITY_CLASS,
  PROFILE_DATA,
  processCommand,
  RESTRICTED_CONTAINER,
  RESTRICTED_POD,
  requests,
  secretVolume,
  spreadByHost,
  tcpPort,
} from './pod-parts.js';
import {
  accountSubject,
  clusterRole,
  clusterRoleBinding,
  type PolicyRule,
  role,
  roleBinding,
  rule,
  serviceAccount,
  WRITE,
} from './rbac.js';
import { API_RULES, ATTACHMENT_RULES, AUTH_DELEGATOR_RULES, CONTROLLER_RULES, HANDLER_RULES, NAMESPACE_RULES } from './rbac-components.js';
import { USER_RULES } from './rbac-users.js';

const INSTALL = 'get list watch create delete patch';

/** What it needs for its own work. */
const OWN_RULES: readonly PolicyRule[] = [
  rule('kubevirt.io', 'kubevirts', 'get list watch patch update'),
  rule('', 'serviceaccounts services', WRITE),
  rule('apps', 'deployments daemonsets', INSTALL),
  rule('policy', 'poddisruptionbudgets', INSTALL),
  rule('rbac.authorization.k8s.io', 'clusterroles clusterrolebindings roles rolebindings', WRITE),
  rule('apiextensions.k8s.io', 'customresourcedefinitions', INSTALL),
  rule(
    'admissionregistration.k8s.io',
    'validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicybindings validatingadmissionpolicies',
    WRITE,
  ),
  rule('apiregistration.k8s.io', 'apiservices', WRITE),
  rule('', 'namespaces', 'get list watch patch'),
  rule('monitoring.coreos.com', 'servicemonitors prometheusrules', WRITE),
];

/** In its own namespace. */
const OWN_NAMESPACE_RULES: readonly PolicyRule[] = [rule('', 'secrets configmaps', INSTALL), rule('coordination.k8s.io', 'leases', WRITE)];

export const operatorRules = (): PolicyRule[] =>
  merged([
    ...OWN_RULES,
    ...API_RULES,
    ...CONTROLLER_RULES,
    ...ATTACHMENT_RULES,
    ...HANDLER_RULES,
    ...Object.values(USER_RULES).flat(),
    ...AUTH_DELEGATOR_RULES,
  ]);

/** One rule per resource and group with all verbs that any rule gives, and resources of equal verbs together: the same rights, readable. */
export function merged(rules: readonly PolicyRule[]): PolicyRule[] {
  const verbsOf = new Map<string, Set<string>>();
  for (const { apiGroups = [], resources = [], verbs } of rules) {
    for (const resource of resources) {
      const key = `${apiGroups.join(',')} ${resource}`;
      verbsOf.set(key, new Set([...(verbsOf.get(key) ?? []), ...verbs]));
    }
  }
  const together = new Map<string, { group: string; verbs: string[]; resources: string[] }>();
  for (const [key, verbs] of verbsOf) {
    const [group = '', resource = ''] = key.split(' ');
    const sorted = [...verbs].sort();
    const id = `${group} ${sorted.join(',')}`;
    const entry = together.get(id) ?? { group, verbs: sorted, resources: [] };
    entry.resources.push(resource);
    together.set(id, entry);
  }
  return [...together.values()].map(({ group, verbs, resources }) => ({ apiGroups: [group], resources: resources.sort(), verbs }));
}

export const priorityClass = (): PriorityClass => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name: PRIORITY_CLASS },
  value: 1_000_000_000,
  description: 'For the components that keep virtual machines running; not for workloads.',
});

/** For administrators of a namespace: they may handle the KubeVirt CR. */
const crAdministrators = (): ClusterRole =>
  clusterRole('kubevirt.io:operator', [rule('kubevirt.io', 'kubevirts', 'get delete create update patch list watch deletecollection')], {
    'operator.kubevirt.io': '',
    'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
  });

export function operatorRbac(namespace: string): KubeObject[] {
  const name = ACCOUNT.operator;
  const subject = accountSubject(name, namespace);
  return [
    crAdministrators(),
    serviceAccount(name, namespace),
    clusterRole(name, operatorRules()),
    clusterRoleBinding(name, name, subject),
    role(name, namespace, [...OWN_NAMESPACE_RULES, ...NAMESPACE_RULES]),
    roleBinding('kubevirt-operator-rolebinding', namespace, name, subject),
  ];
}

export interface OperatorImages {
  readonly control: string;
  readonly launcher: string;
  readonly version: string;
}

export function operatorDeployment(namespace: string, { control, launcher, version }: OperatorImages): Deployment {
  const env = {
    VIRT_OPERATOR_IMAGE: control,
    VIRT_API_IMAGE: control,
    VIRT_CONTROLLER_IMAGE: control,
    VIRT_HANDLER_IMAGE: control,
    VIRT_LAUNCHER_IMAGE: launcher,
    KUBEVIRT_VERSION: version,
  };
  const volumes = [secretVolume(SECRET.operator, '/etc/virt-operator/certificates', true), PROFILE_DATA];
  const probe = { httpGet: httpsGet('/metrics'), initialDelaySeconds: 1, timeoutSeconds: 10 };
  const labels = {
    [LABEL.app]: OPERATOR_NAME,
    name: OPERATOR_NAME,
    'prometheus.kubevirt.io': 'true',
    'np.kubevirt.io/allow-access-cluster-services': 'true',
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: OPERATOR_NAME, namespace, labels: { [LABEL.app]: OPERATOR_NAME } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { [LABEL.app]: OPERATOR_NAME } },
      strategy: { type: 'RollingUpdate' },
      template: {
        metadata: { name: OPERATOR_NAME, labels, annotations: { 'openshift.io/required-scc': 'restricted-v2' } },
        spec: {
          serviceAccountName: ACCOUNT.operator,
          priorityClassName: PRIORITY_CLASS,
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          affinity: { nodeAffinity: INFRA_AFFINITY, ...spreadByHost(OPERATOR_NAME) },
          tolerations: [CRITICAL_TOLERATION, ...INFRA_TOLERATIONS],
          securityContext: RESTRICTED_POD,
          containers: [
            {
              name: OPERATOR_NAME,
              image: control,
              imagePullPolicy: 'IfNotPresent',
              command: processCommand(OPERATOR_NAME),
              args: ['--port', '8443', '-v', '2'],
              env: Object.entries(env).map(([name, value]) => ({ name, value })),
              ports: [tcpPort('metrics', 8443), tcpPort('webhooks', 8444)],
              livenessProbe: probe,
              readinessProbe: probe,
              resources: requests(CPU.operator, '450Mi'),
              securityContext: RESTRICTED_CONTAINER,
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts: volumes.map(({ mount }) => mount),
            },
          ],
          volumes: volumes.map(({ volume }) => volume),
        },
      },
    },
  };
}
