// The start revision: the VM's spec as it was when the guest was started, kept as a ControllerRevision so that later
// changes of the VM can be compared with what runs.
import type { ControllerRevision, VirtualMachine, VirtualMachineSpec } from '../../api/index.js';
import { deepEqual } from '../../runtime/patch.js';
import { withRevisionNames } from './instancetype-apply.js';
import { controllerRefOf } from './vmi-from-vm.js';

const PREFIX = 'revision-start-vm-';

export const revisionNameOf = (vm: VirtualMachine): string => `${PREFIX}${vm.metadata.uid ?? ''}-${vm.metadata.generation ?? 0}`;

export const isStartRevisionOf = (vm: VirtualMachine, name: string): boolean => name.startsWith(`${PREFIX}${vm.metadata.uid ?? ''}-`);

/** The generation at the end of a revision's name; undefined when the name is not one of ours. */
export function generationOf(name: string | undefined): number | undefined {
  const generation = Number(name?.slice(name.lastIndexOf('-') + 1));
  return name?.startsWith(PREFIX) && Number.isInteger(generation) ? generation : undefined;
}

export function startRevision(vm: VirtualMachine): ControllerRevision {
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: revisionNameOf(vm),
      ...(vm.metadata.namespace ? { namespace: vm.metadata.namespace } : {}),
      ownerReferences: [controllerRefOf(vm)],
    },
    data: { spec: structuredClone(withRevisionNames(vm)) },
    revision: vm.metadata.generation ?? 0,
  };
}

/** False also for this generation when its guest would start with another revision of its instance type now. */
export const holdsStartOf = (vm: VirtualMachine, revision: ControllerRevision): boolean =>
  revision.metadata.name === revisionNameOf(vm) && deepEqual(specOf(revision), withRevisionNames(vm));

/** The spec stored in a revision, or undefined when it holds none. */
export function specOf(revision: ControllerRevision | undefined): VirtualMachineSpec | undefined {
  const data = revision?.data as { spec?: VirtualMachineSpec } | undefined;
  return data?.spec;
}
