// Oracle group `gatemap`: which single feature gate changes the verdict of an object, asked of the same admission as group `admit`.
import { ALPHA_GATES, BETA_GATES } from '../../../src/core/config/gates.js';
import type { OracleCase } from '../oracle-case.js';
import { admitWith } from './admit.js';

const bySpelling = (gates: readonly string[]): string[] => [...gates].sort();

export function answer(testCase: OracleCase): unknown {
  const allowed = (lists: Parameters<typeof admitWith>[1]): boolean => admitWith(testCase, lists).allowed;
  const byDefault = allowed({});
  return {
    default: byDefault,
    allowedWithSingleGate: byDefault ? [] : bySpelling(ALPHA_GATES).filter((gate) => gate !== 'Root' && allowed({ gates: [gate] })),
    deniedWithoutSingleBetaGate: byDefault ? bySpelling(BETA_GATES).filter((gate) => !allowed({ disabled: [gate] })) : [],
  };
}
