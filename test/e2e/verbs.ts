// The verbs of the aggregated API as plain kubectl sends them, and facts about a VMI that several journeys wait for.
import type { Pod, VirtualMachineInstance, VirtualMachineInstanceCondition } from '../../src/api/index.js';
import { cluster, eventually, find, kubectl, list, NAMESPACE, type WaitOptions } from './harness.js';

const GROUP = '/apis/subresources.kubevirt.io/v1';

export type VerbKind = 'virtualmachines' | 'virtualmachineinstances';

export const verbPath = (kind: VerbKind, name: string, verb: string): string => `${GROUP}/namespaces/${NAMESPACE}/${kind}/${name}/${verb}`;

export async function putVerb(kind: VerbKind, name: string, verb: string, body: object = {}): Promise<string> {
  return (await cluster()).kubectl(['replace', '--raw', verbPath(kind, name, verb), '-f', '-'], JSON.stringify(body));
}

/** The answer to a question about a guest. */
export async function askVmi<T>(name: string, verb: string): Promise<T> {
  return JSON.parse(await kubectl('get', '--raw', verbPath('virtualmachineinstances', name, verb))) as T;
}

export async function waitPhase(name: string, phase: string, options?: WaitOptions): Promise<VirtualMachineInstance> {
  return eventually(
    `VMI ${name} ${phase}`,
    async () => {
      const vmi = await find<VirtualMachineInstance>('vmi', name);
      if (vmi?.status?.phase !== phase) throw new Error(`it is ${vmi?.status?.phase}: ${JSON.stringify(vmi?.status?.conditions)}`);
      return vmi;
    },
    options,
  );
}

export async function conditionOf(name: string, type: string): Promise<VirtualMachineInstanceCondition | undefined> {
  return (await find<VirtualMachineInstance>('vmi', name))?.status?.conditions?.find((condition) => condition.type === type);
}

/** `reason` undefined: the condition is not there, or not true. */
export async function waitCondition(name: string, type: string, reason: string | true | undefined, options?: WaitOptions): Promise<void> {
  await eventually(
    `condition ${type} of VMI ${name} is ${String(reason)}`,
    async () => {
      const condition = await conditionOf(name, type);
      const isTrue = condition?.status === 'True';
      const fits = reason === undefined ? !isTrue : isTrue && (reason === true || condition.reason === reason);
      if (!fits) throw new Error(JSON.stringify(condition));
      return true;
    },
    options,
  );
}

/** The pod that has the guest. */
export async function launcherOf(name: string): Promise<Pod> {
  const vmi = await find<VirtualMachineInstance>('vmi', name);
  const uids = Object.keys(vmi?.status?.activePods ?? {});
  const pod = (await list<Pod>('pods', '-n', NAMESPACE)).find(({ metadata }) => uids.includes(metadata.uid ?? ''));
  if (!pod) throw new Error(`VMI ${name} has no launcher pod`);
  return pod;
}

/** What the guest has said on its serial port so far. */
export async function serialLogOf(name: string): Promise<string> {
  const [pod, vmi] = [await launcherOf(name), await find<VirtualMachineInstance>('vmi', name)];
  const log = `/var/run/kubevirt-private/${vmi?.metadata.uid}/virt-serial0-log`;
  return kubectl('exec', '-n', NAMESPACE, pod.metadata.name ?? '', '-c', 'compute', '--', 'cat', log);
}
