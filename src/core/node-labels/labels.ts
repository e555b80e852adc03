// The labels that say what guests a node can run. Schedulers match them against the selectors of launcher pods, so both sides must spell
// them alike. Pure: the node agent reads the documents, writes the labels and knows when to do it again.
import type { ClusterConfig } from '../config/cluster-config.js';
import type { DomainCapabilities, HostModel, TimeStampCounter } from './capabilities.js';

const CPU_FEATURE = 'cpu-feature.node.kubevirt.io/';
const CPU_MODEL = 'cpu-model.node.kubevirt.io/';
const CPU_MODEL_MIGRATION = 'cpu-model-migration.node.kubevirt.io/';
const CPU_TIMER = 'cpu-timer.node.kubevirt.io/';
const CPU_VENDOR = 'cpu-vendor.node.kubevirt.io/';
const HOST_MODEL = 'host-model-cpu.node.kubevirt.io/';
const HOST_MODEL_FEATURE = 'host-model-required-features.node.kubevirt.io/';
const HYPERV = 'hyperv.node.kubevirt.io/';
const MACHINE_TYPE = 'machine-type.node.kubevirt.io/';
const VM_ARCH = 'kubevirt.io/vm-arch-';
const OBSOLETE_HOST_MODEL = 'node-labeller.kubevirt.io/obsolete-host-model';
const TSC_FREQUENCY = `${CPU_TIMER}tsc-frequency`;
const TSC_SCALABLE = `${CPU_TIMER}tsc-scalable`;

/** With this annotation a node's labels are an administrator's business. */
export const SKIP_NODE_ANNOTATION = 'node-labeller.kubevirt.io/skip-node';

const OWN_PREFIXES = [
  CPU_FEATURE,
  CPU_MODEL,
  CPU_MODEL_MIGRATION,
  CPU_TIMER,
  CPU_VENDOR,
  HOST_MODEL,
  HOST_MODEL_FEATURE,
  HYPERV,
  MACHINE_TYPE,
  VM_ARCH,
];
const OWN_LABELS: ReadonlySet<string> = new Set([
  OBSOLETE_HOST_MODEL,
  'kubevirt.io/realtime',
  'kubevirt.io/sev',
  'kubevirt.io/sev-es',
  'kubevirt.io/sev-snp',
  'kubevirt.io/s390-pv',
  'kubevirt.io/tdx',
]);

export const isCapabilityLabel = (key: string): boolean => OWN_LABELS.has(key) || OWN_PREFIXES.some((prefix) => key.startsWith(prefix));

/** Models of another age, each also under the name of its first version. */
const OBSOLETE_MODELS =
  '486 pentium pentium2 pentium3 pentiumpro coreduo n270 core2duo Conroe athlon phenom qemu64 qemu32 kvm64 kvm32 Opteron_G1 Opteron_G2'
    .split(' ')
    .flatMap((model) => [model, `${model}-v1`]);

/** What the cluster calls obsolete; without a word from it, the models above. */
export function obsoleteModels({ spec }: ClusterConfig): ReadonlySet<string> {
  const given = Object.entries(spec.obsoleteCPUModels ?? {});
  if (given.length === 0) return new Set(OBSOLETE_MODELS);
  return new Set(given.filter(([, isObsolete]) => isObsolete).map(([model]) => model));
}

export interface NodeFacts {
  /** amd64, arm64, s390x. */
  readonly arch: string;
  readonly domain: DomainCapabilities;
  readonly features: readonly string[];
  readonly machines: readonly string[];
  readonly tsc?: TimeStampCounter;
  /** Other architectures whose guests this node can emulate. */
  readonly emulated?: readonly string[];
  /** Enlightenments that the node's hypervisor offers. */
  readonly hyperv: readonly string[];
  /** The scheduler lets real-time tasks run without pause. */
  readonly realtime: boolean;
}

/** Only the cluster's own word makes the host's model obsolete: by default guests may still follow an old host. */
function hostModelLabels(model: HostModel | undefined, { spec }: ClusterConfig): string[] {
  if (!model) return [];
  return [
    `${HOST_MODEL}${model.name}`,
    ...model.requiredFeatures.map((feature) => `${HOST_MODEL_FEATURE}${feature}`),
    ...(model.vendor ? [`${CPU_VENDOR}${model.vendor}`] : []),
    ...(spec.obsoleteCPUModels?.[model.name] ? [OBSOLETE_HOST_MODEL] : []),
  ];
}

/** arm64 guests take the host's CPU as it is: no model and no feature is on offer. */
function cpuLabels({ arch, domain, features }: NodeFacts, config: ClusterConfig): string[] {
  if (arch === 'arm64') return [];
  const obsolete = obsoleteModels(config);
  const models = domain.models.filter(({ name }) => !obsolete.has(name));
  return [
    ...features.map((name) => `${CPU_FEATURE}${name}`),
    ...models.filter(({ usable }) => usable).map(({ name }) => `${CPU_MODEL}${name}`),
    ...models.map(({ name }) => `${CPU_MODEL_MIGRATION}${name}`),
    ...hostModelLabels(domain.hostModel, config),
  ];
}

function abilities({ domain, realtime }: NodeFacts): string[] {
  const wanted: [boolean, string][] = [
    [realtime, 'kubevirt.io/realtime'],
    [domain.sev, 'kubevirt.io/sev'],
    [domain.sevEs, 'kubevirt.io/sev-es'],
    [domain.sevSnp, 'kubevirt.io/sev-snp'],
    [domain.securePv, 'kubevirt.io/s390-pv'],
    [domain.tdx, 'kubevirt.io/tdx'],
  ];
  return wanted.flatMap(([applies, label]) => (applies ? [label] : []));
}

export function nodeLabels(facts: NodeFacts, config: ClusterConfig): Record<string, string> {
  const present = [
    ...cpuLabels(facts, config),
    ...facts.machines.map((machine) => `${MACHINE_TYPE}${machine}`),
    ...facts.hyperv.map((name) => `${HYPERV}${name}`),
    ...abilities(facts),
    ...(config.isEnabled('CrossArchitectureVirtualization')
      ? [facts.arch, ...(facts.emulated ?? [])].map((arch) => `${VM_ARCH}${arch}`)
      : []),
  ];
  return {
    ...Object.fromEntries(present.map((label) => [label, 'true'])),
    ...(facts.tsc ? { [TSC_FREQUENCY]: String(facts.tsc.frequencyHz), [TSC_SCALABLE]: String(facts.tsc.scalable) } : {}),
  };
}

/** All labels of a node after ours were renewed; others' labels stay. */
export function relabelled(current: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): Record<string, string> {
  return { ...Object.fromEntries(Object.entries(current).filter(([key]) => !isCapabilityLabel(key))), ...wanted };
}
