// What the steps see: the facts, the VMI and everything that more than one step derives from them, calculated once.
// Built by assemble.ts for each domain.
import type { Devices, DomainSpec, VirtualMachineInstance } from '../../api/index.js';
import { type ArchTraits, archOf, traitsOf } from './arch.js';
import { type CpuPlan, planCpus } from './cpu-topology.js';
import type { DomainFacts } from './facts.js';
import { type IoThreadPlan, planIoThreads } from './io-threads.js';
import { type Placement, planPlacement } from './placement.js';

export interface Scope extends DomainFacts {
  readonly vmi: VirtualMachineInstance;
  readonly domain: DomainSpec;
  readonly devices: Devices;
  readonly arch: ArchTraits;
  /** Model of virtio devices. */
  readonly virtioModel: string;
  /** The machine's devices sit on PCIe ports. */
  readonly onPcie: boolean;
  /** Encrypted guests reach devices only through the IOMMU. */
  readonly iommu: boolean;
  readonly cpus: CpuPlan;
  /** Undefined = the domain has no I/O threads. */
  readonly ioThreads: IoThreadPlan | undefined;
  /** Undefined = CPUs are shared. */
  readonly placement: Placement | undefined;
  /** The launcher runs as root; paths of libvirt's own state differ. */
  readonly asRoot: boolean;
}

export function buildScope(vmi: VirtualMachineInstance, facts: DomainFacts): Scope {
  const { domain } = vmi.spec;
  const arch = traitsOf((facts.crossArchEmulation ? archOf(vmi.spec.architecture ?? '') : undefined) ?? facts.hostArch);
  const cpus = planCpus(domain, arch.cpuHotplug);
  const ioThreads = planIoThreads(domain);
  return {
    ...facts,
    vmi,
    domain,
    devices: domain.devices,
    arch,
    virtioModel: arch.virtioModel(domain.devices.useVirtioTransitional === true),
    onPcie: arch.pcie && isPcieMachine(domain.machine?.type ?? ''),
    iommu: hasSev(domain) || isSecureExecution(vmi),
    cpus,
    ioThreads,
    placement: domain.cpu?.dedicatedCpuPlacement ? planPlacement({ vmi, cpus, ioThreads, facts }) : undefined,
    asRoot: (vmi.status?.runtimeUser ?? 0) === 0 && vmi.metadata.annotations?.['kubevirt.io/nonroot'] === undefined,
  };
}

/** amd64 has an older machine with a plain PCI bus, too. */
const isPcieMachine = (type: string): boolean => !/^pc($|-i440fx)/.test(type);

/** SEV, SEV-ES or SEV-SNP. */
export const hasSev = ({ launchSecurity }: DomainSpec): boolean => launchSecurity?.sev !== undefined || launchSecurity?.snp !== undefined;

/** On s390x any launch security means IBM Secure Execution. */
export const isSecureExecution = ({ spec }: VirtualMachineInstance): boolean =>
  spec.domain.launchSecurity !== undefined && spec.architecture === 's390x';
