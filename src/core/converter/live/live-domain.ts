// What a running domain has now, as libvirt describes it: the facts that end in the VMI's status, and the elements that changes start from.
import type { DomainDiskReport, DomainInterfaceReport } from '../../../api/index.js';
import { HOTPLUG_DISKS_DIR } from '../../storage/paths.js';
import { nameOfAlias } from '../steps/device.js';
import { childOf, childrenOf, nodeAt, type XmlNode } from '../xml.js';

export interface LiveDomain {
  readonly machineType?: string;
  readonly disks: readonly DomainDiskReport[];
  readonly interfaces: readonly DomainInterfaceReport[];
  /** Name of the device on the host's side → name of the interface. */
  readonly taps: ReadonlyMap<string, string>;
  /** What the guest has now, plugged memory included. */
  readonly memoryBytes?: number;
  /** vCPUs that are plugged in. */
  readonly vcpus?: number;
  readonly isAgentConnected: boolean;
}

const UNITS: Readonly<Record<string, number>> = { b: 1, bytes: 1, KiB: 1024, k: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const AGENT_CHANNEL = 'org.qemu.guest_agent.0';

/** libvirt's sizes are KiB unless they say otherwise. */
export function bytesIn(node: XmlNode | undefined): number | undefined {
  if (node?.text === undefined) return undefined;
  return Number(node.text) * (UNITS[node.attrs.unit ?? 'KiB'] ?? 1);
}

export const devicesOf = (domain: XmlNode, tag: string): readonly XmlNode[] => childrenOf(childOf(domain, 'devices'), tag);

/** Name that we gave a device; undefined for those that libvirt added. */
export const deviceName = (node: XmlNode): string | undefined => nameOfAlias(childOf(node, 'alias')?.attrs.name);

export const sourcePath = (disk: XmlNode): string | undefined => {
  const data = nodeAt(disk, 'source', 'dataStore', 'source') ?? childOf(disk, 'source');
  return data?.attrs.file ?? data?.attrs.dev;
};

/** Its volume was plugged into the running pod. */
export const isHotplugged = (disk: XmlNode): boolean => sourcePath(disk)?.startsWith(`${HOTPLUG_DISKS_DIR}/`) === true;

export function describeLive(domain: XmlNode): LiveDomain {
  const disks = devicesOf(domain, 'disk').flatMap((disk): DomainDiskReport[] => {
    const name = deviceName(disk);
    // A drive without medium is no volume.
    if (name === undefined || sourcePath(disk) === undefined) return [];
    return [{ name, target: childOf(disk, 'target')?.attrs.dev ?? '' }];
  });
  const interfaces = devicesOf(domain, 'interface').flatMap((node): DomainInterfaceReport[] => {
    const name = deviceName(node);
    return name === undefined ? [] : [{ name, mac: childOf(node, 'mac')?.attrs.address ?? '' }];
  });
  const taps = devicesOf(domain, 'interface').flatMap((node): [string, string][] => {
    const [name, tap] = [deviceName(node), childOf(node, 'target')?.attrs.dev];
    return name === undefined || tap === undefined ? [] : [[tap, name]];
  });
  const vcpu = childOf(domain, 'vcpu');
  const found = {
    machineType: nodeAt(domain, 'os', 'type')?.attrs.machine,
    memoryBytes: bytesIn(childOf(domain, 'currentMemory') ?? childOf(domain, 'memory')),
    vcpus: vcpu?.text === undefined ? undefined : Number(vcpu.attrs.current ?? vcpu.text),
  };
  const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  return { ...(given as Pick<LiveDomain, 'vcpus'>), disks, interfaces, taps: new Map(taps), isAgentConnected: isAgentConnected(domain) };
}

function isAgentConnected(domain: XmlNode): boolean {
  const targets = devicesOf(domain, 'channel').map((channel) => childOf(channel, 'target')?.attrs);
  return targets.some((target) => target?.name === AGENT_CHANNEL && target.state === 'connected');
}
