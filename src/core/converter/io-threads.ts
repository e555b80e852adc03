// How many I/O threads a domain gets and which disk uses which: shared and automatic pools, dedicated threads, or a supplemental pool that
// every disk may use. Thread ids start at 1, pooled ones first, dedicated ones after them.
import type { Disk, DomainSpec } from '../../api/index.js';
import { quantityValue } from '../../api/quantity.js';

export interface IoThreadPlan {
  readonly total: number;
  /** Threads shared by the disks without their own. */
  readonly pooled: number;
  /** Size of the supplemental pool; 0 = another policy. */
  readonly supplemental: number;
}

/** Undefined when neither a policy nor a disk asks for threads. */
export function planIoThreads(domain: DomainSpec): IoThreadPlan | undefined {
  const disks = domain.devices.disks ?? [];
  if (domain.ioThreadsPolicy === undefined && !disks.some(isDedicated)) return undefined;
  const supplemental = domain.ioThreadsPolicy === 'supplementalPool' ? (domain.ioThreads?.supplementalPoolThreadCount ?? 0) : 0;
  if (supplemental > 0) return { total: supplemental, pooled: 0, supplemental };
  const dedicated = disks.filter(isDedicated).length;
  const sharing = disks.length - dedicated;
  const limit = threadLimit(domain);
  const pooled = disks.length > limit ? Math.max(limit - dedicated, 1) : sharing;
  return { total: pooled + dedicated, pooled, supplemental: 0 };
}

const isDedicated = (disk: Disk): boolean => disk.dedicatedIOThread === true;

function threadLimit({ ioThreadsPolicy, cpu, resources }: DomainSpec): number {
  if (ioThreadsPolicy === undefined || ioThreadsPolicy === 'shared') return 1;
  if (ioThreadsPolicy !== 'auto') return 0;
  if (cpu?.dedicatedCpuPlacement && cpu.isolateEmulatorThread) return 1;
  const quantity = resources?.requests?.cpu ?? resources?.limits?.cpu;
  return 2 * (quantity === undefined ? 1 : Number(quantityValue(quantity)));
}

export type DiskThread = { readonly id: number } | { readonly pool: readonly number[] } | undefined;

/** One entry a disk of spec.domain.devices.disks; only virtio disks have a thread. */
export function assignThreads(disks: readonly Disk[], plan: IoThreadPlan | undefined): DiskThread[] {
  let nextPooled = 1;
  let nextDedicated = (plan?.pooled ?? 0) + 1;
  return disks.map((disk) => {
    if (!plan || busOf(disk) !== 'virtio') return undefined;
    if (plan.supplemental > 0) return { pool: Array.from({ length: plan.supplemental }, (_, i) => i + 1) };
    if (isDedicated(disk)) return { id: nextDedicated++ };
    const id = nextPooled;
    nextPooled = (nextPooled % plan.pooled) + 1;
    return { id };
  });
}

/** The SCSI controller has one pooled thread for all its disks, as soon as one of them asks for a dedicated one. */
export function scsiThread(disks: readonly Disk[], plan: IoThreadPlan | undefined): number | undefined {
  if (!plan || plan.pooled === 0 || !disks.some((disk) => busOf(disk) === 'scsi' && isDedicated(disk))) return undefined;
  const pooledVirtio = disks.filter((disk) => busOf(disk) === 'virtio' && !isDedicated(disk)).length;
  return (pooledVirtio % plan.pooled) + 1;
}

export const busOf = (disk: Disk): string => (disk.lun ?? disk.disk ?? disk.cdrom)?.bus ?? '';
