// What the launcher must know about one interface before the pod's link changes: the guest's MAC, the MTU and the DHCP lease. Called by
// plan.ts for networks that are about to be set up; reads only what the node agent saw in the pod's namespace.
import { KvError } from '../../base/errors.js';
import { masqueradeAddresses } from './addressing.js';
import { type Attachment, requirePodLink } from './bindings/attachment.js';
import { bridgeServerAddress } from './bindings/bridge/plan.js';
import type { BindingKind } from './bindings/index.js';
import type { CachedRoute, DhcpV4Config, DhcpV6Config, LauncherInterface, PodInterfaceCache } from './caches.js';
import { type Family, formatIp, networkAddress, parseCidr, parseIp } from './ip.js';
import { globalAddresses, hasGlobal, type LinkAddress, type PodLink, type PodRoute } from './link-status.js';
import { bridgeName, tapName } from './names.js';

const networkOf = (cidr: string): string => {
  const parsed = parseCidr(cidr);
  return `${formatIp(networkAddress(parsed))}/${parsed.prefix}`;
};

const isV4 = (route: PodRoute): boolean => parseIp(route.destination.split('/')[0] ?? '')?.family === 4;

function v4Routes({ now }: Attachment, pod: PodLink): PodRoute[] {
  return now.routes.filter((route) => route.link === pod.name && isV4(route));
}

const DEFAULT_ROUTE = '0.0.0.0/0';

function contains(destination: string, ip: string): boolean {
  const { prefix } = parseCidr(destination);
  return networkOf(destination) === networkOf(`${ip}/${prefix}`);
}

/** Every route but those to networks that the address itself lies in, which the guest gets from its netmask. */
function extraRoutes(routes: readonly PodRoute[], own: LinkAddress): CachedRoute[] {
  return routes
    .filter(({ destination }) => destination === DEFAULT_ROUTE || !contains(destination, own.ip))
    .map(({ destination, gateway }) => ({ destination, ...(gateway === undefined ? {} : { gateway }) }));
}

function bridgeDhcp(at: Attachment, pod: PodLink): DhcpV4Config | undefined {
  const [own] = globalAddresses(pod.ipv4);
  if (!own) return undefined;
  const routes = v4Routes(at, pod);
  const [first] = routes;
  if (!first) throw new KvError('NotReady', `no gateway address found in routes for ${pod.name}`, { reason: 'NoGateway' });
  const router = (routes.find(({ destination }) => destination === DEFAULT_ROUTE) ?? first).gateway;
  return {
    server: bridgeServerAddress(at.position),
    client: own.ip,
    prefix: own.prefix,
    ...(router === undefined ? {} : { router }),
    routes: extraRoutes(routes, own),
  };
}

function masqueradeDhcp(at: Attachment, pod: PodLink): DhcpV4Config | undefined {
  if (!hasGlobal(pod.ipv4)) return undefined;
  const { gateway, guest, prefix } = masqueradeAddresses(at.network, 4);
  return { server: gateway, client: guest, prefix, router: gateway };
}

function masqueradeDhcp6(at: Attachment, pod: PodLink): DhcpV6Config | undefined {
  if (!hasGlobal(pod.ipv6)) return undefined;
  const { guest, prefix } = masqueradeAddresses(at.network, 6);
  return { client: guest, prefix };
}

/** `statusMac`: the MAC that the VMI already had, which it keeps when its pod changes. */
export function launcherInterface(kind: BindingKind, at: Attachment, statusMac?: string): LauncherInterface {
  const pod = requirePodLink(at);
  const dhcp4 = kind === 'bridge' ? bridgeDhcp(at, pod) : kind === 'masquerade' ? masqueradeDhcp(at, pod) : undefined;
  const dhcp6 = kind === 'masquerade' ? masqueradeDhcp6(at, pod) : undefined;
  return {
    network: at.iface.name,
    podInterface: at.podInterface,
    tap: tapName(at.podInterface, at.network),
    bridge: bridgeName(at.podInterface),
    mac: at.iface.macAddress || statusMac || pod.mac,
    mtu: pod.mtu,
    ...(dhcp4 ? { dhcp4 } : {}),
    ...(dhcp6 ? { dhcp6 } : {}),
  };
}

/** `preferred`: the family of the pod's primary address, which comes first. */
export function podInterfaceCache(pod: PodLink, preferred: Family, networkState: PodInterfaceCache['networkState']): PodInterfaceCache {
  const v4 = globalAddresses(pod.ipv4).slice(0, 1);
  const v6 = globalAddresses(pod.ipv6).slice(0, 1);
  const podIPs = (preferred === 4 ? [...v4, ...v6] : [...v6, ...v4]).map((address) => address.ip);
  return { iface: pod.name, podIP: podIPs[0] ?? '', podIPs, networkState };
}
