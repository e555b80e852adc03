// Questions about the cluster configuration that have more than one place to look: per-architecture values with their old cluster-wide
// overrides, and settings with a rule behind them. Used by defaulting, admission and the converter.
import type { ArchSpecificConfiguration, Quantity } from '../../api/index.js';
import type { ClusterConfig } from './cluster-config.js';

/** Guests of ppc64le are admitted where the CR configures that architecture; upstream has them no more. */
export const allowsPower = (config: ClusterConfig): boolean => config.spec.architectureConfiguration?.ppc64le !== undefined;

const POWER: ArchSpecificConfiguration = { machineType: 'pseries', emulatedMachines: ['pseries*'] };

function forArchitecture(config: ClusterConfig, arch: string | undefined): ArchSpecificConfiguration {
  const { architectureConfiguration: all } = config.spec;
  if (arch === 'arm64') return all?.arm64 ?? {};
  if (arch === 's390x') return all?.s390x ?? {};
  if (arch === 'ppc64le' && all?.ppc64le) return { ...POWER, ...all.ppc64le };
  return all?.amd64 ?? {};
}

/** The old cluster-wide setting wins over the architecture's. */
export function machineTypeFor(config: ClusterConfig, arch: string | undefined): string {
  return config.spec.machineType || forArchitecture(config, arch).machineType || '';
}

/** Where the launcher looks for UEFI firmware; the old cluster-wide setting wins here, too. */
export const ovmfPathFor = (config: ClusterConfig, arch: string | undefined): string =>
  config.spec.ovmfPath || forArchitecture(config, arch).ovmfPath || '';

/** Globs of the machine types that a VM of this architecture may ask for. */
export function emulatedMachinesFor(config: ClusterConfig, arch: string | undefined): readonly string[] {
  const { emulatedMachines: old = [] } = config.spec;
  return old.length > 0 ? old : (forArchitecture(config, arch).emulatedMachines ?? []);
}

/** What runs the guests in hardware: the device under /dev, and the types of domains and of virtualization that libvirt knows. */
export interface Hypervisor {
  readonly name: 'kvm' | 'hyperv-direct';
  readonly device: 'kvm' | 'mshv';
  readonly virtType: 'kvm' | 'hyperv';
}

const KVM: Hypervisor = { name: 'kvm', device: 'kvm', virtType: 'kvm' };
const HYPERV_DIRECT: Hypervisor = { name: 'hyperv-direct', device: 'mshv', virtType: 'hyperv' };

/** The first one that the cluster names, behind its gate. */
export function hypervisorOf(config: ClusterConfig): Hypervisor {
  const [first] = config.isEnabled('ConfigurableHypervisor') ? (config.spec.hypervisors ?? []) : [];
  return first?.name === HYPERV_DIRECT.name ? HYPERV_DIRECT : KVM;
}

export const isLiveUpdate = (config: ClusterConfig): boolean => config.spec.vmRolloutStrategy === 'LiveUpdate';

/** undefined when the cluster leaves it at the default that is no reason to add a request. */
export function clusterCpuRequest(config: ClusterConfig): Quantity | undefined {
  const { cpuRequest } = config.spec;
  return cpuRequest === undefined || cpuRequest === '100m' || Number(cpuRequest) === 0.1 ? undefined : cpuRequest;
}

/** The setting wins; where it says nothing, the gate that came before it. */
export const allowsPersistentReservation = (config: ClusterConfig): boolean =>
  config.spec.persistentReservationConfiguration?.enabled ??
  config.spec.developerConfiguration?.featureGates?.includes('PersistentReservation') ??
  false;

export const QUOTE_SOCKET = '/var/run/tdx-qgs/qgs.socket';

/** Where the daemon listens that signs the quotes of TDX guests, and whether a node without it may run none. */
export function quoteSocketOf({ spec }: ClusterConfig): { readonly path: string; readonly isEnforced: boolean } {
  const attestation = spec.confidentialCompute?.tdx?.attestation;
  return { path: attestation?.qgsSocketPath || QUOTE_SOCKET, isEnforced: attestation?.enforced === true };
}
