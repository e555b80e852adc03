// NUMA passthrough: the guest gets a cell for each host cell that its vCPUs are pinned to, with an equal share of memory in huge pages.
// Called by placement.ts after the vCPUs have their CPUs.
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { HostCell, HostTopology } from './host-topology.js';
import { bytesOf, guestMemory } from './memory-size.js';

export interface GuestCell {
  readonly id: number;
  readonly hostCell: number;
  readonly vcpus: readonly number[];
  readonly memoryBytes: bigint;
  readonly distances: readonly { readonly id: number; readonly value: number }[];
}

export interface NumaPlacement {
  readonly cells: readonly GuestCell[];
  readonly pageBytes: bigint;
}

/** Undefined when the node reported no cells: then the guest keeps a flat memory. */
export function planNuma(
  vmi: VirtualMachineInstance,
  topology: HostTopology | undefined,
  vcpuPins: readonly number[],
): NumaPlacement | undefined {
  if (!topology || topology.cells.length === 0) return undefined;
  const used = topology.cells.map((cell) => ({ cell, vcpus: vcpusOn(cell, vcpuPins) })).filter(({ vcpus }) => vcpus.length > 0);
  const pageBytes = pageSize(vmi);
  const shares = shareMemory(bytesOf(guestMemory(vmi.spec.domain), 'guest memory'), pageBytes, used.length);
  const guestIds = new Map(used.map(({ cell }, id) => [cell.id, id]));
  return {
    pageBytes,
    cells: used.map(({ cell, vcpus }, id) => ({
      id,
      hostCell: cell.id,
      vcpus,
      memoryBytes: shares[id] ?? 0n,
      distances: distancesOf(cell, guestIds),
    })),
  };
}

function vcpusOn(cell: HostCell, vcpuPins: readonly number[]): number[] {
  const cpus = new Set(cell.cpus.map(({ id }) => id));
  return vcpuPins.flatMap((cpu, vcpu) => (cpus.has(cpu) ? [vcpu] : []));
}

function pageSize(vmi: VirtualMachineInstance): bigint {
  const size = vmi.spec.domain.memory?.hugepages?.pageSize;
  if (size === undefined) {
    throw new KvError(
      'Invalid',
      'passing through a numa topology is restricted to VMIs with hugepages enabled: set domain.memory.hugepages',
    );
  }
  return bytesOf(size, 'hugepages.pageSize');
}

/** Equal shares in whole pages; the first cells take one page more each until all pages are given out. */
function shareMemory(bytes: bigint, page: bigint, count: number): bigint[] {
  const cells = BigInt(count);
  if (bytes < cells * page) {
    throw new KvError(
      'Invalid',
      `not enough memory requested to allocate at least one hugepage per numa node: ${bytes} < ${cells * page} bytes`,
    );
  }
  if (bytes % page !== 0n) {
    throw new KvError('Invalid', `requested memory can't be divided through the numa page size: ${bytes} is no multiple of ${page} bytes`);
  }
  const pages = bytes / page;
  return Array.from({ length: count }, (_, i) => (pages / cells + (BigInt(i) < pages % cells ? 1n : 0n)) * page);
}

const distancesOf = (cell: HostCell, guestIds: ReadonlyMap<number, number>): GuestCell['distances'] =>
  cell.distances.flatMap(({ id, value }) => {
    const guestId = guestIds.get(id);
    return guestId === undefined ? [] : [{ id: guestId, value }];
  });
