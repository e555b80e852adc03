// Passthrough of NVIDIA Grace GPUs: what the guest needs for those that it asks for. Pure.

import { type FieldPath, field, keyed } from '../../../api/field-path.js';
import type { VirtualMachineInstanceSpec } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { machineTypeFor } from '../../../core/config/cluster-lookups.js';
import { graceRequests } from '../../../core/devices/grace.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid, type Rule, required } from '../rule.js';

interface Request {
  readonly path: FieldPath;
  readonly resource: string;
}

function requestsOf(spec: VirtualMachineInstanceSpec, at: FieldPath, config: ClusterConfig): { grace: Request[]; ambiguous: Request[] } {
  const found: { grace: Request[]; ambiguous: Request[] } = { grace: [], ambiguous: [] };
  for (const { list, index, kind, resource } of graceRequests(spec, config)) {
    found[kind].push({ path: field(at, 'domain', 'devices', list, index, 'deviceName'), resource });
  }
  return found;
}

function* needs(spec: VirtualMachineInstanceSpec, at: FieldPath, config: ClusterConfig): Causes {
  const arch = spec.architecture || config.defaultArchitecture;
  const machine = spec.domain.machine?.type || machineTypeFor(config, arch);
  if (arch !== 'arm64') yield invalid(field(at, 'architecture'), 'a Grace GPU needs architecture arm64: set it, or take the device out');
  if (!machine.startsWith('virt')) {
    yield invalid(
      field(at, 'domain', 'machine', 'type'),
      'a Grace GPU needs a machine type that begins with virt: set one, or leave the type out',
    );
  }
  if (!spec.domain.cpu?.dedicatedCpuPlacement) {
    yield required(
      field(at, 'domain', 'cpu', 'dedicatedCpuPlacement'),
      'a Grace GPU needs CPUs of its own: set dedicatedCpuPlacement to true',
    );
  }
  for (const gate of ['PCINUMAAwareTopology', 'IOMMUFD']) {
    if (config.isEnabled(gate)) continue;
    yield invalid(field(at, 'domain', 'devices'), gateOff(gate, 'a Grace GPU'));
  }
}

export const graceDevices: Rule<VirtualMachineInstanceSpec> = function* (spec, at, config) {
  const { grace, ambiguous } = requestsOf(spec, at, config);
  if (config.isEnabled('GraceIOVirtualization')) {
    for (const { path, resource } of ambiguous) {
      yield invalid(
        path,
        `GraceIOVirtualization cannot tell which GPU the resource "${resource}" is: give its permitted host device an exact pciVendorSelector instead of a wildcard`,
      );
    }
    if (grace.length > 0) yield* needs(spec, at, config);
    return;
  }
  for (const { path, resource } of grace) {
    yield invalid(path, gateOff('GraceIOVirtualization', `passing through the NVIDIA Grace GPU "${resource}"`));
  }
};

const FORBIDDEN_ANNOTATIONS = [
  ['kubevirt.io/placePCIDevicesOnRootComplex', 'a Grace GPU cannot be placed on the root complex: take the annotation out'],
  ['kubevirt.io/disablePCIHole64', 'a Grace GPU needs the 64-bit PCI hole: take the annotation out'],
] as const;

/** `at` is the path of the metadata. */
export function* graceAnnotations(
  spec: VirtualMachineInstanceSpec,
  annotations: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
  config: ClusterConfig,
): Causes {
  if (requestsOf(spec, 'spec', config).grace.length === 0) return;
  for (const [name, message] of FORBIDDEN_ANNOTATIONS) {
    if (annotations?.[name] === 'true') yield invalid(keyed(field(at, 'annotations'), name), message);
  }
}
