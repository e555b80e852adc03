// Network interfaces that attach to a tap (bridge, masquerade, tap plugins) or to passt. SR-IOV functions are host devices; plugins that bring
// no tap add their own elements later.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import { pciAddressOf } from '../../devices/index.js';
import { formatMac, parseMac } from '../../network/mac.js';
import { PASST_LOG } from '../../storage/paths.js';
import type { DomainInterface } from '../domain-devices.js';
import type { InterfaceLink } from '../facts.js';
import type { Scope } from '../scope.js';
import type { Fragment, Step } from '../step.js';
import { aliased, bootOrder, iommuDriver, pciPlace } from './device.js';
import { passtForwards } from './passt.js';

/** The kernel's limit for queues of one tap device. */
const MAX_TAP_QUEUES = 256;

type Needs = 'vmi' | 'devices' | 'arch' | 'virtioModel' | 'iommu' | 'cpus' | 'interfaceAttachments' | 'links';

export const interfaces: Step<Needs> = {
  name: 'interfaces',
  render(scope): Fragment {
    const present = (scope.devices.interfaces ?? []).filter((iface) => iface.state !== 'absent');
    const networks = new Set((scope.vmi.spec.networks ?? []).map(({ name }) => name));
    const lost = present.find(({ name }) => !networks.has(name));
    if (lost)
      throw new KvError('Invalid', `failed to find network ${lost.name}: every interface needs a network of its name in spec.networks`);
    return { devices: { interface: present.filter((iface) => isRendered(iface, scope)).map((iface) => interfaceOf(iface, scope)) } };
  },
};

const isTap = ({ name }: Interface, scope: Pick<Scope, Needs>): boolean => scope.interfaceAttachments[name] === 'tap';

const isRendered = (iface: Interface, scope: Pick<Scope, Needs>): boolean => !iface.sriov && (!iface.binding || isTap(iface, scope));

function interfaceOf(iface: Interface, scope: Pick<Scope, Needs>): DomainInterface {
  const virtio = !iface.model || iface.model === 'virtio';
  const link = isTap(iface, scope) ? scope.links?.[iface.name] : undefined;
  const mac = iface.macAddress ? withColons(iface.macAddress) : link?.mac;
  return {
    mac: mac ? { address: mac } : undefined,
    ...attachment(iface, scope, link),
    mtu: link?.mtu === undefined ? undefined : { size: link.mtu },
    model: { type: virtio ? scope.virtioModel : iface.model },
    driver: virtio ? virtioDriver(scope) : undefined,
    ...aliased(iface.name),
    address: iface.pciAddress ? pciPlace(pciAddressOf(iface.pciAddress, `interface ${iface.name}`)) : undefined,
    acpi: iface.acpiIndex ? { index: iface.acpiIndex } : undefined,
  };
}

/** The API takes 02-00-… and 0200.… as well, libvirt does not. */
function withColons(mac: string): string {
  const bytes = mac.includes(':') ? undefined : parseMac(mac);
  return bytes ? formatMac(bytes) : mac;
}

function attachment(iface: Interface, scope: Pick<Scope, Needs>, link: InterfaceLink | undefined): DomainInterface {
  if (isTap(iface, scope)) return tap(iface, scope, link);
  return iface.passtBinding ? passt(iface, scope.vmi) : {};
}

function tap(iface: Interface, { arch, iommu }: Pick<Scope, Needs>, link: InterfaceLink | undefined): DomainInterface {
  // Without a boot order nothing is ever loaded from the network, and the ROM only slows the boot down.
  const isRomless = arch.optionRoms && (iface.bootOrder === undefined || iommu);
  return {
    type: 'ethernet',
    target: link?.tap ? { dev: link.tap, managed: false } : undefined,
    boot: bootOrder(iface.bootOrder),
    rom: isRomless ? { enabled: false } : undefined,
    link: iface.state === 'down' ? { state: 'down' } : undefined,
  };
}

function passt(iface: Interface, vmi: VirtualMachineInstance): DomainInterface {
  const dev = vmi.status?.interfaces?.find(({ name }) => name === iface.name)?.podInterfaceName;
  if (!dev) {
    throw new KvError('NotReady', `pod interface name not found in vmi ${vmi.metadata.name} status, for interface ${iface.name}`);
  }
  return { type: 'vhostuser', source: { dev }, backend: { type: 'passt', logFile: PASST_LOG }, portForward: passtForwards(iface, vmi) };
}

function virtioDriver({ devices, cpus, iommu }: Pick<Scope, Needs>): DomainInterface['driver'] {
  const queues = devices.networkInterfaceMultiqueue ? Math.min(cpus.vcpus, MAX_TAP_QUEUES) : 0;
  if (queues === 0 && !iommu) return undefined;
  return { name: 'vhost', queues: queues || undefined, ...iommuDriver(iommu) };
}
