// socat as go-between, to unix sockets in the place of VSOCK, which needs a hypervisor.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dialBySocat, listenBySocat } from '../../src/linux/socat.js';
import { scratchDir } from '../fakes/scratch.js';

let dir: string;
let server: Server;
let guests: Socket[];
beforeEach(async () => {
  dir = scratchDir();
  guests = [];
  server = createServer((socket) => {
    guests.push(socket);
    socket.on('error', () => undefined).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(join(dir, 'guest'), resolve));
});
afterEach(async () => {
  for (const guest of guests) guest.destroy();
  server.close();
});

const TIMEOUT = { timeoutMs: 5_000 };

it('carries bytes both ways, many at once', async () => {
  const stream = await dialBySocat(`UNIX-CONNECT:${join(dir, 'guest')}`, TIMEOUT);
  const sent = Buffer.alloc(1_000_000, 'größer');
  const got: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => got.push(chunk));
  stream.write(sent);
  await vi.waitFor(() => expect(Buffer.concat(got).length).toBe(sent.length), 5_000);
  expect(Buffer.concat(got).equals(sent)).toBe(true);
  stream.destroy();
  await vi.waitFor(() => expect(guests[0]?.closed).toBe(true), 5_000);
});

it('ends when the other side does', async () => {
  const stream = await dialBySocat(`UNIX-CONNECT:${join(dir, 'guest')}`, TIMEOUT);
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  stream.resume();
  await vi.waitFor(() => expect(guests).toHaveLength(1));
  guests[0]?.end();
  await closed;
});

it.each([
  ['nobody listens', 'UNIX-CONNECT:/no/such/socket', 'No such file or directory'],
  ['there is no such guest', 'VSOCK-CONNECT:77:1', 'cid:77'],
])('says why there is no connection: %s', async (_, address, why) => {
  await expect(dialBySocat(address, TIMEOUT)).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringMatching(new RegExp(`^cannot connect to ${address}: .*${why}`)),
  });
});

it('listens, and says why it no longer does', async () => {
  const address = `UNIX-LISTEN:${join(dir, 'host')}`;
  const listener = listenBySocat(address, `UNIX-CONNECT:${join(dir, 'guest')}`);
  const answer = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const client = connect(join(dir, 'host'));
      client.once('error', reject);
      client.once('data', (chunk) => {
        client.destroy();
        resolve(chunk.toString());
      });
      client.write('hello');
    });
  expect(await vi.waitFor(answer, 5_000)).toBe('hello');
  expect(await answer()).toBe('hello');
  const second = listenBySocat(address, 'UNIX-CONNECT:/x');
  expect(await second.ended).toContain('exists');
  listener.stop();
  await listener.ended;
});
