// Header blocks of HTTP/2 (HPACK, RFC 7541). Reads everything a peer may send; writes plain fields only, which every peer reads and which need no
// table. One reader a connection, as fields refer to earlier ones. Used by ./h2.ts.
import { Buffer } from 'node:buffer';
import { KvError } from '../../base/errors.js';
import { CODE_LENGTHS, type Field, STATIC_FIELDS } from './hpack-tables.js';

const TABLE_BYTES = 4096;
/** What an entry of the table counts besides its text. */
const ENTRY_BYTES = 32;
const END_MARK = 256;
const LONGEST_CODE = 30;
/** A number of more bytes is no length of anything. */
const MOST_SHIFT = 28;

const broken = (what: string): KvError => new KvError('Invalid', `the peer sent a header block with ${what}`);

// Canonical codes: those of one length follow each other, in the order of what they stand for.
interface Row {
  readonly first: number;
  readonly symbols: readonly number[];
}

function rowsOfCodes(): Row[] {
  let next = 0;
  return Array.from({ length: LONGEST_CODE + 1 }, (_, length) => {
    const symbols = length === 0 ? [] : CODE_LENGTHS.flatMap((each, symbol) => (each === length ? [symbol] : []));
    const first = next * 2;
    next = first + symbols.length;
    return { first, symbols };
  });
}

let rows: Row[] | undefined;

export function unpackText(packed: Buffer): string {
  rows ??= rowsOfCodes();
  const text: number[] = [];
  let [code, length] = [0, 0];
  for (const byte of packed) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      const { first, symbols } = rows[++length] ?? { first: 0, symbols: [] };
      const symbol = symbols[code - first];
      if (symbol === END_MARK || length > LONGEST_CODE) throw broken('a packed text that is none');
      if (symbol === undefined) continue;
      text.push(symbol);
      [code, length] = [0, 0];
    }
  }
  // The last byte is filled up with ones.
  if (length > 7 || code !== 2 ** length - 1) throw broken('a packed text that ends in the middle of a letter');
  return Buffer.from(text).toString('latin1');
}

class BlockReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isDone(): boolean {
    return this.#at >= this.#block.length;
  }

  get first(): number {
    return this.#block[this.#at] ?? 0;
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw broken('an end too early');
    return byte;
  }

  /** A number in the lower bits of the next byte, and in those that follow when they do not suffice. */
  number(bits: number): number {
    const most = 2 ** bits - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte();
      if (shift > MOST_SHIFT) throw broken('a number without end');
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }

  text(): string {
    const isPacked = this.first >= 128;
    const length = this.number(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw broken('an end too early');
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isPacked ? unpackText(bytes) : bytes.toString('latin1');
  }
}

export class HpackReader {
  /** Newest first. */
  readonly #table: Field[] = [];
  #bytes = 0;
  #limit = TABLE_BYTES;

  read(block: Buffer): Field[] {
    const reader = new BlockReader(block);
    const fields: Field[] = [];
    while (!reader.isDone) {
      const field = this.#next(reader);
      if (field) fields.push(field);
    }
    return fields;
  }

  #next(reader: BlockReader): Field | undefined {
    const { first } = reader;
    if (first >= 128) return this.#at(reader.number(7));
    if (first >= 64) {
      const field = this.#literal(reader, 6);
      this.#remember(field);
      return field;
    }
    // The third form changes the table's size; of the two last ones one says that nobody on the way may remember it.
    if (first < 32) return this.#literal(reader, 4);
    this.#resize(reader.number(5));
    return undefined;
  }

  #literal(reader: BlockReader, bits: number): Field {
    const index = reader.number(bits);
    const name = index === 0 ? reader.text() : this.#at(index)[0];
    return [name, reader.text()];
  }

  #at(index: number): Field {
    const field = STATIC_FIELDS[index - 1] ?? this.#table[index - 1 - STATIC_FIELDS.length];
    if (!field) throw broken(`a reference to field ${index}, which it does not have`);
    return field;
  }

  #resize(limit: number): void {
    if (limit > TABLE_BYTES) throw broken('a larger table than was offered');
    this.#limit = limit;
    this.#evict();
  }

  #remember(field: Field): void {
    this.#table.unshift(field);
    this.#bytes += sizeOf(field);
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#limit) {
      const oldest = this.#table.pop();
      if (!oldest) return;
      this.#bytes -= sizeOf(oldest);
    }
  }
}

const sizeOf = ([name, value]: Field): number => name.length + value.length + ENTRY_BYTES;

function numberBytes(value: number, bits: number): number[] {
  const most = 2 ** bits - 1;
  if (value < most) return [value];
  const bytes = [most];
  let rest = value - most;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from(numberBytes(bytes.length, 7)), bytes]);
}

/** Each field in full, not to be remembered. */
export function writeFields(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), textBytes(name), textBytes(value)]));
}
