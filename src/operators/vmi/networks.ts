// Secondary networks of a running launcher pod: which of them the CNI is to bring now, and which it has brought, as the pod's annotations
// tell. The rest of an interface's status belongs to the node agent. Pure.
import type { Pod, VirtualMachineInstance, VirtualMachineInstanceNetworkInterface } from '../../api/index.js';
import { hashedScheme, isSecondary, type NameScheme } from '../../core/network/names.js';
import { deepEqual } from '../../runtime/patch.js';
import { MULTUS_NETWORKS } from '../pod-template/index.js';
import type { Seen } from './seen.js';

export { MULTUS_NETWORKS as ATTACHED_NETWORKS } from '../pod-template/index.js';

const NETWORK_STATUS = 'k8s.v1.cni.cncf.io/network-status';
const FROM_POD = 'multus-status';

type InterfaceStatus = VirtualMachineInstanceNetworkInterface;

/** The annotation is others' text: what cannot be read says nothing. */
function listIn(pod: Pod, annotation: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    const list: unknown = JSON.parse(pod.metadata.annotations?.[annotation] ?? '[]');
    return Array.isArray(list) ? (list as Record<string, unknown>[]).filter((each) => typeof each === 'object' && each !== null) : [];
  } catch {
    return []; // not ours to repair
  }
}

const essence = (list: readonly Readonly<Record<string, unknown>>[]): string[] =>
  list.map(({ name, namespace, interface: pod }) => `${namespace}/${name}@${pod}`).sort();

/** What the pod's annotation becomes; undefined while it asks for what the VMI has. */
export function changedAttachments({ pod }: Seen, wanted: string | undefined): string | undefined {
  if (!pod) return undefined;
  const asks = listIn(pod, MULTUS_NETWORKS);
  const next = JSON.parse(wanted ?? '[]') as Record<string, unknown>[];
  return deepEqual(essence(asks), essence(next)) ? undefined : (wanted ?? '[]');
}

const sourcesOf = ({ infoSource }: InterfaceStatus): string[] => (infoSource ?? '').split(', ').filter(Boolean);

/** `names` of the pod's interfaces: it is there. */
function withWord(status: InterfaceStatus, names: NameScheme | undefined): InterfaceStatus {
  const others = sourcesOf(status).filter((source) => source !== FROM_POD);
  const { infoSource: _, ...rest } = status;
  const sources = names ? [...others, FROM_POD] : others;
  const podInterfaceName = names?.get(status.name ?? '');
  return { ...rest, ...(podInterfaceName ? { podInterfaceName } : {}), ...(sources.length > 0 ? { infoSource: sources.join(', ') } : {}) };
}

/** The VMI's interfaces with what the pod says of those on secondary networks. */
export function nextInterfaces(vmi: VirtualMachineInstance, pod: Pod): InterfaceStatus[] {
  const known = vmi.status?.interfaces ?? [];
  const networks = vmi.spec.networks ?? [];
  const names = hashedScheme(networks);
  const brought = new Set(listIn(pod, NETWORK_STATUS).map((each) => each.interface));
  const there = networks.filter((network) => isSecondary(network) && brought.has(names.get(network.name)));
  const isThere = (name: string | undefined): boolean => there.some((network) => network.name === name);
  const told = known.map((status) =>
    isThere(status.name) === sourcesOf(status).includes(FROM_POD) ? status : withWord(status, isThere(status.name) ? names : undefined),
  );
  const added = there
    .filter(({ name }) => !known.some((status) => status.name === name))
    .map(({ name }): InterfaceStatus => ({ name, podInterfaceName: names.get(name) ?? '', infoSource: FROM_POD }));
  return [...told, ...added];
}
