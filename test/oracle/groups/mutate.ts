// Oracle group `mutate`: the mutating webhooks, with random UUIDs and the time fixed as in the records.
import type {
  KubeObject,
  VirtualMachine,
  VirtualMachineClone,
  VirtualMachineInstance,
  VirtualMachineInstanceMigration,
} from '../../../src/api/index.js';
import { mutateClone } from '../../../src/webhooks/mutate/clone.js';
import { mutateMigration } from '../../../src/webhooks/mutate/migration.js';
import type { Mutation } from '../../../src/webhooks/mutate/mutation.js';
import type { VirtualMachineInstancePreset } from '../../../src/webhooks/mutate/preset.js';
import { mutateVm } from '../../../src/webhooks/mutate/vm.js';
import { mutateVmiCreate, mutateVmiUpdate } from '../../../src/webhooks/mutate/vmi.js';
import { isOwnAccount } from '../../../src/webhooks/service-accounts.js';
import { createStructuralCheck } from '../../../src/webhooks/structural.js';

import { denial } from '../../../src/webhooks/verdict.js';
import type { OracleCase } from '../oracle-case.js';
import { configOf, envOf, given, INSTALL_NAMESPACE, userOf } from './admission-case.js';
import { givenBy, specIn, withInferred } from './instancetype-case.js';

const randomUuid = (): string => '00000000-0000-4000-8000-000000000000';
const now = '1970-01-01T00:00:00Z';
const structural = createStructuralCheck();

interface DataSource extends KubeObject {
  spec: { source?: { dataSource?: { namespace: string; name: string } } };
}

function labelsIn(testCase: OracleCase): (namespace: string, name: string) => Record<string, string> | undefined {
  const all = envOf<DataSource>(testCase, 'DataSource');
  const find = (namespace: string, name: string): DataSource | undefined =>
    all.find((d) => d.metadata.namespace === namespace && d.metadata.name === name);
  return (namespace, name) => {
    const source = find(namespace, name);
    const next = source?.spec.source?.dataSource;
    const target = next ? find(next.namespace, next.name) : source;
    return target && (target.metadata.labels ?? {});
  };
}

function shown<T extends KubeObject>(mutation: Mutation<T>, before: T): unknown {
  if ('refusal' in mutation) {
    const { refusal } = mutation;
    return { denied: 'causes' in refusal ? { allowed: false, ...denial(refusal.causes) } : { allowed: false, message: refusal.error } };
  }
  if (mutation.object === before) return { object: before, unchanged: true };
  return { object: mutation.object, warnings: mutation.warnings };
}

function mutateInstance(testCase: OracleCase): unknown {
  const vmi = structural.completed('VirtualMachineInstance', testCase.object as VirtualMachineInstance);
  const old = testCase.oldObject as VirtualMachineInstance | undefined;
  if (old) return shown(mutateVmiUpdate(vmi, old, isOwnAccount(userOf(testCase), INSTALL_NAMESPACE)), vmi);
  const problems = structural.problems('VirtualMachineInstance', testCase.object);
  if (problems.length > 0) return { denied: { allowed: false, causes: problems.map((message) => ({ field: '', type: '', message })) } };
  const presets = envOf<VirtualMachineInstancePreset>(testCase, 'VirtualMachineInstancePreset');
  return shown(mutateVmiCreate(vmi, configOf(testCase, given(testCase)), { presets, now, randomUuid }), vmi);
}

async function mutateMachine(asked: OracleCase): Promise<unknown> {
  const before = structural.completed('VirtualMachine', asked.object as VirtualMachine);
  const inferred = await withInferred({ ...asked, object: before });
  if (!inferred.ok) return { denied: { allowed: false, message: inferred.error } };
  const testCase = inferred.value;
  const vm = testCase.object as VirtualMachine;
  const old = testCase.oldObject as VirtualMachine | undefined;
  const preference = givenBy(specIn(testCase, 'preference'));
  const context = {
    creating: !old,
    ...(old ? { old } : {}),
    ...(preference ? { preference } : {}),
    namespace: vm.metadata.namespace ?? 'default',
    randomUuid,
    labelsOf: labelsIn(testCase),
  };
  return shown(mutateVm(vm, configOf(testCase, given(testCase)), context), before);
}

function mutateMigrationJob(testCase: OracleCase): unknown {
  const migration = testCase.object as VirtualMachineInstanceMigration;
  return shown(mutateMigration(migration), migration);
}

function mutateCloneRequest(testCase: OracleCase): unknown {
  const clone = testCase.object as VirtualMachineClone;
  return shown(mutateClone(clone, 'xxxxx'), clone);
}

export async function answer(testCase: OracleCase): Promise<unknown> {
  if (testCase.op === 'vmi') return mutateInstance(testCase);
  if (testCase.op === 'vm') return mutateMachine(testCase);
  if (testCase.op === 'vmim') return mutateMigrationJob(testCase);
  if (testCase.op === 'clone') return mutateCloneRequest(testCase);
  return { error: `operation ${testCase.op} is not served yet` };
}
