// Room for CPU and memory hot-plug: the ceilings that a guest gets when the cluster rolls changes out live, and why a guest cannot have
// memory hot-plug at all. Used by defaulting, VM admission and the VM controller's restart decision.
import type { Quantity, VirtualMachineInstanceSpec } from '../../api/index.js';
import { compareQuantities, quantityOf, quantityValue } from '../../api/quantity.js';
import type { ClusterConfig } from '../config/cluster-config.js';

/** The most vCPUs any machine type takes. */
const MOST_VCPUS = 512;
const MI = 2n ** 20n;
const GI = 2n ** 30n;
/** A guest kernel needs this much below the hot-plugged part for its own tables. */
const LEAST_GUEST_BYTES = GI;

function incompatible(spec: VirtualMachineInstanceSpec): string | undefined {
  const { cpu, launchSecurity } = spec.domain;
  if (cpu?.realtime) return 'Memory hotplug is not compatible with realtime VMs';
  if (cpu?.numa?.guestMappingPassthrough) return 'Memory hotplug is not compatible with guest mapping passthrough';
  return launchSecurity ? 'Memory hotplug is not compatible with encrypted VMs' : undefined;
}

/** Why memory cannot grow to `maxGuest` while the guest runs, or undefined. */
export function memoryHotplugProblem(spec: VirtualMachineInstanceSpec, maxGuest: Quantity | undefined): string | undefined {
  const barred = incompatible(spec);
  if (barred) return barred;
  const { memory } = spec.domain;
  if (memory?.guest === undefined) return 'Guest memory must be configured when memory hotplug is enabled';
  if (maxGuest === undefined) return 'Max guest memory must be configured when memory hotplug is enabled';
  if (compareQuantities(memory.guest, maxGuest) > 0) return 'Guest memory is greater than the configured maxGuest memory';
  const block = memory.hugepages?.pageSize === '1Gi' ? GI : 2n * MI;
  if (quantityValue(memory.guest) % block !== 0n) return `Guest memory must be ${quantityOf(block)} aligned`;
  if (quantityValue(maxGuest) % block !== 0n) return `MaxGuest must be ${quantityOf(block)} aligned`;
  if (spec.architecture !== 'amd64') return 'Memory hotplug is only available for x86_64 VMs';
  if (quantityValue(memory.guest) < LEAST_GUEST_BYTES) {
    return 'Memory hotplug is only available for VMs with at least 1Gi of guest memory';
  }
  return undefined;
}

function socketCeiling(spec: VirtualMachineInstanceSpec, config: ClusterConfig): number {
  const { sockets = 0, cores = 0, threads = 0 } = spec.domain.cpu ?? {};
  const { maxCpuSockets, maxHotplugRatio = 1 } = config.spec.liveUpdateConfiguration ?? {};
  if (maxCpuSockets) return Math.max(maxCpuSockets, sockets);
  const wanted = sockets * maxHotplugRatio;
  const perSocket = cores * threads;
  return wanted * perSocket > MOST_VCPUS ? Math.max(Math.floor(MOST_VCPUS / perSocket), sockets) : wanted;
}

function memoryCeiling(spec: VirtualMachineInstanceSpec, config: ClusterConfig): Quantity | undefined {
  const { maxGuest, maxHotplugRatio = 1 } = config.spec.liveUpdateConfiguration ?? {};
  const guest = spec.domain.memory?.guest;
  if (maxGuest !== undefined) return maxGuest;
  return guest === undefined ? undefined : quantityOf(quantityValue(guest) * BigInt(maxHotplugRatio));
}

/** Changes the spec it is handed. */
export function setHotplugCeilings(spec: VirtualMachineInstanceSpec, config: ClusterConfig): void {
  const { cpu, memory } = spec.domain;
  if (cpu && !cpu.maxSockets) {
    const ceiling = socketCeiling(spec, config);
    if (ceiling > 0) cpu.maxSockets = ceiling;
  }
  if (!memory || memory.maxGuest !== undefined) return;
  const ceiling = memoryCeiling(spec, config);
  if (ceiling !== undefined && memoryHotplugProblem(spec, ceiling) === undefined) memory.maxGuest = ceiling;
}
