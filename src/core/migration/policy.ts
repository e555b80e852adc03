// Which MigrationPolicy rules the migrations of a VMI, and the configuration that a migration gets from it and from the cluster. Called
// when a migration is handed over, and by the oracle. Pure: policies and labels are handed in; whether a policy is sound is admission's.
import type { ExperimentalMigrationOptions, KubeObject, MigrationConfiguration, Quantity } from '../../api/index.js';
import type { ClusterConfig } from '../config/cluster-config.js';

type Labels = Readonly<Record<string, string>>;

export interface MigrationPolicySpec {
  readonly selectors?: { readonly namespaceSelector?: Labels; readonly virtualMachineInstanceSelector?: Labels };
  readonly allowAutoConverge?: boolean;
  readonly allowPostCopy?: boolean;
  readonly allowWorkloadDisruption?: boolean;
  readonly bandwidthPerMigration?: Quantity;
  readonly completionTimeoutPerGiB?: number;
  readonly maxDowntimeMs?: number;
  readonly experimental?: ExperimentalMigrationOptions;
}

export interface MigrationPolicy extends KubeObject {
  readonly spec: MigrationPolicySpec;
}

export type VmiMigrationConfiguration = MigrationConfiguration & { readonly experimental?: ExperimentalMigrationOptions };

interface Match {
  readonly policy: MigrationPolicy;
  readonly vmiLabels: number;
  readonly labels: number;
}

/** How many labels the selector names, or undefined when one of them differs. */
function matched(selector: Labels = {}, labels: Labels = {}): number | undefined {
  const wanted = Object.entries(selector);
  return wanted.every(([key, value]) => labels[key] === value) ? wanted.length : undefined;
}

function matchOf(policy: MigrationPolicy, vmi: Labels | undefined, namespace: Labels | undefined): Match[] {
  const { selectors } = policy.spec;
  if (!selectors) return [];
  const vmiLabels = matched(selectors.virtualMachineInstanceSelector, vmi);
  const namespaceLabels = matched(selectors.namespaceSelector, namespace);
  if (vmiLabels === undefined || namespaceLabels === undefined) return [];
  return [{ policy, vmiLabels, labels: vmiLabels + namespaceLabels }];
}

const nameOf = (policy: MigrationPolicy): string => policy.metadata.name ?? '';
const byName = (a: Match, b: Match): number => (nameOf(a.policy) < nameOf(b.policy) ? -1 : 1);
const byPrecedence = (a: Match, b: Match): number => b.labels - a.labels || b.vmiLabels - a.vmiLabels || byName(a, b);

/** The policy that names most labels wins; labels of the VMI outweigh as many of its namespace; then the first by name. */
export function matchingPolicy(
  policies: readonly MigrationPolicy[],
  vmi: KubeObject,
  namespace: KubeObject | undefined,
): MigrationPolicy | undefined {
  const matches = policies.flatMap((policy) => matchOf(policy, vmi.metadata.labels, namespace?.metadata.labels));
  return matches.sort(byPrecedence)[0]?.policy;
}

/** What the cluster sets for every migration. A workload may be disrupted where post-copy is allowed, unless that is said apart. */
export function clusterMigrationConfiguration(config: ClusterConfig): VmiMigrationConfiguration {
  const { disableTLS, ...migrations } = config.spec.migrations ?? {};
  return {
    ...migrations,
    allowWorkloadDisruption: migrations.allowWorkloadDisruption ?? migrations.allowPostCopy ?? false,
    ...(disableTLS ? { disableTLS } : {}),
  };
}

const OVERRIDES = [
  'allowAutoConverge',
  'allowPostCopy',
  'bandwidthPerMigration',
  'completionTimeoutPerGiB',
  'maxDowntimeMs',
] as const satisfies readonly (keyof MigrationPolicySpec)[];

/** Experiments override each other field by field, also within their groups. */
function withExperiments(cluster: ExperimentalMigrationOptions = {}, own: ExperimentalMigrationOptions = {}): ExperimentalMigrationOptions {
  return {
    ...cluster,
    ...own,
    ...(own.downtimeTuning ? { downtimeTuning: { ...cluster.downtimeTuning, ...own.downtimeTuning } } : {}),
    ...(own.stallDetector ? { stallDetector: { ...cluster.stallDetector, ...own.stallDetector } } : {}),
  };
}

/** The cluster's configuration with what the policy says instead. */
export function withPolicy(cluster: VmiMigrationConfiguration, policy: MigrationPolicy | undefined): VmiMigrationConfiguration {
  if (!policy) return cluster;
  const { spec } = policy;
  const own = Object.fromEntries(OVERRIDES.filter((key) => spec[key] !== undefined).map((key) => [key, spec[key]]));
  const disruption = spec.allowWorkloadDisruption ?? spec.allowPostCopy;
  return {
    ...cluster,
    ...own,
    ...(disruption === undefined ? {} : { allowWorkloadDisruption: disruption }),
    ...(spec.experimental ? { experimental: withExperiments(cluster.experimental, spec.experimental) } : {}),
  };
}
