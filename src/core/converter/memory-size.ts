// How much memory a guest has, and whether it is backed by a shareable memory file. Read by the memory, CPU and NUMA steps.
import type { DomainSpec, Quantity, VirtualMachineInstance } from '../../api/index.js';
import { amountOf, parseQuantity } from '../../api/quantity.js';
import { KvError } from '../../base/errors.js';

const UNIT = amountOf(1).nano;

/** Whole bytes, rounded down: a guest never gets more than was asked for. */
export function bytesOf(quantity: Quantity, what: string): bigint {
  const { nano } = parseQuantity(quantity);
  if (nano < 0n) throw new KvError('Invalid', `${what} is ${quantity}: a memory size cannot be negative, set a positive quantity`);
  return nano / UNIT;
}

/** memory.guest, else the memory request, else the limit. */
export function guestMemory({ memory, resources }: DomainSpec): Quantity {
  return memory?.guest ?? resources?.requests?.memory ?? resources?.limits?.memory ?? '0';
}

export const hasVirtiofs = ({ devices }: DomainSpec): boolean => devices.filesystems?.some((fs) => fs.virtiofs !== undefined) ?? false;
export const hasPasst = ({ devices }: DomainSpec): boolean =>
  devices.interfaces?.some((iface) => iface.passtBinding !== undefined) ?? false;

/** Other processes (virtiofsd, passt) map the guest's memory. */
export const isMemoryShared = (domain: DomainSpec): boolean => hasVirtiofs(domain) || hasPasst(domain);

/** Shared memory and, unless the annotation says no, huge pages come from a memfd, which libvirt ties to a NUMA cell. */
export function needsMemfd(vmi: VirtualMachineInstance): boolean {
  const hugepages = vmi.spec.domain.memory?.hugepages !== undefined && vmi.metadata.annotations?.['kubevirt.io/memfd'] !== 'false';
  return hugepages || isMemoryShared(vmi.spec.domain);
}
