// Our HTTP/2 against Node's, on both sides, and against peers that break the rules.
import { Buffer } from 'node:buffer';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect as connectHttp2, createServer as createHttp2, type ServerHttp2Stream } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LightChannel } from './call.js';
import { FLAG, FRAME, frame, PREFACE, settingsPayload } from './h2-frames.js';
import { writeFields } from './hpack.js';
import { patienceOf, serveLight } from './server.js';

let dir: string;
let socket: string;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'h2-'));
  socket = join(dir, 's');
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(dir, { recursive: true });
});

const LARGE = Buffer.alloc(9 * 1024 * 1024, 'abcdefg');
const echo = async (message: Buffer): Promise<Buffer> => message;

async function serve(): Promise<void> {
  const server = await serveLight(socket, { '/a.B/Echo': echo, '/a.B/Never': () => new Promise(() => undefined) });
  cleanups.push(() => server.close());
}

const framed = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

/** One call by Node's client; trailing headers and the answer. */
function nodeCall(
  session: ClientHttp2Session,
  path: string,
  message: Buffer,
  extra = {},
): Promise<{ trailers: object; headers: object; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...extra });
    const chunks: Buffer[] = [];
    let [headers, trailers]: [object, object] = [{}, {}];
    stream.on('response', (found) => {
      headers = found;
    });
    stream.on('trailers', (found) => {
      trailers = found;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => resolve({ headers, trailers, body: Buffer.concat(chunks) }));
    stream.end(framed(message));
  });
}

function nodeClient(): ClientHttp2Session {
  const session = connectHttp2('http://localhost', { createConnection: () => connect(socket) });
  cleanups.push(() => session.destroy());
  return session;
}

describe('our server and Node’s client', () => {
  it('exchange messages larger than any window, many at a time', async () => {
    await serve();
    const session = nodeClient();
    const messages = [LARGE, Buffer.from('small'), LARGE.subarray(0, 70_000), Buffer.alloc(0)];
    const answers = await Promise.all(messages.map((message) => nodeCall(session, '/a.B/Echo', message)));
    expect(answers.map(({ body }, i) => body.equals(framed(messages[i] as Buffer)))).toEqual([true, true, true, true]);
    expect(answers.map(({ trailers }) => (trailers as Record<string, string>)['grpc-status'])).toEqual(['0', '0', '0', '0']);
  });

  it('headers that refer to earlier ones, and long ones', async () => {
    await serve();
    const session = nodeClient();
    for (let i = 0; i < 20; i++) {
      const { trailers } = await nodeCall(session, '/a.B/Echo', Buffer.from('x'), { 'x-long': 'y'.repeat(20_000), 'x-number': String(i) });
      expect(trailers).toMatchObject({ 'grpc-status': '0' });
    }
  });

  it('calls that are taken back leave no trace', async () => {
    await serve();
    const session = nodeClient();
    for (let i = 0; i < 300; i++) {
      const stream = session.request({ ':method': 'POST', ':path': '/a.B/Never' });
      stream.on('error', () => undefined);
      stream.end(framed(Buffer.from('x')));
      await new Promise((resolve) => setImmediate(resolve));
      stream.close(8);
    }
    expect((await nodeCall(session, '/a.B/Echo', Buffer.from('x'))).trailers).toMatchObject({ 'grpc-status': '0' });
  });

  it('a method that nobody serves, and a body that is no message', async () => {
    await serve();
    const session = nodeClient();
    expect((await nodeCall(session, '/a.B/Other', Buffer.from('x'))).headers).toMatchObject({ 'grpc-status': '12' });
    expect((await nodeCall(session, '/constructor', Buffer.from('x'))).headers).toMatchObject({ 'grpc-status': '12' });
    const stream = session.request({ ':method': 'POST', ':path': '/a.B/Echo' });
    const headers = new Promise((resolve) => stream.on('response', resolve));
    stream.end('abc');
    expect(await headers).toMatchObject({ 'grpc-status': '2' });
  });
});

describe('our client and Node’s server', () => {
  it('exchange messages larger than any window, on one connection', async () => {
    let sessions = 0;
    const server = createHttp2();
    server.on('session', () => sessions++);
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'x-long': 'z'.repeat(30_000) }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'kv-note': 'yes' }));
      stream.pipe(stream);
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const channel = new LightChannel(socket);
    cleanups.push(() => channel.close());
    const call = (message: Buffer) => channel.call({ service: 'a.B', method: 'Echo', deadlineMs: 20_000 }, message);
    const answers = await Promise.all([LARGE, Buffer.from('x'), LARGE].map(call));
    expect(answers.map(({ message }) => message.length)).toEqual([LARGE.length, 1, LARGE.length]);
    expect(answers[0]?.message.equals(LARGE)).toBe(true);
    expect(answers[0]?.trailer).toMatchObject({ 'kv-note': 'yes' });
    expect((await call(Buffer.from('again'))).message.toString()).toBe('again');
    expect(sessions).toBe(1);
  });

  it('a server that takes few calls at a time: the others wait, until they lose patience', async () => {
    const held: ServerHttp2Stream[] = [];
    const server = createHttp2({ settings: { maxConcurrentStreams: 2 } });
    server.on('stream', (stream: ServerHttp2Stream) => held.push(stream));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const channel = new LightChannel(socket);
    cleanups.push(() => channel.close());
    const call = (deadlineMs: number) => channel.call({ service: 'a.B', method: 'Echo', deadlineMs }, Buffer.from('x'));
    const patient = [call(5_000), call(5_000), call(5_000), call(5_000)];
    await expect(call(100)).rejects.toMatchObject({ code: 'Timeout' });
    expect(held).toHaveLength(2);
    const end = (stream: ServerHttp2Stream): void => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.pipe(stream);
    };
    for (const stream of held.splice(0)) end(stream);
    server.on('stream', end);
    expect(await Promise.all(patient)).toHaveLength(4);
  });

  it('a server that goes away: the call under way ends well, the next one has a new connection', async () => {
    let sessions = 0;
    const server = createHttp2();
    server.on('session', () => sessions++);
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.session?.goaway();
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.pipe(stream);
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const channel = new LightChannel(socket);
    for (const text of ['one', 'two']) {
      const { message } = await channel.call({ service: 'a.B', method: 'Echo', deadlineMs: 5_000 }, Buffer.from(text));
      expect(message.toString()).toBe(text);
    }
    expect(sessions).toBe(2);
  });
});

/** What a server sends back until it hangs up. */
function talkTo(bytes: Buffer, byteByByte = false): Promise<Buffer> {
  return new Promise((resolve) => {
    const peer: Socket = connect(socket);
    const got: Buffer[] = [];
    peer.on('data', (chunk: Buffer) => got.push(chunk));
    peer.on('error', () => undefined);
    peer.on('close', () => resolve(Buffer.concat(got)));
    if (!byteByByte) peer.write(bytes);
    else for (const byte of bytes) peer.write(Buffer.from([byte]));
    // A server that is content keeps the connection; then we hang up.
    setTimeout(() => peer.destroy(), 300);
  });
}

const typesIn = (bytes: Buffer): number[] => {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes.readUInt8(at + 3));
  return types;
};

const GREETING = Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, settingsPayload([]))]);
const HEADERS = writeFields({ ':method': 'POST', ':path': '/a.B/Echo' });
const REQUEST = frame(FRAME.headers, FLAG.endHeaders, 1, HEADERS);
const DATA = frame(FRAME.data, FLAG.endStream, 1, framed(Buffer.from('hello')));

describe('what a server makes of its peer', () => {
  it('answers one whose bytes come one by one, padded and cut up', async () => {
    await serve();
    const padded = Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 7]), HEADERS.subarray(0, 4), Buffer.alloc(3)]);
    const bytes = Buffer.concat([
      GREETING,
      frame(FRAME.priority, 0, 1, Buffer.alloc(5)),
      frame(FRAME.headers, FLAG.padded | FLAG.priority, 1, padded),
      frame(FRAME.continuation, FLAG.endHeaders, 1, HEADERS.subarray(4)),
      frame(99, 0, 1, Buffer.from('unknown')),
      frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
      DATA,
    ]);
    const got = await talkTo(bytes, true);
    expect(got.includes('hello')).toBe(true);
    expect(typesIn(got).filter((type) => type === FRAME.ping)).toHaveLength(1);
    expect(typesIn(got)).not.toContain(FRAME.goAway);
  });

  it.each<[string, Buffer]>([
    ['does not speak HTTP/2', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
    ['sends a frame of 16 MiB', Buffer.concat([GREETING, Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])])],
    ['sends data of no request', Buffer.concat([GREETING, frame(FRAME.data, 0, 0, Buffer.from('x'))])],
    ['sends data of a request that never began', Buffer.concat([GREETING, frame(FRAME.data, 0, 99, Buffer.from('x'))])],
    ['uses an even number', Buffer.concat([GREETING, frame(FRAME.headers, FLAG.endHeaders, 2, HEADERS)])],
    ['sends something amid headers', Buffer.concat([GREETING, frame(FRAME.headers, 0, 1, HEADERS), DATA])],
    ['continues what never began', Buffer.concat([GREETING, frame(FRAME.continuation, FLAG.endHeaders, 1, HEADERS)])],
    ['pads more than it sends', Buffer.concat([GREETING, REQUEST, frame(FRAME.data, FLAG.padded, 1, Buffer.from([9, 1]))])],
    ['breaks a header block', Buffer.concat([GREETING, frame(FRAME.headers, FLAG.endHeaders, 1, Buffer.from([128]))])],
    ['opens a window too far', Buffer.concat([GREETING, frame(FRAME.windowUpdate, 0, 0, Buffer.from([127, 255, 255, 255]))])],
    ['pushes', Buffer.concat([GREETING, frame(FRAME.pushPromise, FLAG.endHeaders, 1, HEADERS)])],
    ['sends settings cut off', Buffer.concat([GREETING, frame(FRAME.settings, 0, 0, Buffer.alloc(5))])],
    [
      'sends headers without end',
      Buffer.concat([
        GREETING,
        frame(FRAME.headers, 0, 1, HEADERS),
        ...Array.from({ length: 6 }, () => frame(FRAME.continuation, 0, 1, Buffer.alloc(16_000))),
      ]),
    ],
  ])('one that %s is told so and loses its connection', async (_title, bytes) => {
    await serve();
    expect(typesIn(await talkTo(bytes)).at(-1)).toBe(FRAME.goAway);
    const channel = new LightChannel(socket);
    cleanups.push(() => channel.close());
    const answer = await channel.call({ service: 'a.B', method: 'Echo', deadlineMs: 5_000 }, Buffer.from('others are served'));
    expect(answer.message.toString()).toBe('others are served');
  });

  it('one that opens too many requests at once has the last ones refused', async () => {
    await serve();
    const never = writeFields({ ':method': 'POST', ':path': '/a.B/Never' });
    const opened = Array.from({ length: 120 }, (_, i) => frame(FRAME.headers, FLAG.endHeaders, 2 * i + 1, never));
    const got = typesIn(await talkTo(Buffer.concat([GREETING, ...opened])));
    expect(got.filter((type) => type === FRAME.reset)).toHaveLength(20);
  });
});

it('a client gives up a peer that talks nonsense', async () => {
  const server = createServer((peer) => void peer.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(socket);
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  const channel = new LightChannel(socket);
  await expect(channel.call({ service: 'a.B', method: 'Echo', deadlineMs: 5_000 }, Buffer.from('x'))).rejects.toMatchObject({
    code: 'LauncherUnreachable',
  });
});

it.each([
  ['5S', 5000],
  ['1H', 3_600_000],
  ['2M', 120_000],
  ['250m', 250],
  ['1000u', 1],
  ['1000000n', 1],
  ['', undefined],
  ['5', undefined],
  ['123456789S', undefined],
])('patience %s', (timeout, ms) => {
  expect(patienceOf(timeout)).toBe(ms);
});
