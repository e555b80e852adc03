// Everything an installation consists of but its certificates, in the groups in which it is applied. Pure.
import { createHash } from 'node:crypto';
import type { CustomizeComponents, CustomResourceDefinition, DaemonSet, Deployment, KubeObject } from '../../../api/index.js';
import { crds } from '../../../api/schema/crds.js';
import { customized } from '../customize.js';
import type { InstallContext } from '../install-context.js';
import { admissionPolicies } from './admission-policies.js';
import { apiServices } from './api-services.js';
import { commonInstancetypes } from './common-instancetypes.js';
import { commonPreferences } from './common-preferences.js';
import { virtApi, virtController } from './components.js';
import { disruptionBudget } from './deployment.js';
import { monitoringObjects } from './monitoring.js';
import { pluginPolicies } from './plugin-policies.js';
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

/** What goes into the objects that carry the certificates to trust, besides those. */
export interface TrustingOptions {
  readonly namespace: string;
  /** virt-api is shown each launcher pod before it is created. */
  readonly containerPaths: boolean;
  readonly custom: CustomizeComponents | undefined;
}

export interface InstallSet {
  readonly crds: readonly CustomResourceDefinition[];
  readonly rbac: readonly KubeObject[];
  readonly services: readonly KubeObject[];
  readonly policies: readonly KubeObject[];
  readonly workloads: Workloads;
  readonly budgets: readonly KubeObject[];
  /** Empty without Prometheus. */
  readonly monitoring: readonly KubeObject[];
  /** Objects of kinds that this installation brings itself; virt-api must be ready to check them. */
  readonly common: readonly KubeObject[];
  readonly trusting: TrustingOptions;
}

interface Hashed<T> {
  readonly list: readonly T[];
  readonly hash: string;
}

const sha1 = (value: unknown): string => createHash('sha1').update(JSON.stringify(value)).digest('hex');

/** For large lists that are always the same: rendered once. */
function once<T>(render: () => readonly T[]): () => Hashed<T> {
  let rendered: Hashed<T> | undefined;
  return () => {
    if (!rendered) {
      const list = render();
      rendered = { list, hash: sha1(list) };
    }
    return rendered;
  };
}

/** The KubeVirt kind comes with the operator and outlives every installation. */
const managedCrds = once(() => crds().filter(({ spec: { names } }) => names.kind !== 'KubeVirt'));
const common = once((): KubeObject[] => [...commonInstancetypes(), ...commonPreferences()]);

export function renderInstall(context: InstallContext, isEnabled: (gate: string) => boolean): InstallSet {
  const { namespace, spec } = context;
  const { customizeComponents: custom, configuration = {} } = spec;
  const own = <T extends KubeObject>(object: T): T => customized(object, custom);
  const workloads = { api: own(virtApi(context)), controller: own(virtController(context)), handler: own(virtHandler(context)) };
  const budgets = [workloads.api, workloads.controller].map(disruptionBudget).filter((budget) => budget !== undefined);
  const aggregate = configuration.roleAggregationStrategy !== 'Manual' || !isEnabled('OptOutRoleAggregation');
  return {
    crds: managedCrds().list,
    rbac: [...componentRbac(namespace, { attachmentDefinitions: !isEnabled('ExternalNetResourceInjection') }), ...userRbac(aggregate)],
    services: services(namespace).map(own),
    policies: [...(isEnabled('NodeRestriction') ? admissionPolicies(namespace) : []), ...(isEnabled('Plugins') ? pluginPolicies() : [])],
    workloads,
    budgets,
    monitoring: monitoringObjects(namespace, context.monitoring),
    common: configuration.commonInstancetypesDeployment?.enabled === false ? [] : common().list,
    trusting: { namespace, containerPaths: isEnabled('ContainerPathVolumes'), custom },
  };
}

/** What must carry the certificates to trust. */
export function renderTrusting({ namespace, containerPaths, custom }: TrustingOptions, caBundle: string): KubeObject[] {
  return [
    ...validatingWebhooks(namespace, caBundle),
    ...mutatingWebhooks(namespace, caBundle, containerPaths),
    ...apiServices(namespace, caBundle),
  ].map((object) => customized<KubeObject>(object, custom));
}

/** Changes exactly when what is installed changes; Prometheus may come and go without that being an update. */
export function deploymentId({ monitoring: _, ...set }: InstallSet): string {
  return sha1({ ...set, crds: managedCrds().hash, common: set.common.length > 0 ? common().hash : '' });
}
