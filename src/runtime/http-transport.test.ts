// The HTTP transport against a server on this machine: kept connections, renewed credentials, broken and slow answers.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpTransport } from './http-transport.js';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void;

let server: http.Server;
let handler: Handler;
let connections: number;
let token: string;
let ca: string;
let transport: HttpTransport;

beforeEach(async () => {
  connections = 0;
  token = 'first';
  ca = 'first';
  server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => handler(request, response, body));
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let current: string | undefined;
  transport = new HttpTransport({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    current: async () => {
      current ??= token;
      return { headers: { authorization: `Bearer ${current}` }, tls: { ca } };
    },
    refresh: () => {
      current = undefined;
    },
  });
});

afterEach(() => {
  transport.close();
  server.closeAllConnections();
  server.close();
});

describe('HttpTransport', () => {
  it('sends bodies and keeps its connection', async () => {
    handler = (request, response, body) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify([request.method, request.url, body]));
    for (let n = 0; n < 5; n++) {
      const answer = await transport.request({ method: 'PUT', path: '/apis/x?y=1', body: '{"ü":1}' });
      expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
        200,
        'application/json',
        '["PUT","/apis/x?y=1","{\\"ü\\":1}"]',
      ]);
    }
    expect(connections).toBe(1);
  });

  it('asks for new credentials once when it is refused', async () => {
    const used: unknown[] = [];
    handler = (request, response) => {
      used.push(request.headers.authorization);
      response.writeHead(request.headers.authorization === 'Bearer second' ? 200 : 401).end();
    };
    await transport.request({ method: 'GET', path: '/' });
    token = 'second';
    expect((await transport.request({ method: 'GET', path: '/' })).status).toBe(200);
    token = 'third';
    expect(used).toEqual(['Bearer first', 'Bearer first', 'Bearer first', 'Bearer second']);
  });

  it('lets a request end that is under way when the authorities change', async () => {
    handler = (request, response) => void setTimeout(() => response.end('done'), request.url === '/slow' ? 100 : 0);
    const slow = transport.request({ method: 'POST', path: '/slow', body: '{}' });
    await new Promise((resolve) => server.once('request', resolve));
    ca = 'second';
    expect((await transport.request({ method: 'GET', path: '/' })).body).toBe('done');
    expect((await slow).body).toBe('done');
  });

  it('streams lines, also those that arrive in pieces and without a last newline', async () => {
    handler = (_request, response) => {
      const text = Buffer.from('{"a":"ü"}\n{"b":1}\n\n{"c":2}');
      response.write(text.subarray(0, 7)); // in the middle of ü
      setTimeout(() => response.end(text.subarray(7)), 20);
    };
    const stream = await transport.stream({ method: 'GET', path: '/watch' });
    const lines: string[] = [];
    for await (const batch of stream.lines) lines.push(...batch);
    expect(lines).toEqual(['{"a":"ü"}', '{"b":1}', '{"c":2}']);
  });

  it('tells a broken stream from one that ended', async () => {
    handler = (_request, response) => {
      response.write('{"a":1}\n');
      setTimeout(() => response.destroy(), 20);
    };
    const stream = await transport.stream({ method: 'GET', path: '/watch' });
    const read = async (): Promise<void> => {
      for await (const batch of stream.lines) expect(batch).toEqual(['{"a":1}']);
    };
    await expect(read()).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('ends a stream by the signal', async () => {
    handler = (_request, response) => void response.write('{"a":1}\n');
    const stop = new AbortController();
    const stream = await transport.stream({ method: 'GET', path: '/watch', signal: stop.signal });
    const read = async (): Promise<void> => {
      for await (const _ of stream.lines) stop.abort();
    };
    await expect(read()).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('gives up on a slow answer', async () => {
    handler = () => undefined;
    await expect(transport.request({ method: 'GET', path: '/slow', timeoutMs: 30 })).rejects.toMatchObject({
      code: 'Timeout',
      message: expect.stringContaining('GET'),
    });
  });

  it('sends a read again when the kept connection had died, but not a write', async () => {
    let refuse = 0;
    handler = (request, response) => {
      if (refuse-- > 0) request.socket.destroy();
      else response.end('ok');
    };
    await transport.request({ method: 'GET', path: '/' });
    refuse = 1;
    expect((await transport.request({ method: 'GET', path: '/' })).body).toBe('ok');
    refuse = 1;
    await expect(transport.request({ method: 'POST', path: '/', body: '{}' })).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('says which server it cannot reach', async () => {
    const port = (server.address() as AddressInfo).port;
    server.close();
    server.closeAllConnections();
    await expect(transport.request({ method: 'GET', path: '/version' })).rejects.toThrow(`GET http://127.0.0.1:${port}/version`);
  });
});
