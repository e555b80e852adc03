// Frames of HTTP/2 (RFC 9113, section 4 and 6): cut out of what a socket brings, and written. Knows no streams; ./h2.ts does.
import { Buffer } from 'node:buffer';
import { KvError } from '../../base/errors.js';

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;
export const SETTING = { enablePush: 2, maxStreams: 3, windowSize: 4, frameSize: 5 } as const;
export const CODE = { protocol: 1, refused: 7, cancel: 8 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const HEAD = 9;
/** The size everybody must take, and the one we offer. */
export const FRAME_BYTES = 16_384;
const STREAM_MASK = 0x7fffffff;

export const broken = (what: string): KvError => new KvError('Invalid', `the peer broke HTTP/2: ${what}`);

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const number32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

export function settingsPayload(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  return Buffer.concat(settings.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), number32(value)])));
}

export function readSettings(payload: Buffer): [id: number, value: number][] {
  if (payload.length % 6 !== 0) throw broken('settings of an impossible size');
  return Array.from({ length: payload.length / 6 }, (_, i) => [payload.readUInt16BE(i * 6), payload.readUInt32BE(i * 6 + 2)]);
}

/** The four bytes of a frame that has nothing else. */
export function readNumber32(payload: Buffer): number {
  if (payload.length !== 4) throw broken('a frame of an impossible size');
  return payload.readUInt32BE(0);
}

/** A payload without its padding and, where it has that, its priority. */
export function unpadded({ payload, flags, type }: Frame): Buffer {
  const isPadded = (flags & FLAG.padded) !== 0;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const hasPriority = type === FRAME.headers && (flags & FLAG.priority) !== 0;
  const start = (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
  if (start + padding > payload.length) throw broken('a frame with more padding than content');
  return payload.subarray(start, payload.length - padding);
}

export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #awaitsPreface: boolean;

  constructor(awaitsPreface: boolean) {
    this.#awaitsPreface = awaitsPreface;
  }

  /** The frames that this piece completes. */
  *push(chunk: Buffer): Generator<Frame> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#awaitsPreface && !this.#takePreface()) return;
    while (this.#rest.length >= HEAD) {
      const length = this.#rest.readUIntBE(0, 3);
      if (length > FRAME_BYTES) throw broken(`a frame of ${length} bytes`);
      const end = HEAD + length;
      if (this.#rest.length < end) return;
      const [type, flags] = [this.#rest.readUInt8(3), this.#rest.readUInt8(4)];
      const found = { type, flags, stream: this.#rest.readUInt32BE(5) & STREAM_MASK, payload: this.#rest.subarray(HEAD, end) };
      this.#rest = this.#rest.subarray(end);
      yield found;
    }
  }

  #takePreface(): boolean {
    const got = this.#rest.subarray(0, PREFACE.length);
    if (!got.equals(PREFACE.subarray(0, got.length))) throw broken('it does not begin as HTTP/2 does');
    if (got.length < PREFACE.length) return false;
    this.#awaitsPreface = false;
    this.#rest = this.#rest.subarray(PREFACE.length);
    return true;
  }
}
