// Network interfaces that attach to a tap (bridge, masquerade, tap plugins) or to passt. SR-IOV functions are host devices; plugins that bring
// no tap add their own elements later.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import { pciAddressOf } from '../../devices/index.js';
import { formatMac, parseMac } from '../../network/mac.js';
import { PASST_LOG } from '../../storage/paths.js';
import type { InterfaceLink } from '../facts.js';
import type { Scope } from '../scope.js';
import type { Step } from '../step.js';
import { el, type XmlChild, type XmlNode } from '../xml.js';
import { alias, bootOrder, pciAddressEl } from './device.js';
import { passtForwards } from './passt.js';

/** The kernel's limit for queues of one tap device. */
const MAX_TAP_QUEUES = 256;

type Needs = 'vmi' | 'devices' | 'arch' | 'virtioModel' | 'iommu' | 'cpus' | 'interfaceAttachments' | 'links';

export const interfaces: Step<Needs> = {
  name: 'interfaces',
  render(scope) {
    const present = (scope.devices.interfaces ?? []).filter((iface) => iface.state !== 'absent');
    const networks = new Set((scope.vmi.spec.networks ?? []).map(({ name }) => name));
    const lost = present.find(({ name }) => !networks.has(name));
    if (lost)
      throw new KvError('Invalid', `failed to find network ${lost.name}: every interface needs a network of its name in spec.networks`);
    return { devices: present.filter((iface) => isRendered(iface, scope)).map((iface) => interfaceNode(iface, scope)) };
  },
};

const isTap = ({ name }: Interface, scope: Pick<Scope, Needs>): boolean => scope.interfaceAttachments[name] === 'tap';

const isRendered = (iface: Interface, scope: Pick<Scope, Needs>): boolean => !iface.sriov && (!iface.binding || isTap(iface, scope));

function interfaceNode(iface: Interface, scope: Pick<Scope, Needs>): XmlNode {
  const virtio = !iface.model || iface.model === 'virtio';
  const attachment = attach(iface, scope);
  const mac = iface.macAddress ? withColons(iface.macAddress) : attachment.link?.mac;
  return el('interface', { type: attachment.type }, [
    ...(mac ? [el('mac', { address: mac })] : []),
    ...attachment.children,
    attachment.link?.mtu === undefined ? undefined : el('mtu', { size: attachment.link.mtu }),
    el('model', { type: virtio ? scope.virtioModel : iface.model }),
    virtio && virtioDriver(scope),
    alias(iface.name),
    iface.pciAddress ? pciAddressEl(pciAddressOf(iface.pciAddress, `interface ${iface.name}`)) : undefined,
    iface.acpiIndex ? el('acpi', { index: iface.acpiIndex }) : undefined,
  ]);
}

/** The API takes 02-00-… and 0200.… as well, libvirt does not. */
function withColons(mac: string): string {
  const bytes = mac.includes(':') ? undefined : parseMac(mac);
  return bytes ? formatMac(bytes) : mac;
}

interface Attachment {
  readonly type?: string;
  readonly children: readonly XmlChild[];
  readonly link?: InterfaceLink;
}

function attach(iface: Interface, scope: Pick<Scope, Needs>): Attachment {
  if (isTap(iface, scope)) return tap(iface, scope);
  return iface.passtBinding ? passt(iface, scope.vmi) : { children: [] };
}

function tap(iface: Interface, scope: Pick<Scope, Needs>): Attachment {
  const link = scope.links?.[iface.name];
  // Without a boot order nothing is ever loaded from the network, and the ROM only slows the boot down.
  const rom = scope.arch.optionRoms && (iface.bootOrder === undefined || scope.iommu) && el('rom', { enabled: 'no' });
  const children = [
    link?.tap ? el('target', { dev: link.tap, managed: 'no' }) : undefined,
    bootOrder(iface.bootOrder),
    rom,
    iface.state === 'down' && el('link', { state: 'down' }),
  ];
  return { type: 'ethernet', children, ...(link ? { link } : {}) };
}

function passt(iface: Interface, vmi: VirtualMachineInstance): Attachment {
  const dev = vmi.status?.interfaces?.find(({ name }) => name === iface.name)?.podInterfaceName;
  if (!dev) {
    throw new KvError('NotReady', `pod interface name not found in vmi ${vmi.metadata.name} status, for interface ${iface.name}`);
  }
  const backend = el('backend', { type: 'passt', logFile: PASST_LOG });
  return { type: 'vhostuser', children: [el('source', { dev }), backend, ...passtForwards(iface, vmi)] };
}

function virtioDriver({ devices, cpus, iommu }: Pick<Scope, Needs>): XmlNode | undefined {
  const queues = devices.networkInterfaceMultiqueue ? Math.min(cpus.vcpus, MAX_TAP_QUEUES) : 0;
  if (queues === 0 && !iommu) return undefined;
  return el('driver', { name: 'vhost', queues: queues || undefined, iommu: iommu ? 'on' : undefined });
}
