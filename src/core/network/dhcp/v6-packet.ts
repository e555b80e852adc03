// DHCPv6 messages as bytes and back (RFC 8415), as far as one server with one address needs them. Pure codec; relays are not read.
import { type Bytes, concat, readU16, u8, u16 } from './bytes.js';

export const V6_MESSAGE = {
  solicit: 1,
  advertise: 2,
  request: 3,
  confirm: 4,
  renew: 5,
  rebind: 6,
  reply: 7,
  release: 8,
  decline: 9,
  informationRequest: 11,
} as const;

export const V6_OPTION = { clientId: 1, serverId: 2, iaNa: 3, iaAddress: 5, statusCode: 13, rapidCommit: 14, dns: 23, search: 24 } as const;

export interface V6Option {
  readonly code: number;
  readonly value: Bytes;
}

export interface V6Message {
  readonly type: number;
  /** Three bytes. */
  readonly transaction: Bytes;
  readonly options: readonly V6Option[];
}

const HEADER = 4;

export const encodeV6Options = (options: readonly V6Option[]): Bytes =>
  concat(...options.map(({ code, value }) => concat(u16(code), u16(value.length), value)));

export const encodeV6 = ({ type, transaction, options }: V6Message): Bytes => concat(u8(type), transaction, encodeV6Options(options));

/** undefined when an option runs past the end. */
export function decodeV6Options(bytes: Bytes): V6Option[] | undefined {
  const options: V6Option[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + HEADER > bytes.length) return undefined;
    const length = readU16(bytes, at + 2);
    if (at + HEADER + length > bytes.length) return undefined;
    options.push({ code: readU16(bytes, at), value: bytes.slice(at + HEADER, at + HEADER + length) });
    at += HEADER + length;
  }
  return options;
}

export function decodeV6(bytes: Bytes): V6Message | undefined {
  if (bytes.length < HEADER) return undefined;
  const options = decodeV6Options(bytes.subarray(HEADER));
  return options && { type: bytes[0] ?? 0, transaction: bytes.slice(1, HEADER), options };
}

/** The values of every option of one kind. */
export const v6Options = (message: { readonly options: readonly V6Option[] }, code: number): Bytes[] =>
  message.options.flatMap((option) => (option.code === code ? [option.value] : []));

export const v6Option = (message: { readonly options: readonly V6Option[] }, code: number): Bytes | undefined =>
  v6Options(message, code)[0];
