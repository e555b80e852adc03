// Connections to guests and the service that guests ask, over unix sockets in the place of VSOCK: this needs no hypervisor.
import { readFileSync } from 'node:fs';
import { createServer as createPlain, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer as createTls, type TLSSocket } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { makeCtx } from '../../src/base/context.js';
import { silentLogger } from '../../src/base/logger.js';
import { connect, vsockDialer } from '../../src/node/vsock/dial.js';
import { VsockTrust } from '../../src/node/vsock/trust.js';
import { testCa } from '../fakes/certificates.js';
import { scratchDir } from '../fakes/scratch.js';

let dir: string;
let stop: AbortController;
const servers: Server[] = [];
beforeEach(async () => {
  dir = scratchDir();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  for (const server of servers.splice(0)) server.close();
});

const ctx = () => makeCtx(stop.signal, silentLogger, systemClock);
const ca = testCa();
const pem = (name: string): { cert: Buffer; key: Buffer } => {
  const { certFile, keyFile } = ca.issue(name);
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
};

async function listen(server: Server): Promise<string> {
  servers.push(server);
  const path = join(dir, 'guest');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return `UNIX-CONNECT:${path}`;
}

const firstOf = (stream: NodeJS.ReadableStream): Promise<string> =>
  new Promise((resolve) => stream.once('data', (data) => resolve(String(data))));

describe('a connection', () => {
  it('by TLS shows the guest who asks, whatever certificate the guest has', async () => {
    const guest = createTls({ ...pem('nobody-knows-me'), requestCert: true, ca: ca.pem }, (socket: TLSSocket) => {
      const { subject } = socket.getPeerCertificate();
      socket.on('error', () => undefined).write(`${socket.authorized} ${subject.CN} ${socket.getProtocol()}`);
    });
    const stream = await connect({ certificate: async () => pem('system:client:vsock') }, { address: await listen(guest), tls: true });
    expect(await firstOf(stream)).toBe('true system:client:vsock TLSv1.3');
    stream.destroy();
  });

  it('says when the guest does not speak TLS', async () => {
    const guest = createPlain((socket) => socket.on('error', () => undefined).end('220 hello\n'));
    await expect(connect({ certificate: async () => pem('us') }, { address: await listen(guest), tls: true })).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('tls=false'),
    });
  });

  it('waits for an address', async () => {
    const dial = vsockDialer({ ctx: ctx(), certificate: async () => pem('us'), withTrust: (_, work) => work() });
    const vmi = { metadata: { name: 'vm' }, spec: { domain: { devices: {} } } };
    const isolation = { process: { pid: 1, startTime: '0' }, uid: 107 };
    await expect(dial({ vmi, isolation, port: 1, tls: false })).rejects.toMatchObject({ code: 'NotReady' });
    await expect(dial({ vmi: { ...vmi, status: { VSOCKCID: 5 } }, isolation, port: 1, tls: false })).rejects.toThrow('is gone');
  });
});

describe('whom to trust', () => {
  const host = (): string => join(dir, 'host');
  function ask(): Promise<string> {
    const client = new Client(`unix:${host()}`, credentials.createInsecure());
    return new Promise<string>((resolve, reject) => {
      client.makeUnaryRequest(
        '/kubevirt.vsock.system.v1.System/CABundle',
        (bytes: Buffer) => bytes,
        // One field of bytes: tag, length, content.
        (bytes) => bytes.subarray(2).toString(),
        Buffer.alloc(0),
        { deadline: Date.now() + 1_000 },
        (err, answer) => (err ? reject(err) : resolve(answer ?? '')),
      );
    }).finally(() => client.close());
  }
  const trustOf = (isWanted: () => boolean): VsockTrust =>
    new VsockTrust(ctx(), {
      socketPath: join(dir, 'system.sock'),
      caBundle: () => 'the bundle',
      address: `UNIX-LISTEN:${host()}`,
      isWanted,
      pollMs: 20,
    });

  it('is told while it is wanted', async () => {
    let isWanted = false;
    const running = trustOf(() => isWanted).run();
    await expect(ask()).rejects.toThrow();
    isWanted = true;
    expect(await vi.waitFor(ask, 5_000)).toBe('the bundle');
    isWanted = false;
    await vi.waitFor(() => expect(ask()).rejects.toThrow(), 5_000);
    stop.abort();
    await running;
  });

  it('is told in a namespace while a connection is made', async () => {
    const trust = trustOf(() => false);
    await trust.within('/proc/self/ns/net', async () => expect(await vi.waitFor(ask, 5_000)).toBe('the bundle'));
    await vi.waitFor(() => expect(ask()).rejects.toThrow(), 5_000);
  });
});
