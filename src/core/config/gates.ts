// Feature gates and their maturity. GA gates are always on; Beta ones on unless disabled; Alpha and Deprecated ones off unless listed.

export type GateState = 'Alpha' | 'Beta' | 'GA' | 'Deprecated' | 'Discontinued';

const words = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean);

export const BETA_GATES =
  words(`ImageVolume Snapshot WorkloadEncryptionSEV KubevirtSeccompProfile NodeRestriction GPUsWithDRA HostDevicesWithDRA
  DecentralizedLiveMigration DeclarativeHotplugVolumes PasstBinding PodSecondaryInterfaceNamingUpgrade ExternalNetResourceInjection
  RebootPolicy Template OptOutRoleAggregation`);

export const ALPHA_GATES = words(`CPUManager ExperimentalIgnitionSupport HypervStrictCheck Sidecar HostDevices HostDisk DownwardMetrics Root
  WorkloadEncryptionTDX VSOCK AlignCPUs EnableVirtioFsStorageVolumes PCINUMAAwareTopology NetworkDevicesWithDRA ObjectGraph UtilityVolumes
  ConfigurableHypervisor IncrementalBackup ContainerPathVolumes ReservedOverheadMemlock VGPULiveMigration VMStatsCollector OCIExport
  Plugins GraceIOVirtualization IOMMUFD FirmwareAutoSelection MigrationStallDetection MigrationDowntimeTuning
  CrossArchitectureVirtualization PortRangesSpec`);

const GA = words(`LiveMigration SRIOVLiveMigration NonRoot PSA CPUNodeDiscovery NUMA CommonInstancetypesDeploymentGate GPU HotplugNICs
  BochsDisplayForEFIGuests VMLiveUpdateFeatures NetworkBindingPlugins DynamicPodInterfaceNaming VolumesUpdateStrategy VolumeMigration
  DisableCustomSELinuxPolicy AutoResourceLimitsGate ClusterProfiler VMPersistentState VMExport PersistentReservation
  InstancetypeReferencePolicy EnableVirtioFsConfigVolumes ExpandDisks PanicDevices LiveUpdateNADRef VideoConfig SecureExecution
  MigrationPriorityQueue VmiMemoryOverheadReport LibvirtHooksServerAndClient`);

const DEPRECATED = words('DockerSELinuxMCSWorkaround MultiArchitecture DisableMDEVConfiguration HotplugVolumes');
const DISCONTINUED = words('ExperimentalVirtiofsSupport Passt Macvtap PasstIPStackMigration');

const states = new Map<string, GateState>([
  ...BETA_GATES.map((g) => [g, 'Beta'] as const),
  ...ALPHA_GATES.map((g) => [g, 'Alpha'] as const),
  ...GA.map((g) => [g, 'GA'] as const),
  ...DEPRECATED.map((g) => [g, 'Deprecated'] as const),
  ...DISCONTINUED.map((g) => [g, 'Discontinued'] as const),
]);

/** undefined for a gate nobody knows. */
export const gateState = (gate: string): GateState | undefined => states.get(gate);

export function isGateEnabled(gate: string, listed: readonly string[], disabled: readonly string[]): boolean {
  const state = states.get(gate);
  if (state === undefined) return false;
  if (state === 'GA') return true;
  if (listed.includes(gate)) return true;
  if (disabled.includes(gate)) return false;
  return state === 'Beta';
}
