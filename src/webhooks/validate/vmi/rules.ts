// The ordered lists of rules for VMI specs. `specRules` hold wherever a VMI spec is written; the others only for a VMI being created.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { gateState } from '../../../core/config/gates.js';
import { type Causes, check, notSupported, type Rule } from '../rule.js';
import { accessCredentials } from './access-credentials.js';
import { disksAndBootOrder } from './boot-order.js';
import * as cpu from './cpu.js';
import { architecture, attachedVolumes, hyperv, memoryAsked } from './create-only.js';
import * as devices from './devices.js';
import { disks } from './disks.js';
import { dns } from './dns.js';
import { graceAnnotations, graceDevices } from './grace.js';
import { interfaceFields } from './interfaces.js';
import { launchSecurity } from './launch-security.js';
import * as lifecycle from './lifecycle.js';
import * as machine from './machine.js';
import { metadataCauses } from './metadata.js';
import * as networks from './networks.js';
import { resourceClaims } from './resource-claims.js';
import * as resources from './resources.js';
import { containerDiskPaths, noUtilityVolumes, volumes } from './volumes.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

const networkRules: readonly SpecRule[] = [
  networks.networkSources,
  networks.interfaceStates,
  networks.interfaceBindings,
  networks.uniqueNetworks,
  networks.draNetworks,
  networks.pairing,
  interfaceFields,
];

export const specRules: readonly SpecRule[] = [
  resources.hostName,
  resources.memoryRequest,
  resources.memoryLimit,
  resources.hugepages,
  resources.guestMemoryWithinLimit,
  machine.machineType,
  machine.firmwareAcpi,
  resources.cpuAmounts,
  cpu.pinnedMemory,
  cpu.pinnedCpuAmounts,
  cpu.pinnedCpuSource,
  cpu.pinnedThreads,
  cpu.numa,
  cpu.isolatedEmulatorThread,
  cpu.featurePolicies,
  cpu.socketCeiling,
  lifecycle.startStrategy,
  cpu.realtime,
  lifecycle.scheduling,
  ...networkRules,
  resourceClaims,
  disksAndBootOrder,
  devices.inputs,
  devices.ioThreads,
  lifecycle.probes,
  disks,
  machine.firmware,
  machine.secureBoot,
  volumes,
  containerDiskPaths,
  noUtilityVolumes,
  accessCredentials,
  dns,
  lifecycle.evictionStrategy,
  devices.ramFb,
  devices.hostDevices,
  graceDevices,
  devices.sound,
  launchSecurity,
  devices.vsock,
  devices.persistentReservation,
  devices.downwardMetrics,
  devices.filesystems,
  devices.video,
  devices.panicDevices,
  lifecycle.rebootPolicy,
  lifecycle.reservedOverhead,
  lifecycle.serviceAccount,
];

/**
 * Network and storage rules run once more for a VMI on its own: its API has always listed their causes twice, and scripts count them.
 * People see each once: see denial() in admission.ts.
 */
const ownRules: readonly SpecRule[] = [networks.discontinuedBindings, ...networkRules, containerDiskPaths, noUtilityVolumes, disks];

/** A gate that was withdrawn and is still listed makes what it once allowed an explicit refusal. */
export function* withdrawnGates(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Causes {
  const listed = config.spec.developerConfiguration?.featureGates ?? [];
  const used = spec.domain.devices.interfaces ?? [];
  for (const [gate, binding] of [
    ['Passt', 'passt'],
    ['Macvtap', 'macvtap'],
  ] as const) {
    if (!listed.includes(gate) || gateState(gate) !== 'Discontinued' || !used.some((i) => i[binding])) continue;
    yield notSupported(
      '',
      `the ${binding} binding is discontinued since v1.3, though the gate ${gate} is listed: use passtBinding or a binding plugin`,
    );
  }
}

export { discontinuedBindings } from './networks.js';

export function* vmiSpecCauses(spec: VirtualMachineInstanceSpec, at: FieldPath, config: ClusterConfig): Causes {
  yield* check(specRules, spec, at, config);
}

/** `isOwnAccount`: the request comes from one of KubeVirt's service accounts. */
export function* vmiCreateCauses(vmi: VirtualMachineInstance, config: ClusterConfig, isOwnAccount: boolean): Causes {
  const { spec, metadata } = vmi;
  yield* withdrawnGates(spec, config);
  yield* check(ownRules, spec, 'spec', config);
  yield* vmiSpecCauses(spec, 'spec', config);
  yield* check([attachedVolumes, memoryAsked], spec, 'spec', config);
  yield* metadataCauses(metadata, 'metadata', config, isOwnAccount);
  yield* graceAnnotations(spec, metadata.annotations, 'metadata', config);
  yield* check([hyperv, architecture], spec, 'spec', config);
}

export const templateSpecPath = field('spec', 'template', 'spec');
