// Which nodes may run a VMI: labels that the node labeller and the node agent put there, the cluster's and the user's own selectors, and
// affinity for what only the absence of a label can tell.
import type { Affinity, CPU, VirtualMachineInstance } from '../../api/index.js';
import { LABEL } from '../../api/labels.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { isSev, isSevEs, isSevSnp, isTdx } from '../../core/resources/devices.js';
import { hasDedicatedCpus } from '../../core/resources/vcpu.js';
import type { PodContext } from './context.js';
import { reservationLabels, reservationTerms } from './reservations.js';

const CPU_MODEL = 'cpu-model.node.kubevirt.io/';
const CPU_FEATURE = 'cpu-feature.node.kubevirt.io/';
const CPU_VENDOR = 'cpu-vendor.node.kubevirt.io/';
const MACHINE_TYPE = 'machine-type.node.kubevirt.io/';
const HYPERV = 'hyperv.node.kubevirt.io/';
/** Nodes say with it which guests they can emulate. */
const VM_ARCHITECTURE = 'kubevirt.io/vm-arch-';
const ARCHITECTURE = 'kubernetes.io/arch';
const CROSS_ARCHITECTURE = 'CrossArchitectureVirtualization';
const TSC_FREQUENCY = 'scheduling.node.kubevirt.io/tsc-frequency-';
const OBSOLETE_HOST_MODEL = 'node-labeller.kubevirt.io/obsolete-host-model';
const HYPERV_FEATURES = [
  'vpindex',
  'runtime',
  'reset',
  'synic',
  'synictimer',
  'frequencies',
  'reenlightenment',
  'tlbflush',
  'ipi',
] as const;

type Spec = VirtualMachineInstance['spec'];

const isHostModel = (cpu: CPU | undefined): boolean => (cpu?.model ?? '') === '' || cpu?.model === 'host-model';

function cpuLabels({ domain }: Spec): string[] {
  const { cpu } = domain;
  if (!cpu?.model) return [];
  const required = (cpu.features ?? []).filter(({ policy }) => !policy || policy === 'require');
  const named = !isHostModel(cpu) && cpu.model !== 'host-passthrough';
  return [...(named ? [`${CPU_MODEL}${cpu.model}`] : []), ...required.map(({ name }) => `${CPU_FEATURE}${name}`)];
}

function hypervLabels({ domain }: Spec, config: ClusterConfig): string[] {
  const hyperv = domain.features?.hyperv;
  if (!hyperv || !config.isEnabled('HypervStrictCheck')) return [];
  const isOn = (feature: { readonly enabled?: boolean } | undefined): boolean => feature !== undefined && feature.enabled !== false;
  return [
    ...HYPERV_FEATURES.filter((name) => isOn(hyperv[name])).map((name) => `${HYPERV}${name}`),
    ...(isOn(hyperv.evmcs) ? [`${CPU_VENDOR}Intel`] : []),
  ];
}

/** A guest that sees the host's time stamp counter needs a host that counts at the same rate. */
function tscLabels({ spec, status }: VirtualMachineInstance): string[] {
  const frequency = status?.topologyHints?.tscFrequency;
  const invariant = spec.domain.cpu?.features?.some(
    ({ name, policy }) => name === 'invtsc' && (policy === 'require' || policy === 'force'),
  );
  const reenlightenment = spec.domain.features?.hyperv?.reenlightenment;
  const needed = invariant === true || (reenlightenment !== undefined && reenlightenment.enabled !== false);
  return needed && frequency ? [`${TSC_FREQUENCY}${frequency}`] : [];
}

function securityLabels({ domain, architecture }: Spec): string[] {
  const wanted: [boolean, string][] = [
    [domain.cpu?.realtime !== undefined, 'kubevirt.io/realtime'],
    [isSev(domain), 'kubevirt.io/sev'],
    [isSevEs(domain), 'kubevirt.io/sev-es'],
    [isSevSnp(domain), 'kubevirt.io/sev-snp'],
    [architecture === 's390x' && domain.launchSecurity !== undefined, 'kubevirt.io/s390-pv'],
    [isTdx(domain), 'kubevirt.io/tdx'],
  ];
  return wanted.flatMap(([applies, label]) => (applies ? [label] : []));
}

/** A guest that may be emulated runs wherever its architecture can be; without emulation on nodes of its own architecture. */
function architectureLabels({ architecture }: Spec, config: ClusterConfig): Record<string, string> {
  if (architecture && config.isEnabled(CROSS_ARCHITECTURE)) return { [`${VM_ARCHITECTURE}${architecture}`]: 'true' };
  return { [ARCHITECTURE]: (architecture || config.defaultArchitecture).toLowerCase() };
}

export function nodeSelector(vmi: VirtualMachineInstance, config: ClusterConfig): Record<string, string> {
  const { spec, status } = vmi;
  const machine = status?.machine?.type || spec.domain.machine?.type;
  const features = [
    ...(hasDedicatedCpus(spec.domain) ? [LABEL.cpuManager] : []),
    ...cpuLabels(spec),
    ...hypervLabels(spec, config),
    ...(machine ? [`${MACHINE_TYPE}${machine}`] : []),
    ...tscLabels(vmi),
    ...securityLabels(spec),
  ];
  return {
    [LABEL.schedulable]: 'true',
    ...architectureLabels(spec, config),
    ...config.spec.developerConfiguration?.nodeSelectors,
    ...spec.nodeSelector,
    ...Object.fromEntries(features.map((label) => [label, 'true'])),
  };
}

interface Expression {
  key: string;
  operator: string;
  values?: string[];
}

/** Every alternative of the user's own requirement must meet ours as well. */
function withRequired(affinity: Affinity | undefined, expressions: readonly Expression[]): Affinity | undefined {
  if (expressions.length === 0) return affinity;
  const node = affinity?.nodeAffinity;
  const terms = node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const extended = (terms.length > 0 ? terms : [{}]).map((term) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), ...expressions],
  }));
  return { ...affinity, nodeAffinity: { ...node, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: extended } } };
}

function withApart(affinity: Affinity | undefined, terms: ReturnType<typeof reservationTerms>): Affinity | undefined {
  if (terms.length === 0) return affinity;
  const { requiredDuringSchedulingIgnoredDuringExecution: given = [], ...others } = affinity?.podAntiAffinity ?? {};
  return { ...affinity, podAntiAffinity: { ...others, requiredDuringSchedulingIgnoredDuringExecution: [...given, ...terms] } };
}

/** Emulation is slow: nodes of the guest's own architecture come first. */
function withOwnArchitecture(affinity: Affinity | undefined, { architecture }: Spec, config: ClusterConfig): Affinity | undefined {
  if (!architecture || !config.isEnabled(CROSS_ARCHITECTURE)) return affinity;
  const own = { matchExpressions: [{ key: ARCHITECTURE, operator: 'In', values: [architecture.toLowerCase()] }] };
  const { preferredDuringSchedulingIgnoredDuringExecution: given = [], ...others } = affinity?.nodeAffinity ?? {};
  const preferred = [...given, { weight: 100, preference: own }];
  return { ...affinity, nodeAffinity: { ...others, preferredDuringSchedulingIgnoredDuringExecution: preferred } };
}

export function affinity(vmi: VirtualMachineInstance, ctx: PodContext): Affinity | undefined {
  const { cpu } = vmi.spec.domain;
  const forbidden = (cpu?.features ?? []).filter(({ policy }) => policy === 'forbid').map(({ name }) => `${CPU_FEATURE}${name}`);
  const absent = [...(isHostModel(cpu) ? [OBSOLETE_HOST_MODEL] : []), ...forbidden];
  const onNodes = withRequired(
    vmi.spec.affinity,
    absent.map((key) => ({ key, operator: 'DoesNotExist' })),
  );
  return withOwnArchitecture(withApart(onNodes, reservationTerms(reservationLabels(vmi, ctx))), vmi.spec, ctx.config);
}
