// Which volumes of a VMI are the same files on both nodes, and which must be copied while the guest moves. Asked by the launcher about the disks
// it has, and by the node agent about the channel that copies need. Pure.
import type { VirtualMachineInstance } from '../../api/index.js';

type Volume = NonNullable<VirtualMachineInstance['spec']['volumes']>[number];

const migratedNames = ({ status }: VirtualMachineInstance): ReadonlySet<string> =>
  new Set((status?.migratedVolumes ?? []).map(({ volumeName }) => volumeName));

/** Both pods see the same storage. Claims are, unless their volume moves to another claim. */
export function isShared(vmi: VirtualMachineInstance, { name, persistentVolumeClaim, dataVolume, hostDisk }: Volume): boolean {
  if (migratedNames(vmi).has(name)) return false;
  return persistentVolumeClaim !== undefined || dataVolume !== undefined || hostDisk?.shared === true;
}

export const sharedVolumes = (vmi: VirtualMachineInstance): ReadonlySet<string> =>
  new Set((vmi.spec.volumes ?? []).filter((volume) => isShared(vmi, volume)).map(({ name }) => name));

export const movingVolumes = migratedNames;

/** Disks that the guest can write, on volumes that are not shared: their copies need a channel of their own. */
export function copiesDisks(vmi: VirtualMachineInstance): boolean {
  const shared = sharedVolumes(vmi);
  const volumes = new Set((vmi.spec.volumes ?? []).map(({ name }) => name));
  return (vmi.spec.domain.devices.disks ?? []).some(
    ({ name, cdrom, disk, lun }) => !cdrom && disk?.readonly !== true && lun?.readonly !== true && volumes.has(name) && !shared.has(name),
  );
}
