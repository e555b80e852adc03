// The ICMPv6 router advertisement that tells a guest behind a masquerade binding: I am your gateway, get your address by DHCPv6.
// Bytes only; whoever owns the socket sends them at intervals and on solicitation, and the kernel fills in the checksum.
import { type Cidr, ipBytes, networkAddress } from '../ip.js';
import { type Bytes, concat, u8, u16, u32 } from './bytes.js';

export const ROUTER_SOLICITATION = 133;
export const ROUTER_ADVERTISEMENT = 134;
/** Every host on a link. */
export const ALL_NODES = 'ff02::1';

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
/** On the link, but no address is to be made from it. */
const FLAG_ON_LINK = 0x80;
const FOR_EVER = 0xffffffff;

const sourceLinkLayer = (mac: Bytes): Bytes => concat(u8(1), u8(1), mac);
const mtuOption = (mtu: number): Bytes => concat(u8(5), u8(1), u16(0), u32(mtu));

const prefixOption = (onLink: Cidr): Bytes =>
  concat(Uint8Array.of(3, 4, onLink.prefix, FLAG_ON_LINK), u32(FOR_EVER), u32(FOR_EVER), u32(0), ipBytes(networkAddress(onLink)));

export function routerAdvertisement(ad: Advertisement): Bytes {
  return concat(
    // Type, code, and a checksum over addresses that only the kernel knows.
    Uint8Array.of(ROUTER_ADVERTISEMENT, 0, 0, 0),
    Uint8Array.of(HOP_LIMIT, FLAGS_MANAGED),
    u16(ad.lifetimeSeconds),
    // The guest's own ideas of how long a neighbour is reachable and when to ask again.
    u32(0),
    u32(0),
    prefixOption(ad.onLink),
    mtuOption(ad.mtu),
    sourceLinkLayer(ad.routerMac),
  );
}

const SHORTEST_SOLICITATION = 8;

/** Whether a received ICMPv6 message asks for an advertisement. */
export const isSolicitation = (message: Bytes): boolean =>
  message.length >= SHORTEST_SOLICITATION && message[0] === ROUTER_SOLICITATION && message[1] === 0;
