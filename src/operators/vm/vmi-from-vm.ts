// The VMI that a VM stands for: template + identity. Used by the VM controller when it starts the guest and by the
// oracle; what differs per start (revision, generation, finalizer) is added by `startedVmi`.
import { createHash } from 'node:crypto';
import {
  ANNOTATION,
  API_VERSION,
  FINALIZER,
  OBSERVED_API_VERSION,
  type OwnerReference,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import { hasDumped } from './memory-dump.js';
import { hasStartPausedRequest } from './predicates.js';

/** Namespace of the name-based firmware UUIDs that VMs without an own UUID get; the same VM name always gives the same UUID. */
const FIRMWARE_NAMESPACE = '6a1a24a1-4061-4607-8bf4-a3963d0c5895';

/** RFC 4122 version 5. */
export function uuidFromName(name: string, namespace = FIRMWARE_NAMESPACE): string {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  const bytes = Buffer.from(hash.subarray(0, 16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function controllerRefOf(vm: VirtualMachine): OwnerReference {
  return {
    apiVersion: API_VERSION,
    kind: 'VirtualMachine',
    name: vm.metadata.name ?? '',
    uid: vm.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** A volume that nobody attaches becomes a disk of its own name. */
function addMissingDisks(vmi: VirtualMachineInstance): void {
  const { devices } = vmi.spec.domain;
  const attached = new Set([...(devices.disks ?? []), ...(devices.filesystems ?? [])].map((d) => d.name));
  const missing = (vmi.spec.volumes ?? []).filter((v) => !attached.has(v.name) && !v.memoryDump).map((v) => ({ name: v.name }));
  if (missing.length > 0) devices.disks = [...(devices.disks ?? []), ...missing];
}

/** With what the VM's status says about this start: whether the guest waits, and which claim is not dumped to again. */
export function vmiFromVm(vm: VirtualMachine): VirtualMachineInstance {
  const template = structuredClone(vm.spec.template);
  const { generateName: _, ...metadata } = template.metadata ?? {};
  const vmi: VirtualMachineInstance = {
    apiVersion: API_VERSION,
    kind: 'VirtualMachineInstance',
    metadata: {
      ...metadata,
      name: vm.metadata.name ?? '',
      ...(vm.metadata.namespace ? { namespace: vm.metadata.namespace } : {}),
      ownerReferences: [controllerRefOf(vm)],
    },
    spec: template.spec ?? { domain: { devices: {} } },
    status: { guestOSInfo: {}, runtimeUser: 0 },
  };
  const { domain } = vmi.spec;
  domain.devices ??= {};
  domain.firmware = { ...domain.firmware, uuid: domain.firmware?.uuid || uuidFromName(vm.metadata.name ?? '') };
  if (hasStartPausedRequest(vm)) vmi.spec.startStrategy = 'Paused';
  const dumped = hasDumped(vm);
  if (dumped !== undefined) vmi.spec.volumes = (vmi.spec.volumes ?? []).filter(({ name }) => name !== dumped);
  addMissingDisks(vmi);
  return vmi;
}

export interface StartOptions {
  readonly revisionName: string;
  readonly asMigrationTarget: boolean;
}

/** The object that is sent to the API server to start the guest. */
export function startedVmi(vm: VirtualMachine, { revisionName, asMigrationTarget }: StartOptions): VirtualMachineInstance {
  const vmi = vmiFromVm(vm);
  vmi.metadata.annotations = {
    ...vmi.metadata.annotations,
    [ANNOTATION.vmGeneration]: String(vm.metadata.generation ?? 0),
    ...OBSERVED_API_VERSION,
    ...(asMigrationTarget ? { [ANNOTATION.createMigrationTarget]: 'true' } : {}),
  };
  vmi.metadata.finalizers = [...new Set([...(vmi.metadata.finalizers ?? []), FINALIZER.vmController, FINALIZER.vmi])];
  vmi.status = { virtualMachineRevisionName: revisionName };
  return vmi;
}
