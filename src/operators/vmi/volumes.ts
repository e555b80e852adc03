// Volumes of a VMI as its status shows them, and the claims that must exist before a pod makes sense. Pure.
import type { PersistentVolumeClaim, PersistentVolumeClaimInfo, VirtualMachineInstance, VolumeStatus } from '../../api/index.js';

type Volume = NonNullable<VirtualMachineInstance['spec']['volumes']>[number];

export function claimOf(volume: Volume): string | undefined {
  return volume.persistentVolumeClaim?.claimName ?? volume.dataVolume?.name ?? volume.ephemeral?.persistentVolumeClaim?.claimName;
}

const isHotplugged = (v: Volume): boolean =>
  v.persistentVolumeClaim?.hotpluggable === true || v.dataVolume?.hotpluggable === true || v.memoryDump !== undefined;

/** Claims that the launcher pod mounts and that are not there. */
export function missingClaims(vmi: VirtualMachineInstance, pvcs: ReadonlyMap<string, PersistentVolumeClaim>): string[] {
  return (vmi.spec.volumes ?? [])
    .filter((v) => !isHotplugged(v))
    .map(claimOf)
    .filter((name) => name !== undefined)
    .filter((name) => !pvcs.has(name));
}

function claimInfo(name: string, pvc: PersistentVolumeClaim): PersistentVolumeClaimInfo {
  const { spec, status } = pvc;
  return {
    claimName: name,
    ...(spec?.accessModes ? { accessModes: spec.accessModes } : {}),
    ...(status?.capacity ? { capacity: status.capacity } : {}),
    ...(spec?.resources?.requests ? { requests: spec.resources.requests } : {}),
    volumeMode: spec?.volumeMode ?? 'Filesystem',
  };
}

/** One entry a volume, sorted by name; what the node agent wrote (target, size, phase) stays. */
export function nextVolumeStatus(vmi: VirtualMachineInstance, pvcs: ReadonlyMap<string, PersistentVolumeClaim>): VolumeStatus[] {
  const known = new Map((vmi.status?.volumeStatus ?? []).map((s) => [s.name, s]));
  const entries = (vmi.spec.volumes ?? []).map((volume): VolumeStatus => {
    const claim = claimOf(volume);
    const pvc = claim === undefined ? undefined : pvcs.get(claim);
    return {
      target: '',
      ...known.get(volume.name),
      name: volume.name,
      ...(claim !== undefined && pvc ? { persistentVolumeClaimInfo: claimInfo(claim, pvc) } : {}),
    };
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
