// The Deployment around a component's container, and its PodDisruptionBudget. Pure.
import { type Container, type Deployment, LABEL, type PodDisruptionBudget } from '../../../api/index.js';
import type { InstallContext } from '../install-context.js';
import { placed } from './placement.js';
import {
  CRITICAL_TOLERATION,
  extraEnv,
  PRIORITY_CLASS,
  podLabels,
  pullSecrets,
  RESTRICTED_CONTAINER,
  RESTRICTED_POD,
  spreadByHost,
  VERSION_LABEL,
  type VolumeWithMount,
} from './pod-parts.js';

export interface ComponentDeployment {
  readonly name: string;
  readonly account: string;
  readonly replicas: number;
  readonly container: Omit<Container, 'name'>;
  readonly volumes: readonly VolumeWithMount[];
}

export function componentDeployment(context: InstallContext, component: ComponentDeployment): Deployment {
  const { name, account, replicas, volumes } = component;
  const container: Container = {
    name,
    imagePullPolicy: context.imagePullPolicy,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: RESTRICTED_CONTAINER,
    ...component.container,
    env: [...(component.container.env ?? []), ...extraEnv(context)],
    volumeMounts: volumes.map(({ mount }) => mount),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name,
      namespace: context.namespace,
      labels: { [LABEL.app]: name, 'app.kubernetes.io/name': name, [VERSION_LABEL]: context.version },
    },
    spec: {
      replicas,
      selector: { matchLabels: { [LABEL.app]: name } },
      strategy: {},
      template: {
        metadata: {
          name,
          labels: podLabels(context, name),
          annotations: { 'openshift.io/required-scc': 'restricted-v2' },
        },
        spec: placed(
          {
            serviceAccountName: account,
            priorityClassName: PRIORITY_CLASS,
            affinity: spreadByHost(name),
            tolerations: [CRITICAL_TOLERATION],
            securityContext: RESTRICTED_POD,
            containers: [container],
            volumes: volumes.map(({ volume }) => volume),
            ...pullSecrets(context),
          },
          context.spec.infra,
          'infra',
        ),
      },
    },
  };
}

/** undefined for a single replica: a budget would only block the node's drain. */
export function disruptionBudget(deployment: Deployment): PodDisruptionBudget | undefined {
  const { name = '', namespace = '' } = deployment.metadata;
  const replicas = deployment.spec?.replicas ?? 1;
  if (replicas < 2) return undefined;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: `${name}-pdb`, namespace, labels: { [LABEL.app]: `${name}-pdb` } },
    spec: { minAvailable: replicas - 1, selector: { matchLabels: { [LABEL.app]: name } } },
  };
}
