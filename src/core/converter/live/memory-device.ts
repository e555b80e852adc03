// Memory of a running guest: one virtio-mem device that holds everything above what the guest booted with. Its size is fixed, what of it the guest
// shall have is requested and follows when the guest gives it back or takes it. Pure.
import type { VirtualMachineInstance } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { Domain } from '../domain.js';
import type { MemoryDevice, Size } from '../domain-devices.js';
import { renderDevice } from '../domain-xml.js';
import { bytesOf } from '../memory-size.js';
import { bytesIn } from './live-domain.js';

export interface MemoryChange {
  readonly kind: 'attach' | 'update';
  readonly requestedBytes: bigint;
  readonly xml: string;
}

/** As large as the pages that back the guest: QEMU hands memory over in such blocks. */
const BLOCK = 2n * 1024n ** 2n;
const LARGE_BLOCK = 1024n ** 3n;

const bytes = (value: bigint): Size => ({ unit: 'b', value });

/** undefined when the guest is asked for that much already. */
export function planMemory(vmi: VirtualMachineInstance, live: Domain): MemoryChange | undefined {
  const { guest, maxGuest, hugepages } = vmi.spec.domain.memory ?? {};
  const atBoot = vmi.status?.memory?.guestAtBoot;
  if (guest === undefined || maxGuest === undefined || atBoot === undefined) {
    throw new KvError('Invalid', 'memory cannot be changed while the VM runs: it needs memory.guest and memory.maxGuest from the start');
  }
  const boot = bytesOf(atBoot, 'status.memory.guestAtBoot');
  const requested = bytesOf(guest, 'memory.guest') - boot;
  if (requested < 0n) {
    throw new KvError('Invalid', `memory.guest ${guest} is less than the VM was started with (${atBoot}); restart the VM to get there`);
  }
  const device = live.devices?.memory?.find(({ model }) => model === 'virtio-mem');
  if (device) return updateOf(device, requested);
  if (requested === 0n) return undefined;
  const target: MemoryDevice['target'] = {
    size: bytes(bytesOf(maxGuest, 'memory.maxGuest') - boot),
    node: 0,
    block: bytes(hugepages?.pageSize === '1Gi' ? LARGE_BLOCK : BLOCK),
    requested: bytes(requested),
  };
  return { kind: 'attach', requestedBytes: requested, xml: renderDevice('memory', { model: 'virtio-mem', target }) };
}

function updateOf(device: MemoryDevice, requested: bigint): MemoryChange | undefined {
  if (bytesIn(device.target?.requested) === Number(requested)) return undefined;
  const changed: MemoryDevice = { ...device, target: { ...device.target, requested: bytes(requested) } };
  return { kind: 'update', requestedBytes: requested, xml: renderDevice('memory', changed) };
}
