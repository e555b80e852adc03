// The outside of WebSocket frames, for a proxy that passes bytes on as they come: where one frame ends and the next begins, and how to say
// goodbye between two. Looks into no payload. Pure.

/** For an end with a reason: clients take 1000 for an end that the user wanted, and show nothing. */
export const CLOSURE_WITH_REASON = 4000;

const CLOSE_OPCODE = 0x88;
const MASK_BIT = 0x80;
const LENGTH_BITS = 0x7f;
/** A control frame's payload, of which two bytes are the code. */
const LARGEST_REASON_BYTES = 123;

export interface FrameTracker {
  /** The next bytes of the stream, cut anywhere. */
  push(chunk: Uint8Array): void;
  /** True between two frames. */
  isBetween(): boolean;
}

/** The header's length, as far as it is known from its first two bytes. */
function headerLength(second: number): number {
  const length = second & LENGTH_BITS;
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
  return 2 + extended + (second & MASK_BIT ? 4 : 0);
}

function payloadLength(header: Uint8Array): number {
  const view = new DataView(header.buffer, header.byteOffset);
  const length = view.getUint8(1) & LENGTH_BITS;
  if (length === 126) return view.getUint16(2);
  return length === 127 ? Number(view.getBigUint64(2)) : length;
}

export function frameTracker(): FrameTracker {
  const header = new Uint8Array(14);
  let have = 0;
  let payload = 0;
  /** Returns where the chunk goes on. */
  const readHeader = (chunk: Uint8Array, at: number): number => {
    let next = at;
    while (next < chunk.length && (have < 2 || have < headerLength(header[1] ?? 0))) header[have++] = chunk[next++] ?? 0;
    if (have >= 2 && have === headerLength(header[1] ?? 0)) {
      payload = payloadLength(header);
      have = 0;
    }
    return next;
  };
  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length) {
        const skipped = Math.min(payload, chunk.length - at);
        payload -= skipped;
        at += skipped;
        if (at < chunk.length) at = readHeader(chunk, at);
      }
    },
    isBetween: () => have === 0 && payload === 0,
  };
}

/** Cut between characters. */
function shortened(reason: string): Buffer {
  const bytes = Buffer.from(reason);
  if (bytes.length <= LARGEST_REASON_BYTES) return bytes;
  const isContinuation = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let end = LARGEST_REASON_BYTES;
  while (isContinuation(end)) end--;
  return bytes.subarray(0, end);
}

/** As a server sends it: not masked. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = shortened(reason);
  const head = Buffer.from([CLOSE_OPCODE, text.length + 2, code >> 8, code & 0xff]);
  return Buffer.concat([head, text]);
}
