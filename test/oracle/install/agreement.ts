// How far our installation agrees with the recorded one: each recorded object is equal to ours, or differs only where the list of
// explanations says so, or disagrees.
import type { KubeObject } from '../../../src/api/index.js';
import { differences } from './compare.js';
import { ABSENT, DIFFERENT } from './explained.js';
import { ours } from './ours.js';
import { type Recorded, recordedObjects } from './recorded.js';

export interface Verdict {
  readonly id: string;
  readonly group: string;
  readonly outcome: 'equal' | 'explained' | 'disagrees';
  /** What nothing explains. */
  readonly differences: readonly string[];
}

export interface Agreement {
  readonly verdicts: readonly Verdict[];
  /** Explanations that explain nothing. */
  readonly stale: readonly string[];
}

const GROUPS: Readonly<Record<string, string>> = {
  ClusterRole: 'rbac',
  ClusterRoleBinding: 'rbac',
  Role: 'rbac',
  RoleBinding: 'rbac',
  ServiceAccount: 'service accounts',
  ValidatingWebhookConfiguration: 'webhooks',
  MutatingWebhookConfiguration: 'webhooks',
  APIService: 'API services',
  Service: 'services',
  Route: 'services',
  PodDisruptionBudget: 'disruption budgets',
  PriorityClass: 'priority classes',
  NetworkPolicy: 'network policies',
  Secret: 'certificates',
  ConfigMap: 'certificates',
  Deployment: 'workloads',
  DaemonSet: 'workloads',
  ValidatingAdmissionPolicy: 'admission policies',
  ValidatingAdmissionPolicyBinding: 'admission policies',
  ServiceMonitor: 'monitoring',
  PrometheusRule: 'monitoring',
  VirtualMachineClusterInstancetype: 'instance types',
  VirtualMachineClusterPreference: 'preferences',
};

const sameObject = (a: KubeObject, b: KubeObject): boolean =>
  a.kind === b.kind && a.metadata.name === b.metadata.name && (a.metadata.namespace ?? '') === (b.metadata.namespace ?? '');

export function installAgreement(): Agreement {
  const used = new Set<unknown>();
  const rendered = new Map<string, KubeObject[]>();
  const verdicts = recordedObjects().map((recorded) => {
    const objects = rendered.get(recorded.folder) ?? ours(recorded.folder);
    rendered.set(recorded.folder, objects);
    const own = objects.find((object) => sameObject(object, recorded.object));
    return verdictOf(recorded, own, used);
  });
  const all = [...ABSENT.map((one) => ({ one, text: `${one[0]}` })), ...DIFFERENT.map((one) => ({ one, text: `${one.id} ${one.path}` }))];
  return { verdicts, stale: all.filter(({ one }) => !used.has(one)).map(({ text }) => text) };
}

function verdictOf({ id, object }: Recorded, own: KubeObject | undefined, used: Set<unknown>): Verdict {
  const found = own ? differences(object, own) : ['not installed'];
  const unexplained = found.filter((difference) => {
    const explanation = own
      ? DIFFERENT.find((one) => one.id.test(id) && one.path.test(difference))
      : ABSENT.find(([name]) => name.test(id));
    if (explanation) used.add(explanation);
    return !explanation;
  });
  const outcome = found.length === 0 ? 'equal' : unexplained.length === 0 ? 'explained' : 'disagrees';
  return { id, group: GROUPS[object.kind ?? ''] ?? 'others', outcome, differences: unexplained };
}

/** `group: 5 equal, 2 explained, 0 disagree`, by name of the group. */
export function figures(verdicts: readonly Verdict[]): string[] {
  const groups = [...new Set(verdicts.map(({ group }) => group))].sort();
  const count = (group: string, wanted: Verdict['outcome']): number =>
    verdicts.filter((verdict) => verdict.group === group && verdict.outcome === wanted).length;
  return groups.map(
    (group) => `${group}: ${count(group, 'equal')} equal, ${count(group, 'explained')} explained, ${count(group, 'disagrees')} disagree`,
  );
}
