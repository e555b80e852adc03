// DHCPv4 messages as bytes and back (RFC 2131, long options split as in RFC 3396). Pure codec: knows no lease and no policy.
import { type Ip, ipBytes, ipFromBytes } from '../ip.js';
import { type Bytes, concat, equal, readU16, readU32, u8, u16, u32 } from './bytes.js';

export const OP = { request: 1, reply: 2 } as const;
export const BROADCAST_FLAG = 0x8000;

export interface V4Packet {
  readonly op: number;
  readonly xid: number;
  readonly secs: number;
  readonly flags: number;
  /** Client, offered, next server and relay addresses. */
  readonly ciaddr: Ip;
  readonly yiaddr: Ip;
  readonly siaddr: Ip;
  readonly giaddr: Ip;
  /** Hardware address, hlen bytes (at most 16). */
  readonly chaddr: Bytes;
  readonly options: ReadonlyMap<number, Bytes>;
}

export const NO_ADDRESS: Ip = { family: 4, value: 0n };

const COOKIE = Uint8Array.of(0x63, 0x82, 0x53, 0x63);
const HEADER = 236;
const CHADDR_FIELD = 16;
const PAD = 0;
const END = 255;
const ETHERNET = 1;
/** BOOTP relays drop anything shorter. */
const SHORTEST = 300;
const LONGEST_CHUNK = 255;

const padded = (bytes: Bytes, length: number): Bytes =>
  concat(bytes.subarray(0, length), new Uint8Array(Math.max(0, length - bytes.length)));

function encodeOption(code: number, value: Bytes): Bytes {
  const chunks: Bytes[] = [];
  for (let at = 0; at === 0 || at < value.length; at += LONGEST_CHUNK) {
    const chunk = value.subarray(at, at + LONGEST_CHUNK);
    chunks.push(u8(code), u8(chunk.length), chunk);
  }
  return concat(...chunks);
}

export function encodeV4(packet: V4Packet): Bytes {
  const bytes = concat(
    Uint8Array.of(packet.op, ETHERNET, packet.chaddr.length, 0),
    u32(packet.xid),
    u16(packet.secs),
    u16(packet.flags),
    ...[packet.ciaddr, packet.yiaddr, packet.siaddr, packet.giaddr].map(ipBytes),
    padded(packet.chaddr, CHADDR_FIELD),
    new Uint8Array(HEADER - 28 - CHADDR_FIELD),
    COOKIE,
    ...[...packet.options].map(([code, value]) => encodeOption(code, value)),
    u8(END),
  );
  return padded(bytes, Math.max(SHORTEST, bytes.length));
}

/** undefined when an option runs past the end of the packet. */
function decodeOptions(bytes: Bytes): Map<number, Bytes> | undefined {
  const options = new Map<number, Bytes>();
  let at = 0;
  for (;;) {
    const code = bytes[at];
    if (code === undefined || code === END) return options;
    at++;
    if (code === PAD) continue;
    const length = bytes[at];
    if (length === undefined || at + 1 + length > bytes.length) return undefined;
    const value = bytes.subarray(at + 1, at + 1 + length);
    options.set(code, concat(options.get(code) ?? new Uint8Array(), value));
    at += 1 + length;
  }
}

/** undefined for anything that is no well-formed DHCPv4 message. */
export function decodeV4(bytes: Bytes): V4Packet | undefined {
  if (bytes.length < HEADER + COOKIE.length || !equal(bytes.subarray(HEADER, HEADER + COOKIE.length), COOKIE)) return undefined;
  const hlen = bytes[2] ?? 0;
  const options = decodeOptions(bytes.subarray(HEADER + COOKIE.length));
  if (hlen > CHADDR_FIELD || !options) return undefined;
  const address = (at: number): Ip => ipFromBytes(bytes.subarray(at, at + 4));
  return {
    op: bytes[0] ?? 0,
    xid: readU32(bytes, 4),
    secs: readU16(bytes, 8),
    flags: readU16(bytes, 10),
    ciaddr: address(12),
    yiaddr: address(16),
    siaddr: address(20),
    giaddr: address(24),
    chaddr: bytes.slice(28, 28 + hlen),
    options,
  };
}
