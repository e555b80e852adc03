// What the DHCPv6 server of a masquerade interface answers: one guest, one address without end, the pod's name servers. The launcher
// owns the socket; a message that is not for us is answered with nothing.
import { type Ip, ipBytes, parseIp } from '../ip.js';
import { type Bytes, concat, dnsName, equal, u16, u32 } from './bytes.js';
import { decodeV6, encodeV6, encodeV6Options, V6_MESSAGE, V6_OPTION, type V6Message, type V6Option, v6Option } from './v6-packet.js';

export interface V6Lease {
  readonly client: Ip;
  readonly serverMac: Bytes;
  readonly dns: readonly string[];
  readonly search: readonly string[];
}

const FOR_EVER = 0xffffffff;
const DUID_LL = 3;
const ETHERNET = 1;
const IAID_LENGTH = 4;

/** The server's identity: its link-layer address. */
export const serverDuid = (mac: Bytes): Bytes => concat(u16(DUID_LL), u16(ETHERNET), mac);

function addressOption(asked: Bytes, client: Ip): V6Option {
  const address = concat(ipBytes(client), u32(FOR_EVER), u32(FOR_EVER));
  const inner = encodeV6Options([{ code: V6_OPTION.iaAddress, value: address }]);
  return { code: V6_OPTION.iaNa, value: concat(asked.subarray(0, IAID_LENGTH), u32(0), u32(0), inner) };
}

function settings({ dns, search }: V6Lease): V6Option[] {
  const servers = dns.flatMap((text) => {
    const ip = parseIp(text);
    return ip?.family === 6 ? [ipBytes(ip)] : [];
  });
  return [
    ...(servers.length > 0 ? [{ code: V6_OPTION.dns, value: concat(...servers) }] : []),
    ...(search.length > 0 ? [{ code: V6_OPTION.search, value: concat(...search.map(dnsName)) }] : []),
  ];
}

const WITH_ADDRESS: ReadonlySet<number> = new Set([
  V6_MESSAGE.solicit,
  V6_MESSAGE.request,
  V6_MESSAGE.confirm,
  V6_MESSAGE.renew,
  V6_MESSAGE.rebind,
]);
const ENDING: ReadonlySet<number> = new Set([V6_MESSAGE.release, V6_MESSAGE.decline]);

/** Extra options of the reply, or undefined when the message is none that a server answers. */
function payload(request: V6Message, lease: V6Lease): V6Option[] | undefined {
  const asked = v6Option(request, V6_OPTION.iaNa);
  if (WITH_ADDRESS.has(request.type)) return [...(asked ? [addressOption(asked, lease.client)] : []), ...settings(lease)];
  if (request.type === V6_MESSAGE.informationRequest) return settings(lease);
  if (ENDING.has(request.type)) return [{ code: V6_OPTION.statusCode, value: u16(0) }];
  return undefined;
}

/** Clients identify themselves except when they only ask for settings; what names another server is not for us. */
function isForUs(request: V6Message, self: Bytes): boolean {
  const addressee = v6Option(request, V6_OPTION.serverId);
  if (addressee && !equal(addressee, self)) return false;
  return v6Option(request, V6_OPTION.clientId) !== undefined || request.type === V6_MESSAGE.informationRequest;
}

const commitsAtOnce = (request: V6Message): boolean =>
  request.type === V6_MESSAGE.solicit && v6Option(request, V6_OPTION.rapidCommit) !== undefined;

function reply(request: V6Message, self: Bytes, extra: readonly V6Option[]): V6Message {
  const clientId = v6Option(request, V6_OPTION.clientId);
  const rapid = commitsAtOnce(request);
  return {
    type: request.type === V6_MESSAGE.solicit && !rapid ? V6_MESSAGE.advertise : V6_MESSAGE.reply,
    transaction: request.transaction,
    options: [
      ...(clientId ? [{ code: V6_OPTION.clientId, value: clientId }] : []),
      { code: V6_OPTION.serverId, value: self },
      ...(rapid ? [{ code: V6_OPTION.rapidCommit, value: new Uint8Array() }] : []),
      ...extra,
    ],
  };
}

export function answerV6(datagram: Bytes, lease: V6Lease): Bytes | undefined {
  const request = decodeV6(datagram);
  const self = serverDuid(lease.serverMac);
  if (!request || !isForUs(request, self)) return undefined;
  const extra = payload(request, lease);
  return extra && encodeV6(reply(request, self, extra));
}
