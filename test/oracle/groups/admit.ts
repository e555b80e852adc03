// Oracle group `admit`: the validating webhooks under each recorded gate profile, and create after the mutating webhook (`flow`).
import type { KubeVirt, VirtualMachine, VirtualMachineInstance } from '../../../src/api/index.js';
import type { ClusterConfig } from '../../../src/core/config/cluster-config.js';
import { ALPHA_GATES, BETA_GATES } from '../../../src/core/config/gates.js';
import { admitKubeVirtCreate, admitKubeVirtDelete, admitKubeVirtUpdate } from '../../../src/operators/installer/admit-kubevirt.js';
import { mutateVm } from '../../../src/webhooks/mutate/vm.js';
import { mutateVmiCreate } from '../../../src/webhooks/mutate/vmi.js';
import { isNodeAgent } from '../../../src/webhooks/service-accounts.js';
import { admitVm, admitVmStatus } from '../../../src/webhooks/validate/vm/admit.js';
import { admitVmiCreate, admitVmiUpdate } from '../../../src/webhooks/validate/vmi/admit.js';
import { allow, refuse, structuralVerdict, type Verdict } from '../../../src/webhooks/verdict.js';
import type { OracleCase } from '../oracle-case.js';
import {
  type Admit,
  configOf,
  envOf,
  type GateLists,
  given,
  INSTALL_NAMESPACE,
  own,
  structural,
  structured,
  userOf,
} from './admission-case.js';
import { KIND_OPS } from './admit-kinds.js';
import { givenBy, specIn, withInferred } from './instancetype-case.js';

const PROFILES: Readonly<Record<string, GateLists>> = {
  default: {},
  allGates: { gates: ALPHA_GATES.filter((g) => g !== 'Root') },
  noBeta: { disabled: BETA_GATES },
};
const MOST_CAUSES = 10;

function vmRequest(testCase: OracleCase): Parameters<typeof admitVm>[0] {
  const vm = testCase.object as VirtualMachine;
  const old = testCase.oldObject as VirtualMachine | undefined;
  const { name, namespace = 'default' } = vm.metadata;
  const vmi = envOf<VirtualMachineInstance>(testCase, 'VirtualMachineInstance').find((v) => v.metadata.name === name);
  const active = vm.status?.ready === true && vmi ? { vmi } : {};
  const chosen = { instancetype: givenBy(specIn(testCase, 'instancetype')), preference: givenBy(specIn(testCase, 'preference')) };
  return { vm, ...(old ? { old } : {}), ...active, chosen, namespace, isOwnAccount: own(testCase) };
}

function vmiUpdate(testCase: OracleCase, config: ClusterConfig): Verdict {
  const extra = (testCase.userExtra ?? {}) as Record<string, string[]>;
  const nodeName = extra['authentication.kubernetes.io/node-name']?.[0];
  const [vmi, old] = [testCase.object as VirtualMachineInstance, testCase.oldObject as VirtualMachineInstance];
  const who = { isOwnAccount: own(testCase), isNodeAgent: isNodeAgent(userOf(testCase), INSTALL_NAMESPACE) };
  return admitVmiUpdate({ vmi, old, ...who, ...(nodeName ? { nodeName } : {}) }, config);
}

const ADMIT: Readonly<Record<string, Admit>> = {
  'vmi-create': structured('VirtualMachineInstance', (c, config) => admitVmiCreate(c.object as VirtualMachineInstance, config, own(c))),
  'vmi-update': structured('VirtualMachineInstance', vmiUpdate),
  'vm-create': structured('VirtualMachine', (c, config) => admitVm(vmRequest(c), config)),
  'vm-update': structured('VirtualMachine', (c, config) => admitVm(vmRequest(c), config)),
  'vm-status': (c, config) => admitVmStatus(vmRequest(c), config),
  ...KIND_OPS,
  'kubevirt-create': (c) => admitKubeVirtCreate(c.object as KubeVirt, envOf<KubeVirt>(c, 'KubeVirt')),
  'kubevirt-update': (c) => admitKubeVirtUpdate(c.object as KubeVirt, c.oldObject as KubeVirt | undefined),
  'kubevirt-delete': (c) =>
    admitKubeVirtDelete((c.oldObject ?? c.object) as KubeVirt, {
      vmis: envOf(c, 'VirtualMachineInstance').length,
      vms: envOf(c, 'VirtualMachine').length,
      replicaSets: envOf(c, 'VirtualMachineInstanceReplicaSet').length,
    }),
};

export function shown(verdict: Verdict): unknown {
  if (verdict.allowed) return { allowed: true };
  return 'causes' in verdict
    ? { allowed: false, causes: verdict.causes.slice(0, MOST_CAUSES), code: 422 }
    : { allowed: false, message: verdict.error, code: verdict.code };
}

async function mutated(testCase: OracleCase, config: ClusterConfig): Promise<{ object: unknown } | { refusal: Verdict }> {
  const randomUuid = (): string => '00000000-0000-4000-8000-000000000000';
  const kind = testCase.op === 'vm-create' ? 'VirtualMachine' : 'VirtualMachineInstance';
  const structure = structuralVerdict(structural.problems(kind, testCase.object));
  if (!structure.allowed) return { refusal: structure };
  const object = structural.completed(kind, testCase.object);
  if (testCase.op === 'vm-create') {
    const inferred = await withInferred({ ...testCase, object });
    if (!inferred.ok) return { refusal: refuse(inferred.error) };
    const vm = inferred.value.object as VirtualMachine;
    const preference = givenBy(specIn(inferred.value, 'preference'));
    const around = { namespace: vm.metadata.namespace ?? 'default', labelsOf: () => undefined, ...(preference ? { preference } : {}) };
    return mutateVm(vm, config, { creating: true, randomUuid, ...around });
  }
  return mutateVmiCreate(object as VirtualMachineInstance, config, { presets: [], now: '1970-01-01T00:00:00Z', randomUuid });
}

async function flow(testCase: OracleCase, config: ClusterConfig, admit: Admit): Promise<Verdict> {
  const mutation = await mutated(testCase, config);
  return 'refusal' in mutation ? mutation.refusal : admit({ ...testCase, object: mutation.object }, config);
}

/** The admission of one case under one set of gates, also used by `gatemap`. */
export function admitWith(testCase: OracleCase, lists: GateLists): Verdict {
  const admit = ADMIT[String(testCase.op)];
  return admit
    ? admit(testCase, configOf(testCase, lists))
    : { allowed: false, error: `operation ${testCase.op} is not served yet`, code: 501 };
}

export async function answer(testCase: OracleCase): Promise<unknown> {
  const admit = ADMIT[String(testCase.op)];
  if (!admit) return { default: { allowed: false, message: `operation ${testCase.op} is not served yet` } };
  const out: Record<string, unknown> = {};
  for (const [name, lists] of Object.entries({ ...PROFILES, given: given(testCase) })) out[name] = shown(admitWith(testCase, lists));
  const first = (testCase.profiles as string[] | undefined)?.[0] ?? 'default';
  const lists = first === 'given' ? given(testCase) : (PROFILES[first] ?? {});
  out.flow =
    testCase.op === 'vmi-create' || testCase.op === 'vm-create'
      ? shown(await flow(testCase, configOf(testCase, lists), admit))
      : shown(allow());
  return out;
}
