// Everything an installation consists of but its certificates, in the groups in which it is applied. Pure.
import { createHash } from 'node:crypto';
import type { CustomResourceDefinition, DaemonSet, Deployment, KubeObject } from '../../../api/index.js';
import { crds } from '../../../api/schema/crds.js';
import type { InstallContext } from '../install-context.js';
import { admissionPolicies } from './admission-policies.js';
import { apiServices } from './api-services.js';
import { virtApi, virtController } from './components.js';
import { disruptionBudget } from './deployment.js';
import { componentRbac } from './rbac-components.js';
import { userRbac } from './rbac-users.js';
import { services } from './services.js';
import { virtHandler } from './virt-handler.js';
import { mutatingWebhooks, validatingWebhooks } from './webhooks.js';

export interface Workloads {
  readonly api: Deployment;
  readonly controller: Deployment;
  readonly handler: DaemonSet;
}

export interface InstallSet {
  readonly crds: readonly CustomResourceDefinition[];
  readonly rbac: readonly KubeObject[];
  readonly services: readonly KubeObject[];
  readonly policies: readonly KubeObject[];
  readonly workloads: Workloads;
  readonly budgets: readonly KubeObject[];
}

interface HashedCrds {
  readonly list: readonly CustomResourceDefinition[];
  readonly hash: string;
}

const sha1 = (value: unknown): string => createHash('sha1').update(JSON.stringify(value)).digest('hex');

let rendered: HashedCrds | undefined;

/** Large and always the same: rendered once. The KubeVirt kind comes with the operator and outlives every installation. */
function managedCrds(): HashedCrds {
  if (!rendered) {
    const list = crds().filter(({ spec: { names } }) => names.kind !== 'KubeVirt');
    rendered = { list, hash: sha1(list) };
  }
  return rendered;
}

export function renderInstall(context: InstallContext, isEnabled: (gate: string) => boolean): InstallSet {
  const { namespace, spec } = context;
  const aggregate = spec.configuration?.roleAggregationStrategy !== 'Manual';
  const workloads = { api: virtApi(context), controller: virtController(context), handler: virtHandler(context) };
  const budgets = [workloads.api, workloads.controller].map(disruptionBudget).filter((budget) => budget !== undefined);
  return {
    crds: managedCrds().list,
    rbac: [...componentRbac(namespace), ...userRbac(aggregate)],
    services: services(namespace),
    policies: isEnabled('NodeRestriction') ? admissionPolicies(namespace) : [],
    workloads,
    budgets,
  };
}

/** What must carry the certificates to trust. */
export function renderTrusting(namespace: string, caBundle: string): KubeObject[] {
  return [...validatingWebhooks(namespace, caBundle), ...mutatingWebhooks(namespace, caBundle), ...apiServices(namespace, caBundle)];
}

/** Changes exactly when what is installed changes. */
export function deploymentId(set: InstallSet): string {
  return sha1({ ...set, crds: managedCrds().hash });
}
