// What we install in each recorded situation: the same environment, KubeVirt CR and gates as the recordings had.
import type { KubeObject, KubeVirtSpec } from '../../../src/api/index.js';
import { ALPHA_GATES, BETA_GATES, isGateEnabled } from '../../../src/core/config/gates.js';
import { AUTHORITIES, leafSpecs } from '../../../src/operators/installer/certificates/specs.js';
import { type InstallEnv, installContext, type MonitoringSite } from '../../../src/operators/installer/install-context.js';
import { renderInstall, renderTrusting } from '../../../src/operators/installer/manifests/index.js';
import { networkPolicies } from '../../../src/operators/installer/manifests/network-policies.js';
import { operatorDeployment, operatorRbac, priorityClass } from '../../../src/operators/installer/manifests/operator.js';
import { mutatingWebhooks } from '../../../src/operators/installer/manifests/webhooks.js';

const NAMESPACE = 'kubevirt';
const PROMETHEUS: MonitoringSite = {
  account: 'prometheus-k8s',
  namespace: 'openshift-monitoring',
  monitorNamespace: 'openshift-monitoring',
};

interface Situation {
  readonly spec?: KubeVirtSpec;
  readonly gates?: readonly string[];
  readonly disabled?: readonly string[];
  readonly monitoring?: MonitoringSite | undefined;
}

export const SITUATIONS: Readonly<Record<string, Situation>> = {
  default: {},
  pdb: {},
  plugins: { gates: ['Plugins'] },
  allgates: { gates: ALPHA_GATES },
  nobeta: { disabled: BETA_GATES },
  manualroles: { spec: { configuration: { roleAggregationStrategy: 'Manual' } } },
  migrationnetwork: { spec: { configuration: { migrations: { network: 'migration-nad' } } } },
  monitorns: { monitoring: { account: 'prom', namespace: 'openshift-monitoring', monitorNamespace: 'smns' } },
  hyperv: {
    spec: {
      configuration: { hypervisors: [{ name: 'hyperv-direct' }], developerConfiguration: { featureGates: ['ConfigurableHypervisor'] } },
    },
  },
  nomonitoring: { monitoring: undefined },
  product: {
    spec: {
      imageRegistry: 'example.org/kv',
      imageTag: 'v7.7.7',
      imagePullPolicy: 'Always',
      productName: 'prod',
      productVersion: 'v9',
      productComponent: 'comp',
    },
  },
  pullsecrets: { spec: { imagePullSecrets: [{ name: 'ps' }] } },
};

const image = (name: string): string => `registry.example/kubevirt/${name}:v0.0.0`;

const ENV: InstallEnv = {
  namespace: NAMESPACE,
  version: 'v0.0.0',
  operatorImage: image('virt-operator'),
  apiImage: image('virt-api'),
  controllerImage: image('virt-controller'),
  handlerImage: image('virt-handler'),
  launcherImage: image('virt-launcher'),
  extraEnv: {},
};

/** Secrets and bundles, without what is made later. */
function certificates(): KubeObject[] {
  const shell = (kind: string, name: string): KubeObject => ({ apiVersion: 'v1', kind, metadata: { name, namespace: NAMESPACE } });
  const names = [...AUTHORITIES.map(({ name }) => name), ...leafSpecs(NAMESPACE).map(({ secret }) => secret)];
  return [
    ...names.map((name) => ({ ...shell('Secret', name), type: 'kubernetes.io/tls' })),
    ...AUTHORITIES.map(({ name }) => shell('ConfigMap', name)),
  ];
}

function operatorBundle(): KubeObject[] {
  const images = { control: ENV.operatorImage, launcher: ENV.launcherImage, version: ENV.version };
  return [...operatorRbac(NAMESPACE), operatorDeployment(NAMESPACE, images), priorityClass(), ...networkPolicies(NAMESPACE)];
}

export function ours(folder: string): KubeObject[] {
  if (folder === 'operator') return operatorBundle();
  const { spec = {}, gates = [], disabled = [], ...rest } = SITUATIONS[folder] ?? {};
  const monitoring = 'monitoring' in rest ? rest.monitoring : PROMETHEUS;
  const context = installContext({ metadata: { name: 'kubevirt' }, spec }, ENV, { schedulableNodes: 3, monitoring });
  const set = renderInstall(context, (gate) => isGateEnabled(gate, gates, disabled));
  return [
    ...set.rbac,
    ...set.services,
    ...set.policies,
    ...Object.values(set.workloads),
    ...set.budgets,
    ...set.monitoring,
    ...set.common,
    ...renderTrusting(set.trusting, ''),
    // Recorded everywhere; installed with the gate ContainerPathVolumes.
    ...mutatingWebhooks(NAMESPACE, '', true).slice(1),
    ...certificates(),
  ];
}
