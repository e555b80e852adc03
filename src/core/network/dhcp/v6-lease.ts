// Puts together what a guest with IPv6 is told about one interface, by DHCPv6 and as a router's advertisement, from what the node agent
// left in its file and what the pod's resolver is told. Called by the launcher when it serves the interface.
import type { VirtualMachineInstance } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { DhcpV6Config, LauncherInterface } from '../caches.js';
import { searchWithSubdomain } from '../hostname.js';
import { parseIp } from '../ip.js';
import { BRIDGE_MAC, parseMac } from '../mac.js';
import type { ResolvConf } from './resolv-conf.js';
import type { Advertisement } from './router-advertisement.js';
import type { V6Lease } from './v6-server.js';

type WithV6 = LauncherInterface & { readonly dhcp6: DhcpV6Config };

const clientOf = ({ dhcp6 }: WithV6): V6Lease['client'] => {
  const client = parseIp(dhcp6.client);
  if (client?.family !== 6) throw new KvError('Invalid', `'${dhcp6.client}' is no IPv6 address for the guest`);
  return client;
};

/** Every bridge with IPv6 is one of a masquerade binding. */
function bridgeMac(): Uint8Array {
  const mac = parseMac(BRIDGE_MAC);
  if (mac === undefined) throw new KvError('Internal', `${BRIDGE_MAC} is no MAC address`);
  return mac;
}

export function v6Lease(vmi: VirtualMachineInstance, file: WithV6, resolv: ResolvConf): V6Lease {
  return {
    client: clientOf(file),
    serverMac: bridgeMac(),
    dns: resolv.nameservers,
    search: searchWithSubdomain(resolv.search, vmi.metadata.namespace ?? '', vmi.spec.subdomain),
  };
}

export const v6Router = (file: WithV6): Omit<Advertisement, 'lifetimeSeconds'> => ({
  routerMac: bridgeMac(),
  onLink: { ...clientOf(file), prefix: file.dhcp6.prefix },
  mtu: file.mtu,
});
