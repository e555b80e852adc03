// What the caches may not show yet: they are filled apart from each other, and one whose watch broke may be behind the others for half a
// minute, above all when the lead has just changed hands. Before a guest is given up for what is missing, the API server is asked itself.
import { LABEL, LAUNCHER_POD, type Pod, type VirtualMachineInstance } from '../../api/index.js';
import { PODS, VIRTUAL_MACHINE_INSTANCES } from '../../runtime/resources.js';
import type { KubeClient } from '../../runtime/types.js';
import { worksFor } from './attachments.js';
import { isTemporary } from './data-volumes.js';
import { currentPod, isLauncherOf } from './pod-state.js';
import { isHandedOver, phaseOf, type Seen } from './seen.js';

/** How soon the caches are looked at again. */
export const BEHIND_MS = 1_000;

/** Its pod is not to be seen, and it would end for that. */
const wouldEnd = ({ vmi, pod }: Seen): boolean => !pod && (isHandedOver(vmi) || phaseOf(vmi) === 'Scheduling');

/** The VMI's launcher pods as the API server has them now. */
export async function launchersOf(client: KubeClient, vmi: VirtualMachineInstance): Promise<Pod[]> {
  const { namespace = '', uid = '' } = vmi.metadata;
  const labelSelector = `${LABEL.app}=${LAUNCHER_POD},${LABEL.createdBy}=${uid}`;
  const { items } = await client.list(PODS, { namespace, labelSelector });
  return items.filter((pod) => isLauncherOf(pod, vmi) && !isTemporary(pod));
}

/** The launcher is there: only our cache does not know. */
export const isPodUnseen = async (client: KubeClient, seen: Seen): Promise<boolean> =>
  wouldEnd(seen) && currentPod(await launchersOf(client, seen.vmi), seen.vmi) !== undefined;

/** Those whose VMI is gone; a key's VMI of now is another when its uid is. */
export async function orphansAmong(client: KubeClient, key: string, pods: readonly Pod[]): Promise<readonly Pod[]> {
  if (pods.length === 0) return [];
  const vmi: VirtualMachineInstance | undefined = await client.find(VIRTUAL_MACHINE_INSTANCES, key);
  return vmi ? pods.filter((pod) => !worksFor(pod, vmi)) : pods;
}
