// The network side of a launcher pod: annotations by which the CNI plugins and a service mesh know which links the guest needs, and the
// extended resources of network attachments.
import type { Interface, Network, Pod, VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import {
  bridgeName,
  hashedScheme,
  isOrdinalName,
  isPrimary,
  isSecondary,
  type NameScheme,
  ordinalScheme,
  PRIMARY_POD_INTERFACE,
} from '../../core/network/names.js';
import type { PodContext } from './context.js';

export const MULTUS_NETWORKS = 'k8s.v1.cni.cncf.io/networks';
const MULTUS_STATUS = 'k8s.v1.cni.cncf.io/network-status';
const MULTUS_DEFAULT = 'v1.multus-cni.io/default-network';
const ISTIO_INTERFACES = ['traffic.sidecar.istio.io/kubevirtInterfaces', 'istio.io/reroute-virtual-interfaces'];

/** One element of the multus annotation; the order of keys is part of the text that others compare. */
interface Attachment {
  readonly name: string;
  readonly namespace: string;
  readonly mac?: string;
  readonly interface?: string;
  readonly 'cni-args'?: Readonly<Record<string, string>>;
}

interface Nic {
  readonly iface: Interface;
  readonly network: Network;
}

function nicsOf(vmi: VirtualMachineInstance): Nic[] {
  const interfaces = vmi.spec.domain.devices.interfaces ?? [];
  return (vmi.spec.networks ?? []).flatMap((network) => {
    const iface = interfaces.find(({ name }) => name === network.name);
    return iface && iface.state !== 'absent' ? [{ iface, network }] : [];
  });
}

/** `namespace/name` or a name in the VMI's own namespace. */
function attachmentName(text: string, vmi: VirtualMachineInstance): { readonly namespace: string; readonly name: string } {
  const [first = '', second] = text.split('/');
  return second === undefined ? { namespace: vmi.metadata.namespace ?? '', name: first } : { namespace: first, name: second };
}

function ofNetwork({ iface, network }: Nic, vmi: VirtualMachineInstance, podInterface: string | undefined): Attachment[] {
  if (!isSecondary(network) || podInterface === undefined) return [];
  const { name, namespace } = attachmentName(network.multus?.networkName ?? '', vmi);
  return [{ name, namespace, ...(iface.macAddress ? { mac: iface.macAddress } : {}), interface: podInterface }];
}

function ofPlugin({ iface, network }: Nic, vmi: VirtualMachineInstance, { config }: PodContext): Attachment[] {
  if (!iface.binding) return [];
  const plugin = config.spec.network?.binding?.[iface.binding.name];
  if (!plugin)
    throw new KvError('Invalid', `couldn't find configuration for network binding: ${iface.binding.name}`, { reason: 'UnknownBinding' });
  if (!plugin.networkAttachmentDefinition) return [];
  const { name, namespace } = attachmentName(plugin.networkAttachmentDefinition, vmi);
  return [{ name, namespace, 'cni-args': { logicNetworkName: network.name } }];
}

function attachmentsOf(vmi: VirtualMachineInstance, ctx: PodContext, names: NameScheme): Record<string, string> {
  const list = nicsOf(vmi).flatMap((nic) => [...ofNetwork(nic, vmi, names.get(nic.network.name)), ...ofPlugin(nic, vmi, ctx)]);
  return list.length > 0 ? { [MULTUS_NETWORKS]: JSON.stringify(list) } : {};
}

/** Throws Invalid for a binding plugin that the cluster does not know. */
export function networkAnnotations(vmi: VirtualMachineInstance, ctx: PodContext): Record<string, string> {
  const nics = nicsOf(vmi);
  const primary = (vmi.spec.networks ?? []).find(({ multus }) => multus?.default === true)?.multus?.networkName;
  const behindBridge = nics.some(({ iface, network }) => iface.masquerade !== undefined && isPrimary(network));
  return {
    ...attachmentsOf(vmi, ctx, hashedScheme(vmi.spec.networks ?? [])),
    ...(primary ? { [MULTUS_DEFAULT]: primary } : {}),
    ...(behindBridge ? Object.fromEntries(ISTIO_INTERFACES.map((key) => [key, bridgeName(PRIMARY_POD_INTERFACE)])) : {}),
  };
}

function hasOrdinalNames({ metadata }: Pod): boolean {
  const text = metadata.annotations?.[MULTUS_STATUS];
  if (!text) return false;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.some((each) => isOrdinalName(String((each as { interface?: unknown } | null)?.interface ?? '')));
  } catch {
    return false; // written by the CNI, not ours to repair: new pods have hashed names
  }
}

/** A guest whose links were named by position keeps those names when it moves, unless the cluster renames them on the way. */
export function keptAttachments(vmi: VirtualMachineInstance, source: Pod, ctx: PodContext): Record<string, string> {
  if (ctx.config.isEnabled('PodSecondaryInterfaceNamingUpgrade') || !hasOrdinalNames(source)) return {};
  return attachmentsOf(vmi, ctx, ordinalScheme(vmi.spec.networks ?? []));
}

/** Where an admission webhook of the cluster injects them, they must not be asked for twice. */
export function networkResources(vmi: VirtualMachineInstance, { config, networkResources: known }: PodContext): string[] {
  if (config.isEnabled('ExternalNetResourceInjection')) return [];
  return nicsOf(vmi).flatMap(({ network }) => {
    if (!network.multus) return [];
    const { name, namespace } = attachmentName(network.multus.networkName, vmi);
    return known?.get(`${namespace}/${name}`) ?? [];
  });
}
