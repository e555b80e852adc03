// Building and reading packets: numbers in network byte order, byte strings laid end to end, DNS names. Shared by the DHCP and router
// advertisement codecs.
import { KvError } from '../../../base/errors.js';

export type Bytes = Uint8Array;

const ascii = new TextEncoder();

export const utf8 = (text: string): Bytes => ascii.encode(text);

export function concat(...parts: readonly Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const u8 = (value: number): Bytes => Uint8Array.of(value & 0xff);
export const u16 = (value: number): Bytes => Uint8Array.of((value >>> 8) & 0xff, value & 0xff);
export const u32 = (value: number): Bytes => concat(u16(value >>> 16), u16(value & 0xffff));

const viewOf = (bytes: Bytes): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Both throw a RangeError past the end; decoders check lengths first. */
export const readU16 = (bytes: Bytes, at: number): number => viewOf(bytes).getUint16(at);
export const readU32 = (bytes: Bytes, at: number): number => viewOf(bytes).getUint32(at);

export const equal = (a: Bytes, b: Bytes): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

export const toHex = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const LONGEST_LABEL = 63;

/** RFC 1035 labels without compression. Throws Invalid for a label that does not fit. */
export function dnsName(domain: string): Bytes {
  const labels = domain.split('.').filter(Boolean).map(utf8);
  if (labels.some((label) => label.length > LONGEST_LABEL))
    throw new KvError('Invalid', `a label of domain '${domain}' is longer than 63 bytes`);
  return concat(...labels.map((label) => concat(u8(label.length), label)), u8(0));
}
