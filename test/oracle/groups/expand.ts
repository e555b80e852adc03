// Oracle group `expand`: a VM with its instance type and preference written out, and what admission says of it.
import type { VirtualMachine } from '../../../src/api/index.js';
import { expandVm } from '../../../src/core/instancetype/index.js';
import type { OracleCase } from '../oracle-case.js';
import { configOf, given } from './admission-case.js';
import { admitWith, shown } from './admit.js';
import { givenBy, specIn } from './instancetype-case.js';

function expanded(testCase: OracleCase): object {
  const [instancetype, preference] = [specIn(testCase, 'instancetype'), specIn(testCase, 'preference')];
  const missing = [instancetype, preference].find((r) => r && !r.ok);
  if (missing && !missing.ok) return { error: missing.error };
  const chosen = { instancetype: givenBy(instancetype), preference: givenBy(preference) };
  const result = expandVm(testCase.object as VirtualMachine, chosen, configOf(testCase, given(testCase)));
  if (result.ok) return { vm: result.value };
  const { message, conflicts } = result.error;
  return { error: message, ...(conflicts ? { conflicts } : {}) };
}

export function answer(testCase: OracleCase): unknown {
  const admit = shown(admitWith({ ...testCase, op: 'vm-create' }, given(testCase)));
  return { ...expanded(testCase), admit };
}
