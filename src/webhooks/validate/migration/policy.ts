// Admission of MigrationPolicies: amounts that make sense, and experiments only where their feature gate is on. What a policy already said
// may stay when a gate is turned off. Pure.
import { isDeepStrictEqual } from 'node:util';
import { type FieldPath, field } from '../../../api/field-path.js';
import type { ExperimentalMigrationOptions, Quantity } from '../../../api/index.js';
import { compareQuantities, isQuantity, parseQuantity } from '../../../api/quantity.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import type { MigrationPolicy } from '../../../core/migration/policy.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type Causes, invalid } from '../rule.js';

interface Change {
  readonly next: MigrationPolicy['spec'];
  readonly old: MigrationPolicy['spec'] | undefined;
}
type PolicyRule = (change: Change, config: ClusterConfig) => Causes;

const STALL = 'MigrationStallDetection';
const TUNING = 'MigrationDowntimeTuning';
const EXPERIMENTAL = 'spec.experimental';

const completionTimeout: PolicyRule = function* ({ next }) {
  const at = 'spec.completionTimeoutPerGiB';
  if ((next.completionTimeoutPerGiB ?? 0) < 0) yield invalid(at, 'must not be negative: 0 means no timeout');
};

const bandwidth: PolicyRule = function* ({ next }) {
  const { bandwidthPerMigration: value } = next;
  const at = 'spec.bandwidthPerMigration';
  if (value !== undefined && isQuantity(value) && compareQuantities(value, 0) < 0)
    yield invalid(at, 'must not be negative: 0 means no limit');
};

const maxDowntime: PolicyRule = function* ({ next, old }, config) {
  const { maxDowntimeMs: value } = next;
  const at = 'spec.maxDowntimeMs';
  if (value === undefined) return;
  if (value < 0) yield invalid(at, 'must not be negative: leave it out for the default');
  if (value === old?.maxDowntimeMs || config.isEnabled(STALL) || config.isEnabled(TUNING)) return;
  yield invalid(at, `maxDowntimeMs cannot be set or changed without the feature gate ${STALL} or ${TUNING}: enable one, or leave it out`);
};

/** An experiment that is new or differs needs its gate. */
const gated = (key: keyof ExperimentalMigrationOptions & ('downtimeTuning' | 'stallDetector'), gate: string): PolicyRule =>
  function* ({ next, old }, config) {
    const value = next.experimental?.[key];
    if (value === undefined || isDeepStrictEqual(value, old?.experimental?.[key]) || config.isEnabled(gate)) return;
    const at = field(EXPERIMENTAL, key);
    yield invalid(at, `experimental.${key} cannot be set or changed without the feature gate ${gate}: enable it, or leave it out`);
  };

const oneExperiment: PolicyRule = function* ({ next }) {
  if (!next.experimental?.stallDetector || !next.experimental.downtimeTuning) return;
  const why = 'the stall detector plans the downtime by itself';
  yield invalid(EXPERIMENTAL, `experimental.stallDetector and experimental.downtimeTuning are mutually exclusive (${why}): keep one`);
};

interface Range {
  readonly above?: Quantity;
  readonly least?: Quantity;
  readonly most?: Quantity;
}

const FACTORS = {
  ewmaAlpha: { above: 0, most: 1 },
  precopyPossibleFactor: { least: 1 },
  patienceWindowDecayFactor: { least: 0, most: 1 },
  completionTimeoutFactor: { least: 1 },
} as const satisfies Record<string, Range>;

const DECIMALS = 3;
const FINEST_NANO = 10n ** BigInt(9 - DECIMALS);

function factorFault(value: Quantity, range: Range): string | undefined {
  if (compareQuantities(value, 0) < 0) return `${value} must not be negative: raise it`;
  if (parseQuantity(value).nano % FINEST_NANO !== 0n) return `${value} must have at most ${DECIMALS} decimal places: round it`;
  if (range.above !== undefined && compareQuantities(value, range.above) <= 0)
    return `${value} must be greater than ${range.above}: raise it`;
  if (range.least !== undefined && compareQuantities(value, range.least) < 0)
    return `${value} must be greater than or equal to ${range.least}: raise it`;
  if (range.most !== undefined && compareQuantities(value, range.most) > 0)
    return `${value} must be less than or equal to ${range.most}: lower it`;
  return undefined;
}

const stallFactors: PolicyRule = function* ({ next }) {
  const detector = next.experimental?.stallDetector;
  const at: FieldPath = field(EXPERIMENTAL, 'stallDetector');
  for (const [name, range] of Object.entries(FACTORS)) {
    const value = detector?.[name as keyof typeof FACTORS];
    const fault =
      value === undefined ? undefined : isQuantity(value) ? factorFault(value, range) : `${value} is no number: write one such as 0.5`;
    if (fault) yield invalid(field(at, name), fault);
  }
};

const RULES: readonly PolicyRule[] = [
  completionTimeout,
  maxDowntime,
  gated('downtimeTuning', TUNING),
  oneExperiment,
  gated('stallDetector', STALL),
  stallFactors,
  bandwidth,
];

/** `old` on updates. */
export function admitMigrationPolicy(policy: MigrationPolicy, old: MigrationPolicy | undefined, config: ClusterConfig): Verdict {
  const change: Change = { next: policy.spec ?? {}, old: old?.spec };
  return verdictOf(RULES.flatMap((rule) => [...rule(change, config)]));
}
