// Reads quantities of a VMI for the rules: absent ones count as zero, as in Kubernetes' own arithmetic. Pure.
import type { Quantity, VirtualMachineInstanceSpec } from '../../../api/index.js';
import { isQuantity, quantityMilli, quantityValue } from '../../../api/quantity.js';

type Kind = 'requests' | 'limits';

export const bytes = (quantity: Quantity | undefined): bigint =>
  quantity === undefined || !isQuantity(quantity) ? 0n : quantityValue(quantity);

const milli = (quantity: Quantity | undefined): bigint => (quantity === undefined || !isQuantity(quantity) ? 0n : quantityMilli(quantity));

export const memoryOf = (spec: VirtualMachineInstanceSpec, kind: Kind): bigint => bytes(spec.domain.resources?.[kind]?.memory);
export const cpuMilliOf = (spec: VirtualMachineInstanceSpec, kind: Kind): bigint => milli(spec.domain.resources?.[kind]?.cpu);
export const cpuOf = (spec: VirtualMachineInstanceSpec, kind: Kind): bigint => bytes(spec.domain.resources?.[kind]?.cpu);

/** For messages. */
export const written = (spec: VirtualMachineInstanceSpec, kind: Kind, resource: 'cpu' | 'memory'): string =>
  String(spec.domain.resources?.[kind]?.[resource] ?? 0);

/** vCPUs of the topology; parts that are not given count as one, none given at all as zero. */
export function vcpusOf(spec: VirtualMachineInstanceSpec): bigint {
  const { cores = 0, sockets = 0, threads = 0 } = spec.domain.cpu ?? {};
  if (!cores && !sockets && !threads) return 0n;
  return BigInt((cores || 1) * (sockets || 1) * (threads || 1));
}
