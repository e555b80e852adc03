// The ICMPv6 router advertisement that tells a guest behind a masquerade binding: I am your gateway, get your address by DHCPv6.
// Bytes only; whoever owns the socket sends them at intervals and on solicitation.
import { type Cidr, type Ip, ipBytes, networkAddress } from '../ip.js';
import { type Bytes, concat, u8, u16, u32 } from './bytes.js';

export const ROUTER_SOLICITATION = 133;
export const ROUTER_ADVERTISEMENT = 134;

export interface Advertisement {
  readonly routerMac: Bytes;
  /** The network on the in-pod bridge. */
  readonly onLink: Cidr;
  readonly mtu: number;
  readonly lifetimeSeconds: number;
}

const HOP_LIMIT = 64;
/** Managed address and other configuration: ask DHCPv6. */
const FLAGS_MANAGED = 0xc0;
const FLAG_ON_LINK = 0x80;
const FOR_EVER = 0xffffffff;
const ICMPV6 = 58;

const sourceLinkLayer = (mac: Bytes): Bytes => concat(u8(1), u8(1), mac);
const mtuOption = (mtu: number): Bytes => concat(u8(5), u8(1), u16(0), u32(mtu));

const prefixOption = (onLink: Cidr): Bytes =>
  concat(Uint8Array.of(3, 4, onLink.prefix, FLAG_ON_LINK), u32(FOR_EVER), u32(FOR_EVER), u32(0), ipBytes(networkAddress(onLink)));

function message(checksum: number, ad: Advertisement): Bytes {
  return concat(
    Uint8Array.of(ROUTER_ADVERTISEMENT, 0),
    u16(checksum),
    Uint8Array.of(HOP_LIMIT, FLAGS_MANAGED),
    u16(ad.lifetimeSeconds),
    u32(0),
    u32(0),
    prefixOption(ad.onLink),
    mtuOption(ad.mtu),
    sourceLinkLayer(ad.routerMac),
  );
}

/** The Internet checksum over the IPv6 pseudo header and the message. */
export function icmp6Checksum(source: Ip, destination: Ip, body: Bytes): number {
  const all = concat(ipBytes(source), ipBytes(destination), u32(body.length), u32(ICMPV6), body, new Uint8Array(body.length % 2));
  let sum = 0;
  for (let at = 0; at < all.length; at += 2) sum += ((all[at] ?? 0) << 8) | (all[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** `source` must be the router's link-local address, or the guest drops the packet. */
export function routerAdvertisement(ad: Advertisement, source: Ip, destination: Ip): Bytes {
  return message(icmp6Checksum(source, destination, message(0, ad)), ad);
}
