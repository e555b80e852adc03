// IP addresses and CIDRs as numbers: parse, print, count up. Used by every address decision of the network plans and by the
// DHCP codecs. Never resolves names and never looks at a host's interfaces.
import { isIP } from 'node:net';
import { KvError } from '../../base/errors.js';

export type Family = 4 | 6;

export interface Ip {
  readonly family: Family;
  readonly value: bigint;
}

export interface Cidr extends Ip {
  readonly prefix: number;
}

export const bitsOf = (family: Family): number => (family === 4 ? 32 : 128);

const parseV4 = (text: string): bigint => text.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);

/** The sixteen-bit groups of one side of a `::`; a dotted IPv4 tail counts as two. */
function groups(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [BigInt(`0x${part}`)];
    const tail = parseV4(part);
    return [tail >> 16n, tail & 0xffffn];
  });
}

function parseV6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array<bigint>(8 - before.length - after.length).fill(0n), ...after];
  return all.reduce((sum, group) => (sum << 16n) | group, 0n);
}

/** undefined when the text is no IP address. Zones (fe80::1%eth0) are not addresses. */
export function parseIp(text: string): Ip | undefined {
  const family = text.includes('%') ? 0 : isIP(text);
  if (family === 4) return { family, value: parseV4(text) };
  if (family === 6) return { family, value: parseV6(text) };
  return undefined;
}

/** Throws Invalid when the text is no CIDR. Host bits are kept. */
export function parseCidr(text: string): Cidr {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (!ip || rest.length > 0 || length < 0 || length > bitsOf(ip.family)) throw new KvError('Invalid', `invalid CIDR address: ${text}`);
  return { ...ip, prefix: length };
}

/** The first address of the CIDR's network. */
export function networkAddress(cidr: Cidr): Ip {
  const hostBits = BigInt(bitsOf(cidr.family) - cidr.prefix);
  return { family: cidr.family, value: (cidr.value >> hostBits) << hostBits };
}

export const plus = (ip: Ip, offset: number): Ip => ({ family: ip.family, value: ip.value + BigInt(offset) });

/** The address in network byte order: 4 or 16 bytes. */
export function ipBytes(ip: Ip): Uint8Array {
  const bytes = new Uint8Array(bitsOf(ip.family) / 8);
  let rest = ip.value;
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** `bytes` must be 4 or 16 long. */
export function ipFromBytes(bytes: Uint8Array): Ip {
  return { family: bytes.length === 4 ? 4 : 6, value: bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) };
}

/** Start and length of the longest run of zero groups that may be written as `::` (RFC 5952: at least two, the first of equals). */
function longestZeroRun(parts: readonly number[]): { start: number; length: number } {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < parts.length; start++) {
    let end = start;
    while (parts[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
    start = Math.max(start, end);
  }
  return best;
}

export function formatIp(ip: Ip): string {
  const bytes = ipBytes(ip);
  if (ip.family === 4) return bytes.join('.');
  const parts = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  const { start, length } = longestZeroRun(parts);
  const hex = (list: readonly number[]): string => list.map((part) => part.toString(16)).join(':');
  return start < 0 ? hex(parts) : `${hex(parts.slice(0, start))}::${hex(parts.slice(start + length))}`;
}

const within = (ip: Ip, cidr: string): boolean => {
  const net = parseCidr(cidr);
  return net.family === ip.family && networkAddress({ ...ip, prefix: net.prefix }).value === net.value;
};

const NOT_GLOBAL = [
  '0.0.0.0/32',
  '255.255.255.255/32',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
];

/** True for an address that other machines can use: not unspecified, loopback, link-local, multicast or broadcast. */
export function isGlobalUnicast(text: string): boolean {
  const ip = parseIp(text);
  return ip !== undefined && !NOT_GLOBAL.some((cidr) => within(ip, cidr));
}

/** 24 → 255.255.255.0 */
export const maskOf = (prefix: number): string => formatIp({ family: 4, value: ((1n << BigInt(prefix)) - 1n) << BigInt(32 - prefix) });
