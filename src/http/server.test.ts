// The server over real TLS sockets: routes, body limit, client certificates, certificate reload, upgrades, splicing, graceful stop.
import { copyFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer as createTcp, type Server, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { type TestCa, testCa } from '../../test/fakes/certificates.js';
import { systemClock } from '../base/clock.js';
import { silentLogger } from '../base/logger.js';
import { createHttpsServer, dialRaw, type HttpsServer, type HttpsServerOptions, json, pump, requestOnce, splice, text } from './index.js';

let ca: TestCa;
let clientCa: TestCa;
const running: { stop(graceMs?: number): Promise<void> }[] = [];

beforeAll(() => {
  ca = testCa();
  clientCa = testCa('client-ca');
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop(100);
});

async function serve(
  options: Partial<HttpsServerOptions>,
): Promise<{ server: HttpsServer; port: number; certFile: string; keyFile: string }> {
  const files = ca.issue('server');
  const server = createHttpsServer({ tls: { ...files }, log: silentLogger, host: '127.0.0.1', port: 0, routes: [], ...options });
  running.push(server);
  return { server, port: await server.start(), ...files };
}

const client = (serverName = 'server') => ({ ...clientCa.issue('someone'), ca: () => ca.pem, serverName });

const get = (port: number, path: string, method: 'GET' | 'PUT' | 'POST' = 'GET', body?: Buffer) =>
  requestOnce(client(), { method, url: `https://127.0.0.1:${port}${path}`, ...(body ? { body } : {}) });

describe('routes', () => {
  const routes: HttpsServerOptions['routes'] = [
    { method: 'GET', path: '/things/:name', handler: (r) => json(200, { name: r.params.name, q: r.query.get('q') }) },
    { method: 'PUT', path: '/echo', handler: (r) => text(200, r.body.toString()) },
    { method: 'PUT', path: '/review', handler: () => text(200, ''), onBodyFault: (f) => json(200, { fault: f.status }) },
    {
      method: 'GET',
      path: '/broken',
      handler: () => {
        throw new Error('out of order');
      },
    },
  ];

  it.each([
    ['GET', '/things/a%20b?q=1', undefined, 200, '{"name":"a b","q":"1"}'],
    ['PUT', '/echo', 'hello', 200, 'hello'],
    ['PUT', '/things/a', undefined, 405, 'method PUT is not served at /things/a'],
    ['GET', '/nothing', undefined, 404, 'nothing is served at /nothing'],
    ['GET', '/broken', undefined, 500, 'out of order'],
    ['PUT', '/echo', 'x'.repeat(2000), 413, 'the request body is too large'],
    ['PUT', '/review', 'x'.repeat(2000), 200, '{"fault":413}'],
    ['GET', '/metrics', undefined, 200, 'm 1\n'],
    ['GET', '/healthz', undefined, 500, 'not yet'],
  ] as const)('%s %s', async (method, path, body, status, expected) => {
    const { port } = await serve({
      routes,
      bodyLimitBytes: 1000,
      metrics: async () => ({ contentType: 'text/plain', body: 'm 1\n' }),
      health: () => 'not yet',
    });
    const answer = await get(port, path, method, body === undefined ? undefined : Buffer.from(body));
    expect([answer.status, answer.body.toString()]).toEqual([status, expected]);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('hears every group of a user who is in very many', async () => {
    const groups = Array.from({ length: 2500 }, (_, at) => `cn=group-${at},ou=teams,ou=groups,dc=example,dc=com`);
    const { port } = await serve({
      routes: [{ method: 'GET', path: '/groups', handler: (r) => text(200, `${r.headerValues['x-remote-group']?.length}`) }],
    });
    const answer = await new Promise<string>((resolve, reject) => {
      const outgoing = request({
        host: '127.0.0.1',
        port,
        path: '/groups',
        ca: ca.pem,
        servername: 'localhost',
        headers: { 'x-remote-group': groups },
      });
      outgoing.on(
        'response',
        (message) => void message.toArray().then((parts) => resolve(`${message.statusCode} ${parts.join('')}`), reject),
      );
      outgoing.on('error', reject);
      outgoing.end();
    });
    expect(answer).toBe('200 2500');
  });

  it('keeps an unused connection for longer than its clients do', async () => {
    const { port } = await serve({ routes });
    const kept = await new Promise<string>((resolve, reject) => {
      const headers = { connection: 'keep-alive' };
      request({ host: '127.0.0.1', port, path: '/things/a', ca: ca.pem, headers }, (answer) => {
        resolve(String(answer.headers['keep-alive']));
        answer.destroy();
      })
        .once('error', reject)
        .end();
    });
    expect(Number(/timeout=(\d+)/.exec(kept)?.[1])).toBeGreaterThan(90);
  });

  it('lets a filter answer first', async () => {
    const { port } = await serve({ routes, filters: [(r) => (r.path === '/echo' ? text(401, 'no') : undefined)] });
    expect((await get(port, '/echo', 'PUT')).status).toBe(401);
    expect((await get(port, '/things/a')).status).toBe(200);
  });

  it('says which address is taken', async () => {
    const { port } = await serve({});
    await expect(serve({ port })).rejects.toMatchObject({ code: 'Unavailable' });
  });
});

describe('TLS', () => {
  it('names the missing certificate files', async () => {
    await expect(serve({ tls: { certFile: '/nonexistent/tls.crt', keyFile: '/nonexistent/tls.key' } })).rejects.toThrow(
      /\/nonexistent\/tls\.crt/,
    );
  });

  it('tells handlers who the client is, and cuts off strangers when a certificate is required', async () => {
    const whoami = { method: 'GET', path: '/', handler: (r) => json(200, r.peer) } satisfies HttpsServerOptions['routes'][number];
    const files = ca.issue('server');
    const optional = await serve({ tls: { ...files, clientCa: () => clientCa.pem }, routes: [whoami] });
    const known = JSON.parse((await get(optional.port, '/')).body.toString());
    expect(known).toEqual({ authorized: true, commonName: 'someone', address: '127.0.0.1' });
    const strange = await requestOnce(
      { ...client(), ...ca.issue('stranger') },
      { method: 'GET', url: `https://127.0.0.1:${optional.port}/` },
    );
    expect(JSON.parse(strange.body.toString())).toEqual({ authorized: false, address: '127.0.0.1' });

    const required = await serve({ tls: { ...files, clientCa: () => clientCa.pem, clientCert: 'required' }, routes: [whoami] });
    await expect(
      requestOnce({ ...client(), ...ca.issue('stranger') }, { method: 'GET', url: `https://127.0.0.1:${required.port}/` }),
    ).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('trusts nobody while its list of authorities is not known', async () => {
    const publicOnes = getCACertificates('default');
    setDefaultCACertificates([...publicOnes, clientCa.pem]);
    try {
      const whoami = { method: 'GET', path: '/', handler: (r) => json(200, r.peer) } satisfies HttpsServerOptions['routes'][number];
      const { port } = await serve({ tls: { ...ca.issue('server'), clientCa: () => undefined }, routes: [whoami] });
      expect(JSON.parse((await get(port, '/')).body.toString())).toMatchObject({ authorized: false });
    } finally {
      setDefaultCACertificates(publicOnes);
    }
  });

  it('refuses a server of another name', async () => {
    const { port } = await serve({});
    await expect(requestOnce(client('other'), { method: 'GET', url: `https://127.0.0.1:${port}/` })).rejects.toMatchObject({
      cause: expect.objectContaining({ message: 'its certificate names server instead of other' }),
    });
  });

  it('serves a renewed certificate without a restart', async () => {
    const { port, certFile, keyFile } = await serve({ certPollMs: 20 });
    const serialNow = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const call = request({ host: '127.0.0.1', port, agent: false, rejectUnauthorized: false }, (res) => {
          resolve((res.socket as TLSSocket).getPeerCertificate().serialNumber);
          res.resume();
        });
        call.on('error', reject).end();
      });
    const before = await serialNow();
    const fresh = ca.issue('server');
    copyFileSync(fresh.keyFile, keyFile);
    copyFileSync(fresh.certFile, certFile);
    await vi.waitFor(async () => expect(await serialNow()).not.toBe(before), 3000);
  });
});

describe('streams', () => {
  const dial = (port: number, path: string): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const ws = new WebSocket(`wss://127.0.0.1:${port}${path}`, 'plain.kubevirt.io', { rejectUnauthorized: false });
      ws.once('open', () => resolve(ws)).once('error', reject);
    });

  const echoServer = (): Promise<{ tcp: Server; port: number }> =>
    new Promise((resolve) => {
      const tcp = createTcp((socket: Socket) => void socket.pipe(socket));
      tcp.listen(0, '127.0.0.1', () => resolve({ tcp, port: (tcp.address() as { port: number }).port }));
    });

  it('pumps 8 MiB through two servers: one splices, one talks to the socket', async () => {
    const { tcp, port: echoPort } = await echoServer();
    const { connect } = await import('node:net');
    const inner = await serve({
      tls: { ...ca.issue('inner'), clientCa: () => clientCa.pem, clientCert: 'required' },
      upgrades: [
        {
          path: '/inner/:name',
          handler: async (r, upgrade) => {
            if (r.params.name !== 'good') return text(503, 'busy');
            void pump(await upgrade.accept(), connect(echoPort, '127.0.0.1'), { clock: systemClock, signal: r.signal });
            return undefined;
          },
        },
      ],
    });
    const outer = await serve({
      upgrades: [
        {
          path: '/outer/:name',
          handler: async (r, upgrade) => {
            const dialled = await dialRaw(client('inner'), { url: `https://127.0.0.1:${inner.port}/inner/${r.params.name}` });
            if (!('socket' in dialled)) return text(500, `unexpected return code ${dialled.status}: ${dialled.body}`);
            void splice(upgrade.acceptRaw(), dialled.socket, { clock: systemClock, signal: r.signal });
            return undefined;
          },
        },
      ],
    });

    const ws = await dial(outer.port, '/outer/good');
    expect(ws.protocol).toBe('plain.kubevirt.io');
    const sent = Buffer.alloc(8 * 1024 * 1024, 'abcdefgh');
    let got = 0;
    const all = new Promise<void>((resolve) => {
      ws.on('message', (chunk: Buffer) => {
        got += chunk.length;
        if (got >= sent.length) resolve();
      });
    });
    for (let at = 0; at < sent.length; at += 65536) ws.send(sent.subarray(at, at + 65536));
    await all;
    expect(got).toBe(sent.length);

    const closed = new Promise<number>((resolve) => ws.once('close', resolve));
    ws.close(1000);
    expect(await closed).toBe(1000);
    await expect(dial(outer.port, '/outer/bad')).rejects.toThrow('500');
    await expect(dial(outer.port, '/elsewhere')).rejects.toThrow('404');
    await new Promise((resolve) => tcp.close(resolve));
  });

  it('tells the handler when the client went away before its stream began', async () => {
    let outcome: Promise<unknown> | undefined;
    const { port } = await serve({
      upgrades: [
        {
          path: '/late',
          handler: async (r, upgrade) => {
            await new Promise((resolve) => r.signal.addEventListener('abort', resolve));
            outcome = upgrade.accept().catch((err: unknown) => err);
            return undefined;
          },
        },
      ],
    });
    const leaving = new AbortController();
    const dialled = dialRaw(client(), { url: `https://127.0.0.1:${port}/late`, signal: leaving.signal }).catch((err: unknown) => err);
    setTimeout(() => leaving.abort(), 100);
    expect(await dialled).toMatchObject({ code: 'Unavailable' });
    await vi.waitFor(() => expect(outcome).toBeDefined());
    expect(await outcome).toMatchObject({ code: 'Unavailable' });
  });

  it('closes the WebSocket when the peer ends, and the peer when the server stops', async () => {
    const sockets: Socket[] = [];
    const { connect } = await import('node:net');
    const tcp = createTcp((socket) => void sockets.push(socket));
    const port = await new Promise<number>((resolve) => {
      tcp.listen(0, '127.0.0.1', () => resolve((tcp.address() as { port: number }).port));
    });
    const { port: wsPort, server } = await serve({
      upgrades: [
        {
          path: '/',
          handler: async (r, upgrade) => {
            void pump(await upgrade.accept(), connect(port, '127.0.0.1'), { clock: systemClock, signal: r.signal });
            return undefined;
          },
        },
      ],
    });
    const first = await dial(wsPort, '/');
    await vi.waitFor(() => expect(sockets).toHaveLength(1));
    const firstClosed = new Promise<number>((resolve) => first.once('close', resolve));
    sockets[0]?.end('bye');
    expect(await firstClosed).toBe(1000);

    const second = await dial(wsPort, '/');
    await vi.waitFor(() => expect(sockets).toHaveLength(2));
    const secondClosed = new Promise<string>((resolve) => second.once('close', (code, reason) => resolve(`${code} ${reason}`)));
    await server.stop(1000);
    expect(await secondClosed).toBe('4000 the server restarts; connect again');
    await vi.waitFor(() => expect(sockets[1]?.readyState).not.toBe('open'));
    await new Promise((resolve) => tcp.close(resolve));
  });

  it('cuts a peer that answers no ping', async () => {
    let now = 0;
    const due: (() => void)[] = [];
    const clock = {
      now: () => now,
      after: (_ms: number, fn: () => void) => {
        due.push(fn);
        return () => undefined;
      },
    };
    const { tcp, port } = await echoServer();
    const { connect } = await import('node:net');
    const { port: wsPort } = await serve({
      upgrades: [
        {
          path: '/',
          handler: async (r, upgrade) => {
            void pump(await upgrade.accept(), connect(port, '127.0.0.1'), { clock, signal: r.signal });
            return undefined;
          },
        },
      ],
    });
    const ws = await dial(wsPort, '/');
    await vi.waitFor(() => expect(due).toHaveLength(1));
    const closed = new Promise<number>((resolve) => ws.once('close', resolve));
    now = 61_000;
    due[0]?.();
    expect(await closed).toBe(1006);
    await new Promise((resolve) => tcp.close(resolve));
  });
});
