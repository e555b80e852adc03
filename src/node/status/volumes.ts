// Which device each volume became in the guest, and the machine facts that only libvirt knows. Pure; everything else in these parts of the
// status belongs to virt-controller and stays as it is.
import type { DomainReport } from '../../api/domain-report.js';
import type { MemoryStatus, VirtualMachineInstance, VolumeStatus } from '../../api/index.js';
import { quantityOf } from '../../api/quantity.js';

export function nextVolumeStatus(vmi: VirtualMachineInstance, domain: DomainReport): VolumeStatus[] {
  const targets = new Map(domain.spec.disks.map((disk) => [disk.name, disk.target]));
  const listed = new Map((vmi.status?.volumeStatus ?? []).map((status) => [status.name, status]));
  for (const volume of vmi.spec.volumes ?? []) {
    const target = targets.get(volume.name);
    if (target !== undefined) listed.set(volume.name, { ...listed.get(volume.name), name: volume.name, target });
  }
  return [...listed.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function nextMemory(vmi: VirtualMachineInstance, domain: DomainReport): MemoryStatus | undefined {
  const { memoryBytes } = domain.spec;
  return memoryBytes === undefined ? vmi.status?.memory : { ...vmi.status?.memory, guestCurrent: quantityOf(memoryBytes) };
}
