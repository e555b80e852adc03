// The light ends over plain HTTP/2: large messages, many calls at a time, calls taken back, peers that go away or talk nonsense.
import { Buffer } from 'node:buffer';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  createServer as createHttp2,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { LightChannel } from './call.js';
import { patienceOf, serveLight } from './server.js';

let dir: string;
let socket: string;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  dir = scratchDir();
  socket = join(dir, 's');
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
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
    const server = createHttp2({ maxSessionMemory: 64 });
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

  it('a server that does not answer in time is told that nobody waits any more', async () => {
    const ended = Promise.withResolvers<number>();
    const server = createHttp2();
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => undefined);
      stream.on('close', () => ended.resolve(stream.rstCode));
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const channel = new LightChannel(socket);
    cleanups.push(() => channel.close());
    await expect(channel.call({ service: 'a.B', method: 'Echo', deadlineMs: 100 }, Buffer.from('x'))).rejects.toMatchObject({
      code: 'Timeout',
      message: expect.stringMatching(/^Echo: no answer on .* within 0\.1 s$/),
    });
    expect(await ended.promise).toBe(constants.NGHTTP2_INTERNAL_ERROR);
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

it.each<[string, string]>([
  ['speaks another protocol', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['says nothing', ''],
  ['breaks off amid its greeting', 'PRI * HTTP/2.0\r\n'],
])('others are served beside one that %s', async (_title, bytes) => {
  await serve();
  const peer = connect(socket);
  peer.on('error', () => undefined);
  cleanups.push(() => peer.destroy());
  peer.write(bytes);
  const channel = new LightChannel(socket);
  cleanups.push(() => channel.close());
  const answer = await channel.call({ service: 'a.B', method: 'Echo', deadlineMs: 5_000 }, Buffer.from('others are served'));
  expect(answer.message.toString()).toBe('others are served');
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
