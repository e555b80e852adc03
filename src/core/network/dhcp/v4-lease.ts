// Puts together the lease of one interface from what the node agent left in its file and what the pod's resolver is told.
// Called by the launcher when it starts the DHCP server.
import type { Interface, VirtualMachineInstance } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { DhcpV4Config, LauncherInterface } from '../caches.js';
import { guestHostname, searchWithSubdomain } from '../hostname.js';
import { type Ip, maskOf, networkAddress, parseIp } from '../ip.js';
import { parseMac } from '../mac.js';
import type { ResolvConf } from './resolv-conf.js';
import { v4Options } from './v4-options.js';
import type { V4Lease } from './v4-server.js';

function v4(text: string, what: string): Ip {
  const ip = parseIp(text);
  if (ip?.family !== 4) throw new KvError('Invalid', `${what} '${text}' is no IPv4 address`);
  return ip;
}

/** Under a bridge binding the server has an address of its own, and the guest's is kept on the pod's holder link. */
const isNeighbour = (server: string, client: string, prefix: number): boolean =>
  networkAddress({ ...v4(server, 'DHCP server address'), prefix }).value ===
  networkAddress({ ...v4(client, 'address of the guest'), prefix }).value;

/** The interface's file must carry `dhcp4`. */
export function v4Lease(vmi: VirtualMachineInstance, file: LauncherInterface & { dhcp4: DhcpV4Config }, resolv: ResolvConf): V4Lease {
  const iface: Interface | undefined = vmi.spec.domain.devices.interfaces?.find(({ name }) => name === file.network);
  const { server, client, prefix, router, routes } = file.dhcp4;
  const mac = parseMac(file.mac);
  return {
    server: v4(server, 'DHCP server address'),
    client: v4(client, 'address of the guest'),
    alwaysBroadcast: !isNeighbour(server, client, prefix),
    ...(mac ? { clientMac: mac } : {}),
    options: v4Options({
      mask: maskOf(prefix),
      ...(router === undefined ? {} : { router }),
      dns: resolv.nameservers,
      search: searchWithSubdomain(resolv.search, vmi.metadata.namespace ?? '', vmi.spec.subdomain),
      hostname: guestHostname(vmi),
      mtu: file.mtu,
      ...(routes === undefined ? {} : { routes }),
      ...(iface?.dhcpOptions === undefined ? {} : { custom: iface.dhcpOptions }),
    }),
  };
}
