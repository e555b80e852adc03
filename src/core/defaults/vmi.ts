// All defaults of a new VirtualMachineInstance: the spec's, those of its architecture, hot-plug ceilings, and the status fields and
// annotations that follow from them. Used by the mutating webhook; the VM controller builds VMIs that pass through it.
import type { VirtualMachineInstance } from '../../api/index.js';
import { fail, ok, type Result } from '../../base/result.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { isLiveUpdate, QUOTE_SOCKET } from '../config/cluster-lookups.js';
import { hasPcieHotplug, isArm64, setArchitectureDefaults, setArchitectureFeatures } from './architecture.js';
import { canonicalVmiSpec } from './canonical.js';
import { switchOnRequired } from './hyperv.js';
import { setHotplugCeilings } from './live-update.js';
import { setObjectDefaults } from './object-defaults.js';
import { defaultVmiSpec } from './vmi-spec.js';

export interface DefaultsContext {
  readonly randomUuid: () => string;
}

export const PCI_TOPOLOGY_ANNOTATION = 'kubevirt.io/pci-topology-version';
export const PCI_TOPOLOGY_VERSION = 'v3';
const EVEN_PARITY_ANNOTATION = 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity';
const QGS_SOCKET_ANNOTATION = 'kubevirt.io/qgs-socket-path';
/** The uid of qemu in the launcher. */
const NON_ROOT_USER = 107;

function annotationsOf(vmi: VirtualMachineInstance, config: ClusterConfig): Record<string, string> {
  const { spec, metadata } = vmi;
  const added: Record<string, string> = {};
  if (hasPcieHotplug(spec)) added[PCI_TOPOLOGY_ANNOTATION] = metadata.annotations?.[PCI_TOPOLOGY_ANNOTATION] ?? PCI_TOPOLOGY_VERSION;
  const isolated = spec.domain.cpu?.isolateEmulatorThread === true;
  if (isolated && config.isEnabled('AlignCPUs') && EVEN_PARITY_ANNOTATION in config.annotations) added[EVEN_PARITY_ANNOTATION] = '';
  if (spec.domain.launchSecurity?.tdx) {
    const path = config.spec.confidentialCompute?.tdx?.attestation?.qgsSocketPath ?? QUOTE_SOCKET;
    if (path) added[QGS_SOCKET_ANNOTATION] = path;
  }
  return added;
}

function statusOf(vmi: VirtualMachineInstance, config: ClusterConfig): NonNullable<VirtualMachineInstance['status']> {
  const { memory, cpu } = vmi.spec.domain;
  const guest = memory?.guest;
  const { sockets, cores, threads } = cpu ?? {};
  const topology = { ...(sockets ? { sockets } : {}), ...(cores ? { cores } : {}), ...(threads ? { threads } : {}) };
  return {
    ...vmi.status,
    ...(guest === undefined ? {} : { memory: { guestAtBoot: guest, guestCurrent: guest, guestRequested: guest } }),
    currentCPUTopology: vmi.status?.currentCPUTopology ?? topology,
    runtimeUser: config.isEnabled('Root') ? (vmi.status?.runtimeUser ?? 0) : NON_ROOT_USER,
  };
}

/** A copy with every default, or the reason why the cluster cannot give one. */
export function defaultVmi(
  given: VirtualMachineInstance,
  config: ClusterConfig,
  context: DefaultsContext,
): Result<VirtualMachineInstance, string> {
  const defaulted = defaultVmiSpec(given.spec, config);
  if (!defaulted.ok) return fail(defaulted.error);
  const spec = defaulted.value;
  setArchitectureFeatures(spec, config);
  setObjectDefaults(spec, context.randomUuid);
  switchOnRequired(spec);
  setArchitectureDefaults(spec, config);
  if (!isArm64(spec) && isLiveUpdate(config)) setHotplugCeilings(spec, config);
  const vmi: VirtualMachineInstance = { ...structuredClone(given), spec: canonicalVmiSpec(spec) };
  const annotations = { ...vmi.metadata.annotations, ...annotationsOf(vmi, config) };
  if (Object.keys(annotations).length > 0) vmi.metadata.annotations = annotations;
  vmi.status = statusOf(vmi, config);
  return ok(vmi);
}
