// What the DHCPv6 server of a masquerade interface answers (RFC 8415): one guest, one address for as long as the VM lives, the pod's name
// servers. The launcher owns the socket; a message that is not for us is answered with nothing.
import { type Ip, ipBytes, parseIp } from '../ip.js';
import { type Bytes, concat, dnsName, equal, u16, u32 } from './bytes.js';
import { LEASE_SECONDS } from './v4-server.js';
import {
  decodeV6,
  decodeV6Options,
  encodeV6,
  encodeV6Options,
  V6_MESSAGE,
  V6_OPTION,
  type V6Message,
  type V6Option,
  v6Option,
  v6Options,
} from './v6-packet.js';

export interface V6Lease {
  readonly client: Ip;
  readonly serverMac: Bytes;
  readonly dns: readonly string[];
  readonly search: readonly string[];
}

const STATUS = { success: 0, noAddresses: 2, notOnLink: 4 } as const;
const DUID_LL = 3;
const ETHERNET = 1;
/** IAID and the two times at which to renew; the same up to the options inside. */
const IAID_LENGTH = 4;
const IA_HEADER = 12;
const ADDRESS_LENGTH = 16;
/** The client chooses when to renew. */
const NO_TIMES = concat(u32(0), u32(0));

/** The server's identity: its link-layer address. */
export const serverDuid = (mac: Bytes): Bytes => concat(u16(DUID_LL), u16(ETHERNET), mac);

const status = (code: number): V6Option => ({ code: V6_OPTION.statusCode, value: u16(code) });

const addressOption = (address: Bytes, seconds: number): V6Option => ({
  code: V6_OPTION.iaAddress,
  value: concat(address, u32(seconds), u32(seconds)),
});

/** Addresses that the client believes it has in one identity association. */
function addressesIn(association: Bytes): Bytes[] {
  const inner = decodeV6Options(association.subarray(IA_HEADER)) ?? [];
  return inner.flatMap(({ code, value }) =>
    code === V6_OPTION.iaAddress && value.length >= ADDRESS_LENGTH ? [value.subarray(0, ADDRESS_LENGTH)] : [],
  );
}

function association(asked: Bytes, inner: readonly V6Option[]): V6Option {
  return { code: V6_OPTION.iaNa, value: concat(asked.subarray(0, IAID_LENGTH), NO_TIMES, encodeV6Options(inner)) };
}

/** The first association gets the address and takes back any other that it names; there is none for a second. */
function associations(asked: readonly Bytes[], { client }: V6Lease): V6Option[] {
  const own = ipBytes(client);
  return asked.map((each, at) => {
    if (at > 0) return association(each, [status(STATUS.noAddresses)]);
    const foreign = addressesIn(each).filter((address) => !equal(address, own));
    return association(each, [addressOption(own, LEASE_SECONDS), ...foreign.map((address) => addressOption(address, 0))]);
  });
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

const WITH_ADDRESS: ReadonlySet<number> = new Set([V6_MESSAGE.solicit, V6_MESSAGE.request, V6_MESSAGE.renew, V6_MESSAGE.rebind]);
const ENDING: ReadonlySet<number> = new Set([V6_MESSAGE.release, V6_MESSAGE.decline]);

/** A guest that was on another link asks whether its addresses are still right; without any there is nothing to say. */
function confirmation(asked: readonly Bytes[], { client }: V6Lease): V6Option[] | undefined {
  const addresses = asked.flatMap(addressesIn);
  if (addresses.length === 0) return undefined;
  return [status(addresses.every((address) => equal(address, ipBytes(client))) ? STATUS.success : STATUS.notOnLink)];
}

/** Extra options of the reply, or undefined when the message is none that a server answers. */
function payload(request: V6Message, lease: V6Lease): V6Option[] | undefined {
  const asked = v6Options(request, V6_OPTION.iaNa);
  if (asked.some(({ length }) => length < IA_HEADER)) return undefined;
  if (WITH_ADDRESS.has(request.type)) return [...associations(asked, lease), ...settings(lease)];
  if (request.type === V6_MESSAGE.confirm) return confirmation(asked, lease);
  if (request.type === V6_MESSAGE.informationRequest) return asked.length > 0 ? undefined : settings(lease);
  if (ENDING.has(request.type)) return [status(STATUS.success)];
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
