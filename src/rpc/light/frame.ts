// gRPC's frame around one message: a byte that says "compressed", four bytes of length, the message. Both light ends use it.
import { Buffer } from 'node:buffer';

const PREFIX = 5;

export function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The message of a body with one frame. */
export const unframed = (body: Buffer): Buffer => body.subarray(PREFIX);
