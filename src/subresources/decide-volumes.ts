// What adding and removing a disk of a running machine does: patches of the VM, its status or its VMI, or the refusal. Pure; volumes.ts
// reads the objects and applies the patches. Whether the disk itself is possible is for the admission of the patch to say.
import type { AddVolumeOptions, RemoveVolumeOptions, VirtualMachine, VirtualMachineInstance, Volume } from '../api/index.js';
import { fail, ok, type Result } from '../base/result.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { isHotpluggable } from '../core/storage/hotpluggable.js';
import { type Decision, firstStatus, type PatchStep } from './decide-vm.js';
import { badRequest, conflict, type ResourceKind, type StatusError } from './status.js';

export type VolumeRequest = { readonly add: AddVolumeOptions } | { readonly remove: RemoveVolumeOptions };

type Gates = Pick<ClusterConfig, 'isEnabled'>;
type VmiSpec = VirtualMachineInstance['spec'];
type RecordedRequest = NonNullable<NonNullable<VirtualMachine['status']>['volumeRequests']>[number];

const NO_SPEC: VmiSpec = { domain: { devices: {} } };
const GATES_OFF = 'Enable DeclarativeHotplugVolumes or HotplugVolumes feature gate to use this API.';

/** What is wrong with the cluster whatever the request: memory dumps are volumes too. */
export function gateRefusal(config: Gates): StatusError | undefined {
  const isOn = config.isEnabled('DeclarativeHotplugVolumes') || config.isEnabled('HotplugVolumes');
  return isOn ? undefined : badRequest(GATES_OFF);
}

/** `options` as parsed: its fields may be missing. */
export function addRequest(options: Partial<AddVolumeOptions>): Result<VolumeRequest, StatusError> {
  const { name, disk, volumeSource, dryRun } = options;
  if (!name) return fail(badRequest('AddVolumeOptions requires name to be set'));
  if (!disk) return fail(badRequest('AddVolumeOptions requires disk to not be nil'));
  if (!volumeSource) return fail(badRequest('AddVolumeOptions requires VolumeSource to not be nil'));
  return ok({ add: { name, disk: { ...disk, name }, volumeSource: hotpluggable(volumeSource), ...(dryRun ? { dryRun } : {}) } });
}

export function removeRequest({ name, dryRun }: Partial<RemoveVolumeOptions>): Result<VolumeRequest, StatusError> {
  return name ? ok({ remove: { name, ...(dryRun ? { dryRun } : {}) } }) : fail(badRequest('RemoveVolumeOptions requires name to be set'));
}

function hotpluggable(source: AddVolumeOptions['volumeSource']): AddVolumeOptions['volumeSource'] {
  const { dataVolume, persistentVolumeClaim } = source;
  if (dataVolume) return { ...source, dataVolume: { ...dataVolume, hotpluggable: true } };
  return persistentVolumeClaim ? { ...source, persistentVolumeClaim: { ...persistentVolumeClaim, hotpluggable: true } } : source;
}

const sourceName = ({ dataVolume, persistentVolumeClaim }: AddVolumeOptions['volumeSource']): string =>
  dataVolume?.name ?? persistentVolumeClaim?.claimName ?? '';
const isSource = ({ dataVolume, persistentVolumeClaim }: Volume, name: string): boolean =>
  name !== '' && (dataVolume?.name === name || persistentVolumeClaim?.claimName === name);

/** Why the volumes that are there do not allow it. */
export function volumeFault(volumes: readonly Volume[], request: VolumeRequest): string | undefined {
  return 'add' in request ? addFault(volumes, request.add) : removeFault(volumes, request.remove);
}

function addFault(volumes: readonly Volume[], { name, volumeSource }: AddVolumeOptions): string | undefined {
  const source = sourceName(volumeSource);
  for (const volume of volumes) {
    if (volume.name === name) return `Unable to add volume [${name}] because volume with that name already exists`;
    if (isSource(volume, source)) return `Unable to add volume source [${source}] because it already exists`;
  }
  return undefined;
}

const named = (volumes: readonly Volume[], name: string): Volume | undefined =>
  volumes.find((volume) => volume.name === name || isSource(volume, name));

function removeFault(volumes: readonly Volume[], { name }: RemoveVolumeOptions): string | undefined {
  const volume = named(volumes, name);
  if (!volume) return `Unable to remove volume [${name}] because it does not exist`;
  return isHotpluggable(volume) ? undefined : `Unable to remove volume [${volume.name}] because it is not hotpluggable`;
}

type Changed = { readonly volumes: readonly Volume[]; readonly disks: NonNullable<VmiSpec['domain']['devices']['disks']> };

function changed({ volumes = [], domain }: VmiSpec, request: VolumeRequest): Changed {
  const disks = domain.devices.disks ?? [];
  if ('add' in request) {
    const { name, disk, volumeSource } = request.add;
    return { volumes: [...volumes, { name, ...volumeSource }], disks: [...disks, disk] };
  }
  const name = named(volumes, request.remove.name)?.name;
  return { volumes: volumes.filter((volume) => volume.name !== name), disks: disks.filter((disk) => disk.name !== name) };
}

/** Both lists at once, and only if nobody changed them meanwhile. */
function specStep(target: 'vm' | 'vmi', spec: VmiSpec, request: VolumeRequest): PatchStep {
  const prefix = target === 'vm' ? '/spec/template' : '';
  const { volumes, disks } = changed(spec, request);
  const lists = [
    { path: `${prefix}/spec/volumes`, old: spec.volumes, next: volumes },
    { path: `${prefix}/spec/domain/devices/disks`, old: spec.domain.devices.disks, next: disks },
  ];
  return {
    target,
    operations: [
      ...lists.map(({ path, old }) => ({ op: 'test' as const, path, value: old ?? null })),
      ...lists.map(({ path, old, next }) => ({ op: old ? ('replace' as const) : ('add' as const), path, value: next })),
    ],
  };
}

const refuse = (kind: ResourceKind, name: string | undefined, why: string): Decision => ({ refusal: conflict(kind, name ?? '', why) });

/** For this run of the machine only. */
export function decideVmiVolume(vmi: VirtualMachineInstance, request: VolumeRequest, config: Gates): Decision {
  const { name, namespace, ownerReferences } = vmi.metadata;
  const isOwned = ownerReferences?.some((owner) => owner.controller === true && owner.kind === 'VirtualMachine') ?? false;
  // A VM puts its own volumes back: only the old way leaves those of its VMI alone.
  if (isOwned && !config.isEnabled('HotplugVolumes')) return { refusal: badRequest(`VMI ${namespace}/${name} is owned by a VM`) };
  if (vmi.status?.phase !== 'Running') return refuse('virtualmachineinstance', name, 'VMI is not running');
  const fault = volumeFault(vmi.spec.volumes ?? [], request);
  return fault ? refuse('virtualmachineinstance', name, fault) : { steps: [specStep('vmi', vmi.spec, request)] };
}

/** For good: in the VM's template, or as a request to its controller where the old way is enabled. */
export function decideVmVolume(vm: VirtualMachine, request: VolumeRequest, config: Gates): Decision {
  const spec = vm.spec.template.spec ?? NO_SPEC;
  const fault = volumeFault(spec.volumes ?? [], request);
  if (fault) return refuse('virtualmachine', vm.metadata.name, fault);
  return config.isEnabled('HotplugVolumes') ? decideRequest(vm, request) : { steps: [specStep('vm', spec, request)] };
}

function requestFault(waiting: readonly RecordedRequest[], request: VolumeRequest): string | undefined {
  const name = 'add' in request ? request.add.name : request.remove.name;
  const isAdding = waiting.some((w) => w.addVolumeOptions?.name === name);
  const isRemoving = waiting.some((w) => w.removeVolumeOptions?.name === name);
  const removal = `a remove volume request for volume [${name}] already exists and is still being processed`;
  if ('remove' in request) return isRemoving ? removal : undefined;
  if (isAdding) return `add volume request for volume [${name}] already exists`;
  return isRemoving ? `unable to add volume since ${removal}` : undefined;
}

function decideRequest(vm: VirtualMachine, request: VolumeRequest): Decision {
  const waiting = vm.status?.volumeRequests ?? [];
  const fault = requestFault(waiting, request);
  if (fault) return refuse('virtualmachine', vm.metadata.name, fault);
  const volumeRequests =
    'add' in request
      ? [...waiting, { addVolumeOptions: request.add }]
      : // A removal takes the place of an addition that nobody has begun with.
        [...waiting.filter((w) => w.addVolumeOptions?.name !== request.remove.name), { removeVolumeOptions: request.remove }];
  if (!vm.status || Object.keys(vm.status).length === 0) return { steps: [firstStatus(vm, { volumeRequests })] };
  const path = '/status/volumeRequests';
  const operations = [
    { op: 'test' as const, path, value: vm.status.volumeRequests ?? null },
    { op: 'add' as const, path, value: volumeRequests },
  ];
  return { steps: [{ target: 'vm-status', operations }] };
}
