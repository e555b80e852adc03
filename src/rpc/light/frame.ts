// gRPC's frame around one message: a byte that says "compressed", four bytes of length, the message. Both light ends use it.
import { Buffer } from 'node:buffer';
import { KvError } from '../../base/errors.js';

export type Headers = Readonly<Record<string, string>>;

const PREFIX = 5;
/** As much as the full client takes; a peer that sends without end must not fill our memory. */
export const MOST_BYTES = 64 * 1024 * 1024;
/** Room of a connection for what it has under way: the largest message, there and back. */
export const SESSION_MB = 128;

export function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The message of a body with one frame. */
function unframed(body: Buffer): Buffer {
  if (body.length < PREFIX || body.readUInt32BE(1) !== body.length - PREFIX) throw new KvError('Invalid', 'the peer sent no whole message');
  if (body[0] !== 0) throw new KvError('Invalid', 'the peer sent a compressed message, which was not agreed');
  return body.subarray(PREFIX);
}

/** Keeps the pieces of a body until it is whole. */
export class Body {
  readonly #chunks: Buffer[] = [];
  readonly #most: number;
  #total = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  /** False once there is more than there may be. */
  add(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#total += chunk.length;
    return this.#total <= this.#most;
  }

  message(): Buffer {
    return unframed(Buffer.concat(this.#chunks));
  }
}
