// status.interfaces of a VMI: one entry a spec interface in the order of the spec, then what only the guest knows of. Pure. Addresses come
// from the guest agent, or, without one and always behind masquerade, from the pod.
import type { DomainInterfaceReport, DomainReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance, VirtualMachineInstanceNetworkInterface } from '../../api/index.js';
import type { PodInterfaceCache } from '../../core/network/caches.js';
import { queuesOf } from '../network/request.js';

type Status = VirtualMachineInstanceNetworkInterface;
type Interface = NonNullable<VirtualMachineInstance['spec']['domain']['devices']['interfaces']>[number];

const FROM_DOMAIN = 'domain';
const FROM_AGENT = 'guest-agent';
const FROM_POD = 'multus-status';

export function nextInterfaces(
  vmi: VirtualMachineInstance,
  domain: DomainReport,
  network: ReadonlyMap<string, PodInterfaceCache>,
): Status[] {
  const old = new Map((vmi.status?.interfaces ?? []).map((status) => [status.name, status]));
  const specs = (vmi.spec.domain.devices.interfaces ?? []).filter((iface) => iface.state !== 'absent');
  const queues = Math.max(1, queuesOf(vmi));
  const known = specs.map((spec) => {
    const status = specStatus(spec, old.get(spec.name), domain, network.get(spec.name));
    return status.infoSource === undefined ? status : { ...status, queueCount: isVirtio(spec) ? queues : 1 };
  });
  const names = new Set(specs.map((spec) => spec.name));
  const guestOnly = domain.spec.interfaces.filter((iface) => iface.name === undefined || !names.has(iface.name)).map(guestStatus);
  return [...known, ...guestOnly];
}

const isVirtio = (spec: Interface): boolean => (spec.model ?? 'virtio') === 'virtio';

function specStatus(spec: Interface, old: Status | undefined, domain: DomainReport, pod: PodInterfaceCache | undefined): Status {
  const reported = domain.spec.interfaces.find((iface) => iface.name === spec.name);
  const ips = addressesOf(spec, reported, pod);
  const mac = reported?.mac ?? spec.macAddress ?? old?.mac;
  return {
    name: spec.name,
    ...infoSource(reported, old),
    ...(reported?.interfaceName === undefined ? {} : { interfaceName: reported.interfaceName }),
    ...(ips[0] === undefined ? {} : { ipAddress: ips[0], ipAddresses: [...ips] }),
    ...(mac === undefined ? {} : { mac }),
    ...(pod === undefined ? keep(old, 'podInterfaceName') : { podInterfaceName: pod.iface }),
    linkState: spec.state === 'down' ? 'down' : 'up',
  };
}

const keep = (old: Status | undefined, field: 'podInterfaceName'): Partial<Status> =>
  old?.[field] === undefined ? {} : { [field]: old[field] };

function addressesOf(spec: Interface, reported: DomainInterfaceReport | undefined, pod: PodInterfaceCache | undefined): readonly string[] {
  // Behind masquerade the guest's own address means nothing outside the pod.
  if (spec.masquerade && pod) return pod.podIPs;
  return reported?.ips?.length ? reported.ips : (pod?.podIPs ?? []);
}

/** Who knows of it. That the pod has it is virt-controller's word, which stays. */
function infoSource(reported: DomainInterfaceReport | undefined, old: Status | undefined): Pick<Status, 'infoSource'> {
  const sources = [
    ...(reported === undefined ? [] : [FROM_DOMAIN]),
    ...(reported?.interfaceName === undefined ? [] : [FROM_AGENT]),
    ...(old?.infoSource?.split(', ').includes(FROM_POD) ? [FROM_POD] : []),
  ];
  return sources.length === 0 ? {} : { infoSource: sources.join(', ') };
}

/** A bridge or tunnel that the guest made for itself, or a device that is on its way out. */
function guestStatus(reported: DomainInterfaceReport): Status {
  const [first] = reported.ips ?? [];
  return {
    ...(reported.name === undefined ? { infoSource: FROM_AGENT } : { name: reported.name, infoSource: FROM_DOMAIN }),
    mac: reported.mac,
    ...(reported.interfaceName === undefined ? {} : { interfaceName: reported.interfaceName }),
    ...(first === undefined ? {} : { ipAddress: first, ipAddresses: [...(reported.ips ?? [])] }),
  };
}
