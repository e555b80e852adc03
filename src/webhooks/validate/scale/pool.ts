// Admission of VirtualMachinePools: a sound VM template, a selector that matches it and stays, how many may be away, one strategy each for
// updates and for scaling in. Pure.
import { isDeepStrictEqual } from 'node:util';
import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachinePool } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { type Verdict, verdictOf } from '../../verdict.js';
import { type Causes, invalid, required } from '../rule.js';
import { vmSpecCauses } from '../vm/spec.js';
import { withdrawnGates } from '../vmi/rules.js';
import { ownSelector } from './selector.js';

const STRATEGIES = ['unmanaged', 'opportunistic', 'proactive'] as const;
type Strategies = { readonly [S in (typeof STRATEGIES)[number]]?: object };

export interface PoolRequest {
  readonly pool: VirtualMachinePool;
  /** On updates. */
  readonly old?: VirtualMachinePool;
  readonly isOwnAccount: boolean;
}

const WHOLE = /^[+-]?\d+$/;
const PERCENT_RANGE = 'a percentage from 1% to 100%';

function unavailableFault(value: number | string): string | undefined {
  if (typeof value === 'number') return value > 0 ? undefined : `maxUnavailable is ${value}: it must be greater than 0`;
  if (!value.endsWith('%')) return `maxUnavailable is "${value}": give a number, or ${PERCENT_RANGE}`;
  const digits = value.slice(0, -1);
  const percent = WHOLE.test(digits) ? Number(digits) : Number.NaN;
  return percent >= 1 && percent <= 100 ? undefined : `maxUnavailable is ${value}: it must be ${PERCENT_RANGE}`;
}

function* maxUnavailable({ spec }: VirtualMachinePool): Causes {
  const fault = spec.maxUnavailable === undefined ? undefined : unavailableFault(spec.maxUnavailable);
  if (fault) yield invalid('spec.maxUnavailable', fault);
}

function* oneStrategy(strategies: Strategies | undefined, at: FieldPath): Causes {
  const given = STRATEGIES.filter((s) => strategies?.[s] !== undefined);
  if (given.length > 1) yield invalid(at, `only one strategy can be configured at a time, but there are ${given.join(' and ')}: keep one`);
}

function* sameSelector(pool: VirtualMachinePool, old: VirtualMachinePool | undefined): Causes {
  if (!old || isDeepStrictEqual(pool.spec.selector, old.spec.selector)) return;
  yield invalid('spec.selector', 'selector is immutable after creation: create another pool for other labels');
}

function* causes({ pool, old, isOwnAccount }: PoolRequest, config: ClusterConfig): Causes {
  const { selector, virtualMachineTemplate: template, updateStrategy, scaleInStrategy } = pool.spec;
  if (!template?.spec) {
    yield required('spec.template', 'missing virtual machine template: give spec.virtualMachineTemplate the spec of the VMs to run');
    return;
  }
  yield* vmSpecCauses(template.spec, field('spec', 'virtualMachineTemplate', 'spec'), config, isOwnAccount);
  yield* ownSelector(selector, template.metadata, 'spec');
  yield* maxUnavailable(pool);
  yield* oneStrategy(updateStrategy, 'spec.updateStrategy');
  yield* oneStrategy(scaleInStrategy, 'spec.scaleInStrategy');
  yield* sameSelector(pool, old);
  if (!old && template.spec.template?.spec) yield* withdrawnGates(template.spec.template.spec, config);
}

export const admitPool = (request: PoolRequest, config: ClusterConfig): Verdict => verdictOf(causes(request, config));
