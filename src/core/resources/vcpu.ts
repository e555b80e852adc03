// How many vCPUs count towards a VMI's resources, and when its pod has guaranteed quality of service. Used by the overhead, by the
// pod's requests and limits and by the number of network queues.
import type { DomainSpec, Quantity } from '../../api/index.js';
import { compareQuantities, isZeroQuantity, quantityValue } from '../../api/quantity.js';

/** cores × sockets × threads; without any of them the CPU limit, else the CPU request, in whole CPUs. At least one. */
export function vcpuCount({ cpu, resources }: DomainSpec): number {
  if (cpu) return [cpu.cores, cpu.sockets, cpu.threads].reduce<number>((product, n) => product * (n || 1), 1);
  const given = resources?.limits?.cpu ?? resources?.requests?.cpu;
  return Math.max(1, given === undefined ? 1 : Number(quantityValue(given)));
}

const MAX_TAP_QUEUES = 256;

/** Queues of the guest's virtio NICs; 0 unless multi-queue is asked for. */
export function tapQueues(domain: DomainSpec): number {
  return domain.devices.networkInterfaceMultiqueue === true ? Math.min(vcpuCount(domain), MAX_TAP_QUEUES) : 0;
}

const isSame = (request: Quantity | undefined, limit: Quantity | undefined): boolean =>
  request !== undefined && limit !== undefined && !isZeroQuantity(request) && compareQuantities(request, limit) === 0;

/** The user asked for equal requests and limits of both CPU and memory. */
export const wantsGuaranteed = ({ resources }: DomainSpec): boolean =>
  isSame(resources?.requests?.memory, resources?.limits?.memory) && isSame(resources?.requests?.cpu, resources?.limits?.cpu);

export const hasDedicatedCpus = ({ cpu }: DomainSpec): boolean => cpu?.dedicatedCpuPlacement === true;

/** Every container of the pod must then have equal requests and limits. */
export const isGuaranteed = (domain: DomainSpec): boolean => hasDedicatedCpus(domain) || wantsGuaranteed(domain);
