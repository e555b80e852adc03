// The defaults of a VMI spec that its owner sees: architecture, machine, requests, guest memory, CPU topology, pull policies, eviction
// strategy, the default network, a disk for every volume. Applied to VMIs on creation and to copies of VM templates before they are checked.
import type { Quantity, VirtualMachineInstanceSpec } from '../../api/index.js';
import { isQuantity, isZeroQuantity, quantityValue } from '../../api/quantity.js';
import { fail, ok, type Result } from '../../base/result.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { clusterCpuRequest, machineTypeFor } from '../config/cluster-lookups.js';

const isGiven = (quantity: string | number | undefined): quantity is string | number => quantity !== undefined && !isZeroQuantity(quantity);

function setMachine(spec: VirtualMachineInstanceSpec, config: ClusterConfig): void {
  const machine = spec.domain.machine ?? {};
  spec.domain.machine = machine;
  if (!machine.type) machine.type = machineTypeFor(config, spec.architecture);
}

function setCpuRequest(spec: VirtualMachineInstanceSpec, config: ClusterConfig): void {
  const resources = spec.domain.resources ?? {};
  spec.domain.resources = resources;
  const limit = resources.limits?.cpu;
  if (isGiven(limit) && !isGiven(resources.requests?.cpu)) resources.requests = { ...resources.requests, cpu: limit };
  const wanted = clusterCpuRequest(config);
  if (wanted === undefined || resources.requests?.cpu !== undefined || spec.domain.cpu?.dedicatedCpuPlacement) return;
  resources.requests = { ...resources.requests, cpu: wanted };
}

function setGuestMemory(spec: VirtualMachineInstanceSpec): void {
  const memory = spec.domain.memory ?? {};
  spec.domain.memory = memory;
  if (memory.guest !== undefined) return;
  const { requests, limits } = spec.domain.resources ?? {};
  if (isGiven(requests?.memory)) memory.guest = requests.memory;
  else if (isGiven(limits?.memory)) memory.guest = limits.memory;
  else if (memory.hugepages?.pageSize && isQuantity(memory.hugepages.pageSize)) memory.guest = memory.hugepages.pageSize;
}

/** Sockets are a 32-bit count; a negative amount wraps, and the amount's own check refuses it. */
const socketsFor = (wanted: Quantity): number => Number(BigInt.asUintN(32, quantityValue(wanted)));

/** Without any topology each requested CPU becomes a socket, which performs best. */
export function setCpuTopology(spec: VirtualMachineInstanceSpec): void {
  const cpu = spec.domain.cpu ?? {};
  spec.domain.cpu = cpu;
  if (cpu.cores || cpu.sockets || cpu.threads) return;
  const { requests, limits } = spec.domain.resources ?? {};
  const wanted = limits?.cpu ?? requests?.cpu;
  Object.assign(cpu, { sockets: wanted === undefined ? 1 : socketsFor(wanted), cores: 1, threads: 1 });
}

/** As Kubernetes does for containers: a tag that moves is pulled each time. */
function setPullPolicies(spec: VirtualMachineInstanceSpec): void {
  for (const { containerDisk } of spec.volumes ?? []) {
    if (!containerDisk || containerDisk.imagePullPolicy) continue;
    const moves = containerDisk.image.endsWith(':latest') || !/[:@]/.test(containerDisk.image);
    containerDisk.imagePullPolicy = moves ? 'Always' : 'IfNotPresent';
  }
}

/** Answers why the cluster's default binding cannot be used, if it cannot. */
export function setDefaultNetwork(spec: VirtualMachineInstanceSpec, config: ClusterConfig): string | undefined {
  const { devices } = spec.domain;
  if (devices.autoattachPodInterface === false || spec.networks?.length || devices.interfaces?.length) return undefined;
  const binding = config.spec.network?.defaultNetworkInterface;
  if (binding === 'slirp') return 'slirp interface is deprecated as of v1.3';
  if (binding === 'bridge' && config.spec.network?.permitBridgeInterfaceOnPodNetwork === false) {
    return 'bridge interface is not enabled in kubevirt-config';
  }
  if (binding === 'bridge' || binding === 'masquerade') devices.interfaces = [{ name: 'default', [binding]: {} }];
  spec.networks = [{ name: 'default', pod: {} }];
  return undefined;
}

export function setMissingDisks(spec: VirtualMachineInstanceSpec): void {
  const { devices } = spec.domain;
  const attached = new Set([...(devices.disks ?? []), ...(devices.filesystems ?? [])].map((d) => d.name));
  const missing = (spec.volumes ?? []).filter((v) => !attached.has(v.name));
  if (missing.length > 0) devices.disks = [...(devices.disks ?? []), ...missing.map((v) => ({ name: v.name }))];
}

/** A copy of the spec with its defaults, or why the cluster's configuration does not allow one. */
export function defaultVmiSpec(given: VirtualMachineInstanceSpec, config: ClusterConfig): Result<VirtualMachineInstanceSpec, string> {
  const spec = structuredClone(given);
  spec.domain ??= { devices: {} };
  spec.domain.devices ??= {};
  spec.architecture ||= config.defaultArchitecture;
  setMachine(spec, config);
  setCpuRequest(spec, config);
  setGuestMemory(spec);
  setCpuTopology(spec);
  setPullPolicies(spec);
  const strategy = spec.evictionStrategy ?? config.spec.evictionStrategy;
  if (strategy !== undefined) spec.evictionStrategy = strategy;
  const problem = setDefaultNetwork(spec, config);
  if (problem !== undefined) return fail(problem);
  setMissingDisks(spec);
  return ok(spec);
}
