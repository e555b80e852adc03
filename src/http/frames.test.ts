// Frames as the ws library writes them, cut and merged in every way: the tracker knows where they end, the splice passes them on, and the
// pump gives the same bytes whatever the cuts.
import { Duplex, type Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as wsLibrary from 'ws';
import { systemClock } from '../base/clock.js';
import { closeFrame, frameTracker } from './frames.js';
import { splice } from './splice.js';

/** One frame; `mask` as a client's. */
function frame(payload: Uint8Array, mask: boolean): Buffer {
  const { length } = payload;
  const long = length > 0xffff ? 127 : length > 125 ? 126 : length;
  const extended = Buffer.alloc(long === 127 ? 8 : long === 126 ? 2 : 0);
  if (long === 127) extended.writeBigUInt64BE(BigInt(length));
  if (long === 126) extended.writeUInt16BE(length);
  const key = mask ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0);
  const body = mask ? payload.map((byte, i) => byte ^ (key[i % 4] ?? 0)) : payload;
  return Buffer.concat([Buffer.from([0x82, long | (mask ? 0x80 : 0)]), extended, key, body]);
}

/** The same bytes in other pieces. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    if (at >= bytes.length) break;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  if (at < bytes.length) pieces.push(bytes.subarray(at));
  return pieces;
}

const payload = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 1, arbitrary: fc.integer({ min: 126, max: 70_000 }).map((n) => new Uint8Array(n).fill(n % 256)) },
);
const frames = fc.array(fc.tuple(payload, fc.boolean()), { minLength: 1, maxLength: 8 });
const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 60 });

describe('frameTracker', () => {
  it('is between frames exactly where one has ended', () => {
    fc.assert(
      fc.property(frames, lengths, (list, cuts) => {
        const written = list.map(([data, mask]) => frame(data, mask));
        const ends = new Set<number>([0]);
        for (const one of written) ends.add([...ends].at(-1) as number).add(([...ends].at(-1) as number) + one.length);
        const tracker = frameTracker();
        let at = 0;
        for (const piece of cut(Buffer.concat(written), cuts)) {
          tracker.push(piece);
          at += piece.length;
          expect(tracker.isBetween()).toBe(ends.has(at));
        }
      }),
    );
  });

  it('knows single bytes too', () => {
    const tracker = frameTracker();
    const bytes = Buffer.concat([frame(new Uint8Array(300), true), frame(new Uint8Array(0), false)]);
    const between = [...bytes].map((byte) => {
      tracker.push(Uint8Array.of(byte));
      return tracker.isBetween();
    });
    expect(between.filter(Boolean)).toHaveLength(2);
    expect(between.at(-1)).toBe(true);
  });
});

/** The library's reader of frames, which its types do not tell of. */
const { Receiver } = wsLibrary as unknown as {
  readonly Receiver: new (options: { readonly isServer: boolean; readonly allowSynchronousEvents: boolean }) => Writable;
};

/** What the other end of a connection makes of these bytes. */
async function received(pieces: readonly Buffer[], isServer: boolean): Promise<{ messages: Buffer; close?: string }> {
  const receiver = new Receiver({ isServer, allowSynchronousEvents: true });
  const messages: Buffer[] = [];
  let close: string | undefined;
  receiver.on('message', (data: Buffer) => messages.push(data));
  receiver.on('conclude', (code: number, reason: Buffer) => {
    close = `${code} ${reason}`;
  });
  for (const piece of pieces) await new Promise<void>((resolve) => receiver.write(piece, () => resolve()));
  return { messages: Buffer.concat(messages), ...(close === undefined ? {} : { close }) };
}

describe('closeFrame', () => {
  it.each([
    ['a reason', 'the guest stopped', 'the guest stopped'],
    ['none', '', ''],
    ['too long', 'x'.repeat(200), 'x'.repeat(123)],
    ['cut between characters', `${'x'.repeat(122)}é`, 'x'.repeat(122)],
  ])('%s', async (_title, reason, told) => {
    expect((await received([closeFrame(4000, reason)], false)).close).toBe(`4000 ${told}`);
  });
});

interface End {
  readonly socket: Duplex;
  readonly written: Buffer[];
}

/** One side of a splice, as a proxy sees it; slow in taking what is written, so that back-pressure is felt. */
function end(): End {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    writableHighWaterMark: 64,
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk);
      setImmediate(done);
    },
  });
  return { socket, written };
}

describe('splice', () => {
  it('passes frames on, however they are cut, and ends with what it was told', async () => {
    const forms = fc.record({ list: frames, cuts: lengths, whole: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(forms, async ({ list, cuts, whole }) => {
        const [client, server, stop] = [end(), end(), new AbortController()];
        const done = splice(client.socket, server.socket, { clock: systemClock, signal: stop.signal });
        const bytes = Buffer.concat(list.map(([data]) => frame(data, false)));
        const sent = whole ? bytes : bytes.subarray(0, bytes.length - 1);
        for (const piece of cut(sent, cuts)) server.socket.push(piece);
        for (let turns = 0; Buffer.concat(client.written).length < sent.length && turns < 5000; turns++) await new Promise(setImmediate);
        stop.abort('the server restarts');
        await done;
        const got = await received(client.written, false);
        expect(Buffer.concat(client.written).subarray(0, sent.length).equals(sent)).toBe(true);
        // Within a frame nothing can be said.
        expect(got.close).toBe(whole ? '4000 the server restarts' : undefined);
      }),
      { numRuns: 60 },
    );
  });

  it('does not wait for ever for a side that takes nothing', async () => {
    const timers = new Set<() => void>();
    const clock = {
      now: () => 0,
      after: (_ms: number, run: () => void) => {
        timers.add(run);
        return () => timers.delete(run);
      },
    };
    const stuck = new Duplex({ read: () => undefined, write: () => undefined });
    const { socket } = end();
    const done = splice(socket, stuck, { clock, signal: new AbortController().signal });
    socket.push(Buffer.from('x'));
    await new Promise(setImmediate);
    socket.destroy();
    await new Promise(setImmediate);
    expect(stuck.destroyed).toBe(false);
    for (const run of timers) run();
    await done;
    expect(stuck.destroyed).toBe(true);
  });
});
