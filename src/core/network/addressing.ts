// Which addresses the gateway and the guest get behind a masquerade binding. Called by the masquerade plan (node agent) and by the
// DHCP servers (launcher), which must agree without talking to each other. Never looks at the pod's own addresses.
import type { Network } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { bitsOf, type Family, formatIp, networkAddress, parseCidr, plus } from './ip.js';

export const DEFAULT_VM_CIDR = '10.0.2.0/24';
export const DEFAULT_VM_IPV6_CIDR = 'fd10:0:2::/120';

export interface InsideAddresses {
  /** On the in-pod bridge. */
  readonly gateway: string;
  readonly guest: string;
  readonly prefix: number;
}

const SMALLEST_HOST_BITS = 2;

/** The first two host addresses of a CIDR; Invalid when there are none. */
export function insideAddresses(cidrText: string): InsideAddresses {
  const cidr = parseCidr(cidrText);
  if (bitsOf(cidr.family) - cidr.prefix < SMALLEST_HOST_BITS) throw new KvError('Invalid', 'less than 4 addresses on network');
  const base = networkAddress(cidr);
  return { gateway: formatIp(plus(base, 1)), guest: formatIp(plus(base, 2)), prefix: cidr.prefix };
}

/** The addresses behind a masquerade binding, of the network's own CIDR where it names one. */
export function masqueradeAddresses(network: Network, family: Family): InsideAddresses {
  const given = family === 4 ? network.pod?.vmNetworkCIDR : network.pod?.vmIPv6NetworkCIDR;
  return insideAddresses(given || (family === 4 ? DEFAULT_VM_CIDR : DEFAULT_VM_IPV6_CIDR));
}

/** The guest's address when only the gateway on the bridge is known: the next one. */
export function guestOf(gateway: string): string {
  const { family, value } = parseCidr(`${gateway}/${gateway.includes(':') ? 128 : 32}`);
  return formatIp({ family, value: value + 1n });
}
