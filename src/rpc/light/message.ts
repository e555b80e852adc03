// Messages to and from bytes, read off the generated description. For processes that live for one call or must stay small: the full library
// (../loader.ts) takes longer to load than such a call takes. Knows what their messages use: no floating point numbers, no enums, maps by strings.
import { Buffer } from 'node:buffer';
import { KvError } from '../../base/errors.js';
import { descriptor } from '../generated/descriptor.js';

interface Field {
  readonly id: number;
  readonly type: string;
  readonly rule?: string;
  readonly keyType?: string;
}

export interface Described {
  readonly fields?: Readonly<Record<string, Field>>;
  readonly methods?: Readonly<Record<string, Method>>;
}

export interface Method {
  readonly requestType: string;
  readonly responseType: string;
}

export type Values = Readonly<Record<string, unknown>>;

export const CMD_SERVICE = 'kubevirt.cmd.v1.Cmd';
export const CMD_INFO_SERVICE = 'kubevirt.cmd.info.CmdInfo';
export const NOTIFY_SERVICE = 'kubevirt.notify.v1.Notify';
export const NOTIFY_INFO_SERVICE = 'kubevirt.notify.info.NotifyInfo';

/** Messages and services of one .proto file by name. */
export type Package = Readonly<Record<string, Described>>;

export const PACKAGES = {
  cmd: descriptor.nested.kubevirt.nested.cmd.nested.v1.nested as unknown as Package,
  cmdInfo: descriptor.nested.kubevirt.nested.cmd.nested.info.nested as unknown as Package,
  notify: descriptor.nested.kubevirt.nested.notify.nested.v1.nested as unknown as Package,
  notifyInfo: descriptor.nested.kubevirt.nested.notify.nested.info.nested as unknown as Package,
  hooksInfo: descriptor.nested.kubevirt.nested.hooks.nested.info.nested as unknown as Package,
  hooks: descriptor.nested.kubevirt.nested.hooks.nested.v1alpha3.nested as unknown as Package,
  vsock: descriptor.nested.kubevirt.nested.vsock.nested.system.nested.v1.nested as unknown as Package,
  plugins: descriptor.nested.kubevirt.nested.hooks.nested.plugins.nested.v1alpha1.nested as unknown as Package,
} as const;

export function methodOf(name: string): Method {
  const method = PACKAGES.cmd.Cmd?.methods?.[name];
  if (!method) throw new KvError('Internal', `no method ${name} in the service description; run "npm run gen:rpc"`);
  return method;
}

function fieldsOf(type: string, from: Package): [string, Field][] {
  const fields = from[type]?.fields;
  if (!fields) throw new KvError('Internal', `no message ${type} in the service description; run "npm run gen:rpc"`);
  return Object.entries(fields);
}

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
const NUMBERS: readonly string[] = ['bool', 'int32', 'uint32', 'int64', 'uint64'];
const TEXTS: readonly string[] = ['string', 'bytes'];

/** Negative numbers travel as 64-bit two's complement. */
function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const tag = (id: number, wire: number): Buffer => varint(BigInt(id * 8 + wire));

function writeOne({ id, type }: Field, value: unknown, from: Package): Buffer {
  if (NUMBERS.includes(type)) return Buffer.concat([tag(id, WIRE.varint), varint(BigInt(Math.trunc(Number(value))))]);
  const body = TEXTS.includes(type) ? Buffer.from(value as string) : encodeMessage(type, value as Values, from);
  return Buffer.concat([tag(id, WIRE.bytes), varint(BigInt(body.length)), body]);
}

const KEY: Field = { id: 1, type: 'string' };
const entryValue = ({ type }: Field): Field => ({ id: 2, type });

/** A map travels as a list of messages with two fields. */
function writeEntry(field: Field, [key, value]: readonly [string, unknown], from: Package): Buffer {
  const body = Buffer.concat([writeOne(KEY, key, from), writeOne(entryValue(field), value, from)]);
  return Buffer.concat([tag(field.id, WIRE.bytes), varint(BigInt(body.length)), body]);
}

function readEntry(field: Field, body: Buffer, from: Package): [string, unknown] {
  const found = readFields(
    [
      ['key', KEY],
      ['value', entryValue(field)],
    ],
    body,
    from,
  );
  return [String(found.key), found.value];
}

export function encodeMessage(type: string, values: Values, from: Package = PACKAGES.cmd): Buffer {
  const parts = fieldsOf(type, from).flatMap(([name, field]) => {
    const value = values[name];
    if (value === undefined || value === null) return [];
    if (field.keyType !== undefined) return Object.entries(value).map((entry) => writeEntry(field, entry, from));
    return (field.rule === 'repeated' ? (value as unknown[]) : [value]).map((each) => writeOne(field, each, from));
  });
  return Buffer.concat(parts);
}

/** Reads numbers and byte strings one after the other; a message that ends early is an error of the peer. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new KvError('Invalid', 'the message ends in the middle of a field; the peer runs another version');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.take(1).readUInt8();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  payload(wire: number): bigint | Buffer {
    if (wire === WIRE.varint) return this.varint();
    if (wire === WIRE.fixed64) return this.take(8);
    if (wire === WIRE.fixed32) return this.take(4);
    if (wire === WIRE.bytes) return this.take(Number(this.varint()));
    throw new KvError('Invalid', `the message has a field of unknown encoding ${wire}; the peer runs another version`);
  }
}

function readOne(type: string, raw: bigint | Buffer, from: Package): unknown {
  if (typeof raw !== 'bigint') {
    if (type === 'string') return raw.toString('utf8');
    return type === 'bytes' ? raw : decodeMessage(type, raw, from);
  }
  if (type === 'bool') return raw !== 0n;
  return Number(type.startsWith('u') ? raw : BigInt.asIntN(64, raw));
}

/** Numbers of a list may come together as the bytes of one field. */
function readList(type: string, raw: bigint | Buffer, from: Package): unknown[] {
  if (typeof raw === 'bigint' || !NUMBERS.includes(type)) return [readOne(type, raw, from)];
  const reader = new Reader(raw);
  const found: unknown[] = [];
  while (!reader.isDone) found.push(readOne(type, reader.varint(), from));
  return found;
}

function absent({ type, rule, keyType }: Field): unknown {
  if (keyType !== undefined) return {};
  if (rule === 'repeated') return [];
  if (type === 'bool') return false;
  if (type === 'string') return '';
  if (type === 'bytes') return Buffer.alloc(0);
  return NUMBERS.includes(type) ? 0 : null;
}

function readFields(fields: readonly [string, Field][], bytes: Buffer, from: Package): Record<string, unknown> {
  const byId = new Map(fields.map(([name, field]) => [field.id, { name, field }]));
  const values: Record<string, unknown> = Object.fromEntries(fields.map(([name, field]) => [name, absent(field)]));
  const reader = new Reader(bytes);
  while (!reader.isDone) {
    const key = Number(reader.varint());
    const raw = reader.payload(key & 7);
    const found = byId.get(key >> 3);
    if (found) values[found.name] = withField(values[found.name], found.field, raw, from);
  }
  return values;
}

/** The value of a field after one more piece of it was read. */
function withField(before: unknown, field: Field, raw: bigint | Buffer, from: Package): unknown {
  if (field.rule === 'repeated') return [...(before as unknown[]), ...readList(field.type, raw, from)];
  if (field.keyType === undefined) return readOne(field.type, raw, from);
  if (typeof raw === 'bigint')
    throw new KvError('Invalid', 'the message has a number in the place of a map; the peer runs another version');
  return Object.fromEntries([...Object.entries(before as object), readEntry(field, raw, from)]);
}

/** Every field has a value, as the full library gives it: 0, '', false, [], {} or null when it was not sent. */
export function decodeMessage(type: string, bytes: Buffer, from: Package = PACKAGES.cmd): Record<string, unknown> {
  return readFields(fieldsOf(type, from), bytes, from);
}
