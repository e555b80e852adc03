// Whether QEMU must be allowed to lock memory, and how much. Devices that write to the guest's memory by themselves, encrypted and realtime
// guests need all of it locked. The node agent raises the limit before the guest starts. Pure.
import type { VirtualMachineInstance } from '../../api/index.js';
import { addAmounts, amountValue, parseQuantity } from '../../api/quantity.js';
import type { ClusterConfig } from '../config/cluster-config.js';
import { guestMemory } from '../converter/memory-size.js';
import { hasVfioDevice, isSev } from './devices.js';
import { overheadOf } from './memory-overhead.js';

function mustLock({ spec: { domain } }: VirtualMachineInstance): boolean {
  const isReserved = domain.memory?.reservedOverhead?.memLock === 'Required';
  return hasVfioDevice(domain) || isSev(domain) || domain.cpu?.realtime !== undefined || isReserved;
}

/** Bytes: the guest's memory with all that surrounds it; undefined when nothing is locked. */
export function lockedMemoryBytes(vmi: VirtualMachineInstance, config: ClusterConfig): bigint | undefined {
  if (!mustLock(vmi)) return undefined;
  return amountValue(addAmounts(overheadOf(vmi, config), parseQuantity(guestMemory(vmi.spec.domain))));
}
