// What the DHCPv4 server of one interface answers: one client, one address, for as long as the VM lives. The launcher owns the socket
// and hands each datagram in; a message that is not for us is answered with nothing.
import { type Ip, ipBytes } from '../ip.js';
import { type Bytes, concat, equal, u8, u32, utf8 } from './bytes.js';
import { OPTION, type V4Options } from './v4-options.js';
import { BROADCAST_FLAG, decodeV4, encodeV4, NO_ADDRESS, OP, type V4Packet } from './v4-packet.js';

export const MESSAGE = { discover: 1, offer: 2, request: 3, decline: 4, ack: 5, nak: 6, release: 7, inform: 8 } as const;

/** 999 days. */
export const LEASE_SECONDS = 999 * 24 * 60 * 60;

export interface V4Lease {
  readonly server: Ip;
  readonly client: Ip;
  /** Answers nobody else; undefined: whoever asks. */
  readonly clientMac?: Bytes;
  /** The client's address is (also) one of the pod's own links: anything sent to it would never leave the pod. */
  readonly alwaysBroadcast?: boolean;
  readonly options: V4Options;
}

export interface V4Answer {
  readonly packet: Bytes;
  /** undefined: broadcast, because the client has no address yet. */
  readonly to: Ip | undefined;
}

const sameAddress = (bytes: Bytes | undefined, ip: Ip): boolean => bytes !== undefined && equal(bytes, ipBytes(ip));

/** Options in the order the client asked for them, the rest after. */
function ordered(options: V4Options, asked: Bytes | undefined): [number, Bytes][] {
  const first = [...(asked ?? [])].flatMap((code): [number, Bytes][] => {
    const value = options.get(code);
    return value === undefined ? [] : [[code, value]];
  });
  // Nothing to say on a matter, such as name servers that are all IPv6: an option without bytes would be malformed.
  return [...first, ...options].filter(([, value]) => value.length > 0);
}

function reply(request: V4Packet, lease: V4Lease, type: number, yiaddr: Ip): Bytes {
  const isNak = type === MESSAGE.nak;
  const leased = type === MESSAGE.offer || (type === MESSAGE.ack && yiaddr.value !== 0n);
  const options = new Map<number, Bytes>([
    [OPTION.messageType, u8(type)],
    [OPTION.serverId, ipBytes(lease.server)],
    ...(leased ? [[OPTION.leaseTime, u32(LEASE_SECONDS)] as const] : []),
    ...(isNak
      ? [[OPTION.message, utf8('this address is not the one of this VM')] as const]
      : ordered(lease.options, request.options.get(OPTION.parameterList))),
  ]);
  return encodeV4({
    op: OP.reply,
    xid: request.xid,
    secs: 0,
    flags: isNak ? request.flags | BROADCAST_FLAG : request.flags,
    // Who only asks for settings has its address already, and finds its answer by it.
    ciaddr: type === MESSAGE.ack && !leased ? request.ciaddr : NO_ADDRESS,
    yiaddr,
    siaddr: isNak ? NO_ADDRESS : lease.server,
    giaddr: request.giaddr,
    chaddr: request.chaddr,
    options,
  });
}

/** A client that insists on an address which is not its own must start over (RFC 2131, 4.3.2). */
function wantsOtherAddress(request: V4Packet, lease: V4Lease): boolean {
  const asked = request.options.get(OPTION.requestedAddress);
  if (asked !== undefined) return !sameAddress(asked, lease.client);
  return request.ciaddr.value !== 0n && request.ciaddr.value !== lease.client.value;
}

function decide(request: V4Packet, lease: V4Lease): { type: number; yiaddr: Ip } | undefined {
  switch (request.options.get(OPTION.messageType)?.[0]) {
    case MESSAGE.discover:
      return { type: MESSAGE.offer, yiaddr: lease.client };
    case MESSAGE.request: {
      const chosen = request.options.get(OPTION.serverId);
      if (chosen !== undefined && !sameAddress(chosen, lease.server)) return undefined;
      return wantsOtherAddress(request, lease) ? { type: MESSAGE.nak, yiaddr: NO_ADDRESS } : { type: MESSAGE.ack, yiaddr: lease.client };
    }
    case MESSAGE.inform:
      return { type: MESSAGE.ack, yiaddr: NO_ADDRESS };
    default:
      return undefined;
  }
}

export function answerV4(datagram: Bytes, lease: V4Lease): V4Answer | undefined {
  const request = decodeV4(datagram);
  if (request?.op !== OP.request) return undefined;
  if (lease.clientMac && !equal(request.chaddr, lease.clientMac)) return undefined;
  const decision = decide(request, lease);
  if (!decision) return undefined;
  const unicast =
    lease.alwaysBroadcast !== true &&
    decision.type !== MESSAGE.nak &&
    request.ciaddr.value !== 0n &&
    (request.flags & BROADCAST_FLAG) === 0;
  return { packet: reply(request, lease, decision.type, decision.yiaddr), to: unicast ? request.ciaddr : undefined };
}

/** DISCOVER or REQUEST as a client sends them; for tests and for probing a server. */
export function v4ClientMessage(type: number, mac: Bytes, extra: ReadonlyMap<number, Bytes> = new Map(), xid = 1): Bytes {
  return encodeV4({
    op: OP.request,
    xid,
    secs: 0,
    flags: BROADCAST_FLAG,
    ciaddr: NO_ADDRESS,
    yiaddr: NO_ADDRESS,
    siaddr: NO_ADDRESS,
    giaddr: NO_ADDRESS,
    chaddr: mac,
    options: new Map<number, Bytes>([[OPTION.messageType, u8(type)], ...extra]),
  });
}

export const parameterList = (...codes: readonly number[]): Bytes => concat(...codes.map(u8));
