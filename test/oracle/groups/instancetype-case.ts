// The instance type and preference of a recorded VM, found among the objects of its case.
import type { KubeObject, VirtualMachine } from '../../../src/api/index.js';
import { ok, type Result } from '../../../src/base/result.js';
import {
  type ControllerRevision,
  type Family,
  type Found,
  inferMatchers,
  type Lookup,
  lookupOf,
  specFrom,
  type VolumeSource,
} from '../../../src/core/instancetype/index.js';
import { matcherCauses } from '../../../src/webhooks/mutate/matchers.js';
import type { OracleCase } from '../oracle-case.js';

function find<T extends KubeObject>(testCase: OracleCase, kind: string, name: string, namespace?: string): T | undefined {
  const all = (testCase.env ?? []) as T[];
  return all.find((o) => o.kind === kind && o.metadata.name === name && (namespace === undefined || o.metadata.namespace === namespace));
}

function found(testCase: OracleCase, lookup: Lookup): Found {
  const revision = lookup.revision && find<ControllerRevision>(testCase, 'ControllerRevision', lookup.revision.name);
  const object = lookup.object.ok
    ? find<KubeObject & { spec?: unknown }>(testCase, lookup.object.value.kind, lookup.object.value.name, lookup.object.value.namespace)
    : undefined;
  return { ...(revision ? { revision } : {}), ...(object ? { object } : {}) };
}

/** Undefined when the VM names none. */
export function specIn<F extends Family>(testCase: OracleCase, family: F): ReturnType<typeof specFrom<F>> | undefined {
  const lookup = lookupOf(testCase.object as VirtualMachine, family);
  return lookup && specFrom({ ...lookup, family }, found(testCase, lookup));
}

/** The case with what the VM's volumes say filled in; references that are not sound are left for the webhook to refuse. */
export async function withInferred(testCase: OracleCase): Promise<Result<OracleCase, string>> {
  const vm = testCase.object as VirtualMachine;
  if (matcherCauses(vm, testCase.oldObject as VirtualMachine | undefined).length > 0) return ok(testCase);
  const read = async ({ kind, namespace, name }: VolumeSource): Promise<KubeObject | undefined> => find(testCase, kind, name, namespace);
  const inferred = await inferMatchers(vm, vm.metadata.namespace ?? 'default', read);
  return inferred.ok ? ok({ ...testCase, object: inferred.value }) : inferred;
}

export const givenBy = <T>(result: Result<T, string> | undefined): T | undefined => (result?.ok ? result.value : undefined);
