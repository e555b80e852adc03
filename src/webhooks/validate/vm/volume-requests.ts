// Requests to hot-plug or unplug a volume that wait in a VM's status: sound by themselves, free of conflicts, and leaving a valid VMI spec
// when applied to the template and to the running VMI. Pure.
import { isDeepStrictEqual } from 'node:util';
import type {
  AddVolumeOptions,
  Disk,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineInstanceSpec,
  VirtualMachineVolumeRequest,
  Volume,
} from '../../../api/index.js';
import { isDeleting } from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { isMigrating } from '../../../core/eviction/strategy.js';
import { type Cause, type Causes, invalid, notSupported } from '../rule.js';
import { busOf } from '../vmi/disks.js';
import { templateSpecPath, vmiSpecCauses } from '../vmi/rules.js';

const PATH = 'Status.volumeRequests';

function hotplugBusFault(disk: Disk, name: string, what: string): string | undefined {
  const bus = busOf(disk);
  if (disk.disk) {
    const message = `${what} for disk [${name}] requires bus to be 'scsi' or 'virtio', not [${bus}]: change it`;
    return bus === 'scsi' || bus === 'virtio' ? undefined : message;
  }
  if (!disk.lun) return `${what} for [${name}] requires a disk of type 'disk' or 'lun': set one`;
  return bus === 'scsi' ? undefined : `${what} for LUN [${name}] requires bus to be 'scsi', not [${bus}]: change it`;
}

/** Why a disk cannot be hot-plugged, or undefined. `what` begins the message, `at` is the field of the cause. */
export function hotplugDiskFault(disk: Disk | undefined, name: string, what: string, at: string): Cause | undefined {
  if (!disk) return invalid(at, `${what} for [${name}] requires the disk field to be set: say how the guest sees the volume`);
  const message = hotplugBusFault(disk, name, what);
  if (message) return invalid(at, message);
  if (disk.dedicatedIOThread && busOf(disk) !== 'virtio')
    return invalid(at, `${what} for [${name}] requires virtio bus for IOThreads: change the bus, or leave dedicatedIOThread out`);
  if (disk.bootOrder === undefined || disk.bootOrder >= 1) return undefined;
  const first = 'spec.domain.devices.disks[1]';
  return invalid(`${first}.bootOrder`, `the boot order of disk [${name}] is ${disk.bootOrder}: boot orders begin with 1`);
}

function volumeOf({ name, volumeSource }: AddVolumeOptions): Volume {
  const { persistentVolumeClaim, dataVolume } = volumeSource;
  if (persistentVolumeClaim) return { name, persistentVolumeClaim };
  return dataVolume ? { name, dataVolume } : { name };
}

/** The spec as it will be when the request has been carried out. */
export function applyVolumeRequest(spec: VirtualMachineInstanceSpec, request: VirtualMachineVolumeRequest): VirtualMachineInstanceSpec {
  const next = structuredClone(spec);
  const { devices } = next.domain;
  const { addVolumeOptions: add, removeVolumeOptions: remove } = request;
  if (add && !next.volumes?.some((v) => v.name === add.name)) {
    const { persistentVolumeClaim, dataVolume } = add.volumeSource;
    const volume: Volume = persistentVolumeClaim
      ? { name: add.name, persistentVolumeClaim: { ...persistentVolumeClaim, hotpluggable: true } }
      : { name: add.name, ...(dataVolume ? { dataVolume: { ...dataVolume, hotpluggable: true } } : {}) };
    next.volumes = [...(next.volumes ?? []), volume];
    if (add.disk) devices.disks = [...(devices.disks ?? []), { ...add.disk, name: add.name }];
  }
  if (remove) {
    next.volumes = (next.volumes ?? []).filter((v) => v.name !== remove.name);
    devices.disks = (devices.disks ?? []).filter((d) => d.name !== remove.name);
  }
  return next;
}

interface Surroundings {
  readonly added: Set<string>;
  readonly removed: Set<string>;
  readonly template: readonly Volume[];
  readonly running: readonly Volume[];
}

function addFault(add: AddVolumeOptions, { added, template, running }: Surroundings): Cause | undefined {
  const { name } = add;
  if (!add.volumeSource) return invalid(PATH, `AddVolume request for [${name}] names no volume: set volumeSource`);
  if (added.has(name)) return invalid(PATH, `AddVolume request for [${name}] already exists: wait until it is carried out`);
  const fault = hotplugDiskFault(add.disk, name, 'AddVolume request', PATH);
  if (fault) return fault;
  const wanted = volumeOf(add);
  const differs = (list: readonly Volume[]): boolean => {
    const present = list.find((v) => v.name === name);
    return present !== undefined && !isDeepStrictEqual(present, wanted);
  };
  const conflict = `AddVolume request for [${name}] conflicts with an existing volume of the same name on`;
  if (differs(template)) return invalid(PATH, `${conflict} the vmi template: choose another name`);
  if (differs(running)) return invalid(PATH, `${conflict} currently running vmi: choose another name`);
  added.add(name);
  return undefined;
}

function requestFault(request: VirtualMachineVolumeRequest, around: Surroundings): Cause | undefined {
  const { addVolumeOptions: add, removeVolumeOptions: remove } = request;
  if (add && remove)
    return invalid(PATH, 'VolumeRequests require either addVolumeOptions or removeVolumeOptions to be set, not both: split the request');
  if (add) return addFault(add, around);
  if (!remove)
    return invalid(
      PATH,
      'VolumeRequests require one of either addVolumeOptions or removeVolumeOptions to be set: the request asks for nothing',
    );
  if (around.removed.has(remove.name))
    return invalid(PATH, `RemoveVolume request for [${remove.name}] already exists: wait until it is carried out`);
  around.removed.add(remove.name);
  return undefined;
}

/** The specs as they will be, or the first fault of a request. */
function simulate(
  specs: readonly VirtualMachineInstanceSpec[],
  requests: readonly VirtualMachineVolumeRequest[],
  around: Surroundings,
): { readonly specs: readonly VirtualMachineInstanceSpec[] } | { readonly fault: Cause } {
  let next = specs;
  for (const request of requests) {
    const fault = requestFault(request, around);
    if (fault) return { fault };
    next = next.map((spec) => applyVolumeRequest(spec, request));
  }
  return { specs: next };
}

/** Causes of the first spec that has any. */
function firstCauses(specs: readonly VirtualMachineInstanceSpec[], config: ClusterConfig): readonly Cause[] {
  for (const spec of specs) {
    const causes = [...vmiSpecCauses(spec, templateSpecPath, config)];
    if (causes.length > 0) return causes;
  }
  return [];
}

/** `vmi` is the VM's VMI when the VM is ready; one that is being deleted does not count. */
export function volumeRequestCauses(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, config: ClusterConfig): Causes {
  const requests = vm.status?.volumeRequests ?? [];
  const template = vm.spec.template?.spec;
  if (requests.length === 0 || !template) return [];
  const live = vmi && !isDeleting(vmi) ? vmi : undefined;
  const around = {
    added: new Set<string>(),
    removed: new Set<string>(),
    template: template.volumes ?? [],
    running: live?.spec.volumes ?? [],
  };
  const outcome = simulate(live ? [template, live.spec] : [template], requests, around);
  if ('fault' in outcome) return [outcome.fault];
  const causes = firstCauses(outcome.specs, config);
  if (causes.length > 0 || !live || !isMigrating(live)) return causes;
  return [notSupported('spec', 'Cannot handle volume requests while VMI migration is in progress: try again when it is over')];
}
