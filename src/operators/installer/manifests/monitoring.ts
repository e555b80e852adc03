// For clusters with the Prometheus operator: what to scrape, who may, and the alerts about our own components. Rules exist only for
// series that our processes export. Pure.
import type { KubeObject } from '../../../api/index.js';
import type { Resource } from '../../../runtime/types.js';
import type { MonitoringSite } from '../install-context.js';
import { accountSubject, READ, role, roleBinding, rule } from './rbac.js';

const GROUP = 'monitoring.coreos.com';
const API_VERSION = `${GROUP}/v1`;
const NAME = 'prometheus-kubevirt-rules';
const SCRAPED = { 'prometheus.kubevirt.io': 'true' };

const kind = (plural: string, name: string): Resource<KubeObject> => ({
  group: GROUP,
  version: 'v1',
  plural,
  kind: name,
  namespaced: true,
});

export const SERVICE_MONITORS = kind('servicemonitors', 'ServiceMonitor');
export const PROMETHEUS_RULES = kind('prometheusrules', 'PrometheusRule');

type Impact = 'critical' | 'warning';

interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Component {
  /** Pods are called so, with a suffix; underscores in series. */
  readonly name: string;
  /** In names of alerts. */
  readonly down: string;
  readonly rest: string;
  readonly noReady: string;
  readonly lowReady: string;
  /** Deployments: fewer pods than wanted. */
  readonly low?: { readonly alert: string; readonly for: string };
  readonly noLeader?: string;
  /** What is also recorded under a short name, besides `up`. */
  readonly short?: readonly ('ready' | 'leading')[];
}

const COMPONENTS: readonly Component[] = [
  {
    name: 'virt-api',
    down: 'VirtAPIDown',
    rest: 'VirtApiRESTErrorsBurst',
    noReady: 'NoReadyVirtAPI',
    lowReady: 'LowReadyVirtAPICount',
    low: { alert: 'LowVirtAPICount', for: '60m' },
  },
  {
    name: 'virt-controller',
    down: 'VirtControllerDown',
    rest: 'VirtControllerRESTErrorsBurst',
    noReady: 'NoReadyVirtController',
    lowReady: 'LowReadyVirtControllersCount',
    low: { alert: 'LowVirtControllersCount', for: '10m' },
    noLeader: 'NoLeadingVirtController',
    short: ['ready'],
  },
  {
    name: 'virt-handler',
    down: 'VirtHandlerDown',
    rest: 'VirtHandlerRESTErrorsBurst',
    noReady: 'NoReadyVirtHandler',
    lowReady: 'LowReadyVirtHandlerCount',
  },
  {
    name: 'virt-operator',
    down: 'VirtOperatorDown',
    rest: 'VirtOperatorRESTErrorsBurst',
    noReady: 'NoReadyVirtOperator',
    lowReady: 'LowReadyVirtOperatorsCount',
    low: { alert: 'LowVirtOperatorCount', for: '60m' },
    noLeader: 'NoLeadingVirtOperator',
    short: ['ready', 'leading'],
  },
];

const series = (name: string): string => `kubevirt_${name.replaceAll('-', '_')}`;
const orZero = (expr: string): string => `${expr} or vector(0)`;
const RUNBOOKS = 'https://kubevirt.io/monitoring/runbooks';

function recordingRules({ name, noLeader, short = [] }: Component, namespace: string): RecordingRule[] {
  const base = series(name);
  const [ns, pods] = [`namespace='${namespace}'`, `pod=~'${name}-.*'`];
  const record = (suffix: string, expr: string): RecordingRule => ({ record: `cluster:${base}_${suffix}`, expr: orZero(expr) });
  const alias = (suffix: string): RecordingRule => ({ record: `${base}_${suffix}`, expr: `cluster:${base}_${suffix}:sum` });
  const isReady = `kube_pod_status_ready{${pods}, ${ns}, condition='true'} * on(pod, namespace) ${base}_ready_status{${ns}}`;
  return [
    record('up:sum', `sum(up{${ns}, ${pods}})`),
    record('pods_running:count', `count(kube_pod_status_phase{${pods}, ${ns}, phase='Running'} == 1)`),
    record('ready:sum', `sum(${isReady})`),
    ...(noLeader ? [record('leading:sum', `sum(${base}_leading_status{${ns}})`)] : []),
    ...['up', ...short].map(alias),
  ];
}

type Condition = readonly [alert: string, impact: Impact, after: string, expr: string, summary: string];

function alertRules(component: Component, namespace: string): AlertRule[] {
  return conditions(component, namespace).map(([alert, impact, after, expr, summary]) => ({
    alert,
    expr,
    for: after,
    labels: {
      severity: impact,
      operator_health_impact: impact,
      namespace,
      kubernetes_operator_part_of: 'kubevirt',
      kubernetes_operator_component: 'kubevirt',
    },
    annotations: { summary, runbook_url: `${RUNBOOKS}/${alert}` },
  }));
}

function conditions({ name, down, rest, noReady, lowReady, low, noLeader }: Component, namespace: string): Condition[] {
  const of = (suffix: string): string => `cluster:${series(name)}_${suffix}`;
  const [running, ready] = [of('pods_running:count'), of('ready:sum')];
  const requests = (more: string): string =>
    `sum(rate(kubevirt_rest_client_requests_total{namespace='${namespace}', pod=~'${name}-.*'${more}}[5m]))`;
  const wanted = `kube_deployment_spec_replicas{deployment='${name}', namespace='${namespace}'}`;
  return [
    [down, 'critical', '10m', `${running} == 0`, `No pod of ${name} runs.`],
    [noReady, 'critical', '10m', `${ready} == 0`, `No pod of ${name} is ready.`],
    [lowReady, 'warning', '10m', `${ready} < ${running} and ${ready} > 0`, `Some pods of ${name} run without being ready.`],
    [
      rest,
      'critical',
      '5m',
      `${requests(", code=~'(4|5)[0-9][0-9]'")} / ${requests('')} >= 0.8`,
      `Four of five requests of ${name} to the API server fail.`,
    ],
    ...(low
      ? ([
          [low.alert, 'warning', low.for, `${running} / on() ${wanted} < 0.75`, `A quarter or more of the pods of ${name} is missing.`],
        ] as const)
      : []),
    ...(noLeader ? ([[noLeader, 'critical', '10m', `${of('leading:sum')} == 0`, `No pod of ${name} leads, so none works.`]] as const) : []),
  ];
}

function rolloutAlert(namespace: string): AlertRule {
  const status = (what: string): string => `kube_daemonset_status_${what}{namespace='${namespace}', daemonset='virt-handler'}`;
  const alert = 'VirtHandlerDaemonSetRolloutFailing';
  return {
    alert,
    expr: `(${status('number_ready')} - ${status('desired_number_scheduled')}) != 0`,
    for: '15m',
    labels: {
      severity: 'warning',
      operator_health_impact: 'warning',
      namespace,
      kubernetes_operator_part_of: 'kubevirt',
      kubernetes_operator_component: 'kubevirt',
    },
    annotations: { summary: 'Some nodes have no ready virt-handler.', runbook_url: `${RUNBOOKS}/${alert}` },
  };
}

export function monitoringObjects(namespace: string, site: MonitoringSite | undefined): KubeObject[] {
  if (!site) return [];
  const name = 'kubevirt-monitoring';
  const monitor = {
    apiVersion: API_VERSION,
    kind: SERVICE_MONITORS.kind,
    metadata: {
      name: NAME,
      namespace: site.monitorNamespace,
      labels: { 'openshift.io/cluster-monitoring': '', 'k8s-app': 'kubevirt', ...SCRAPED },
    },
    spec: {
      selector: { matchLabels: SCRAPED },
      namespaceSelector: { matchNames: [namespace] },
      endpoints: [{ port: 'metrics', scheme: 'https', honorLabels: true, tlsConfig: { insecureSkipVerify: true } }],
    },
  };
  const rules = {
    apiVersion: API_VERSION,
    kind: PROMETHEUS_RULES.kind,
    metadata: { name: NAME, namespace, labels: { 'k8s-app': 'kubevirt', ...SCRAPED } },
    spec: {
      groups: [
        { name: 'recordingRules.rules', rules: COMPONENTS.flatMap((component) => recordingRules(component, namespace)) },
        { name: 'alerts.rules', rules: [...COMPONENTS.flatMap((one) => alertRules(one, namespace)), rolloutAlert(namespace)] },
      ],
    },
  };
  return [
    role(name, namespace, [rule('', 'services endpoints pods', READ)]),
    roleBinding(name, namespace, name, accountSubject(site.account, site.namespace)),
    monitor,
    rules,
  ];
}
