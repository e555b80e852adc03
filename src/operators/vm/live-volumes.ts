// Volumes and disks that come to a running guest and go: as the VM's template declares them, and as the older requests in its status ask for.
// Says what the lists of the template and of the VMI become. Pure; the VMI's admission has the last word on each volume.
import type {
  Disk,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineInstanceSpec,
  VirtualMachineVolumeRequest,
  Volume,
} from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { isHotpluggable } from '../../core/storage/hotpluggable.js';
import { deepEqual, guarded } from '../../runtime/patch.js';
import type { JsonPatchOperation } from '../../runtime/types.js';

export interface Lists {
  readonly volumes: readonly Volume[];
  readonly disks: readonly Disk[];
}

export const listsOf = ({ volumes = [], domain }: VirtualMachineInstanceSpec): Lists => ({ volumes, disks: domain.devices.disks ?? [] });

const named = <T extends { name: string }>(list: readonly T[], name: string): T | undefined => list.find((each) => each.name === name);
const without = <T extends { name: string }>(list: readonly T[], name: string): T[] => list.filter((each) => each.name !== name);

/** Still on its way out of the guest: what takes its name has to wait. */
export const isLeaving = ({ spec, status }: VirtualMachineInstance, name: string): boolean =>
  !named(spec.volumes ?? [], name) && named(status?.volumeStatus ?? [], name)?.hotplugVolume !== undefined;

/** The VMI's lists as the template declares them. */
export function declared(template: Lists, vmi: VirtualMachineInstance, has: Lists): Lists {
  const gone = has.volumes.filter((volume) => isHotpluggable(volume) && !deepEqual(named(template.volumes, volume.name), volume));
  // Drives come and go with a restart only; their media do not.
  const isDriveMissing = (name: string): boolean => named(template.disks, name)?.cdrom !== undefined && !named(has.disks, name);
  const coming = template.volumes.filter(
    (volume) => isHotpluggable(volume) && !named(has.volumes, volume.name) && !isLeaving(vmi, volume.name) && !isDriveMissing(volume.name),
  );
  const kept = has.disks.filter((disk) => !named(gone, disk.name) || disk.cdrom !== undefined);
  const disks = coming.filter(({ name }) => !named(kept, name)).map(({ name }) => named(template.disks, name) ?? { name });
  return { volumes: [...has.volumes.filter((volume) => !named(gone, volume.name)), ...coming], disks: [...kept, ...disks] };
}

/** Requests stand for what the template would declare. */
export const isDeclarative = (vm: VirtualMachine, config: ClusterConfig): boolean =>
  !config.isEnabled('HotplugVolumes') && config.isEnabled('DeclarativeHotplugVolumes') && vm.spec.updateVolumesStrategy !== 'Migration';

function added(lists: Lists, { name, disk, volumeSource }: NonNullable<VirtualMachineVolumeRequest['addVolumeOptions']>): Lists {
  if (named(lists.volumes, name)) return lists;
  const { persistentVolumeClaim: pvc, dataVolume } = volumeSource;
  const source = pvc
    ? { persistentVolumeClaim: { ...pvc, hotpluggable: true } }
    : { ...(dataVolume ? { dataVolume: { ...dataVolume, hotpluggable: true } } : {}) };
  return { volumes: [...lists.volumes, { name, ...source }], disks: [...lists.disks, { ...disk, name }] };
}

export function requested(lists: Lists, requests: readonly VirtualMachineVolumeRequest[], isBlocked: (name: string) => boolean): Lists {
  return requests.reduce((so, { addVolumeOptions: add, removeVolumeOptions: remove }) => {
    if (add) return isBlocked(add.name) ? so : added(so, add);
    return remove ? { volumes: without(so.volumes, remove.name), disks: without(so.disks, remove.name) } : so;
  }, lists);
}

/** Done once template and running guest have it. */
export function remainingVolumeRequests(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): VirtualMachineVolumeRequest[] {
  const specs = [vm.spec.template.spec, vmi?.status?.phase === 'Running' ? vmi.spec : undefined].filter((spec) => spec !== undefined);
  return (vm.status?.volumeRequests ?? []).filter(({ addVolumeOptions: add, removeVolumeOptions: remove }) => {
    const name = add?.name ?? remove?.name ?? '';
    return !specs.every(({ volumes = [] }) => (named(volumes, name) !== undefined) === (add !== undefined));
  });
}

/** Both lists at once, and only if nobody changed them meanwhile. */
export function listChanges(prefix: string, spec: VirtualMachineInstanceSpec, next: Lists): JsonPatchOperation[] {
  const now = listsOf(spec);
  const lists = [
    { path: `${prefix}/volumes`, old: spec.volumes, is: now.volumes, next: next.volumes },
    { path: `${prefix}/domain/devices/disks`, old: spec.domain.devices.disks, is: now.disks, next: next.disks },
  ];
  return lists.flatMap((list) => (deepEqual(list.is, list.next) ? [] : guarded(list.path, list.old, list.next)));
}
