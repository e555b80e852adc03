// Kinds that are stored and checked, and that no controller of this release acts on: whoever creates one is told so at once, by a warning that
// kubectl prints. A row goes when its controller comes. Called by server.ts for the validating paths; refuses nothing.
import type { AdmissionRequest, AdmissionResponse } from '../review.js';

/** `resource.group` → what does not happen. */
const NOTHING_HAPPENS: Readonly<Record<string, string>> = {
  'virtualmachineinstancereplicasets.kubevirt.io': 'no VirtualMachineInstances are created from it',
  'virtualmachineinstancemigrations.kubevirt.io': 'it ends as Failed and the guest stays on its node',
  'virtualmachinepools.pool.kubevirt.io': 'no VirtualMachines are created from it',
  'virtualmachinesnapshots.snapshot.kubevirt.io': 'no snapshot is taken',
  'virtualmachinerestores.snapshot.kubevirt.io': 'nothing is restored',
  'virtualmachineexports.export.kubevirt.io': 'nothing is exported',
  'virtualmachineclones.clone.kubevirt.io': 'nothing is cloned',
  'virtualmachinebackups.backup.kubevirt.io': 'no backup is taken',
  'virtualmachinebackuptrackers.backup.kubevirt.io': 'no checkpoint is tracked',
};

export function withNotice({ resource, operation }: AdmissionRequest, response: AdmissionResponse): AdmissionResponse {
  const consequence = NOTHING_HAPPENS[`${resource.resource}.${resource.group}`];
  if (!consequence || operation !== 'CREATE' || !response.allowed) return response;
  const notice = `${resource.resource}.${resource.group} are stored but not acted on in this release: ${consequence}`;
  return { ...response, warnings: [...(response.warnings ?? []), notice] };
}
