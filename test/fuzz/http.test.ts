// The webhooks over real TLS sockets, as anybody who reaches the port could use them: bodies too large, of another type or cut off, other methods,
// reviews that are none, clients that never finish. Each is answered in good order, and the server still serves afterwards.
import { request } from 'node:https';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { createHttpsServer, type HttpsServer } from '../../src/http/index.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { webhookRoutes } from '../../src/webhooks/server.js';
import { testCa } from '../fakes/certificates.js';
import { guestSpec } from './targets.js';

const PATH = '/virtualmachineinstances-validate-create';
const RECEIVE_MS = 800;
const MIB = 1024 * 1024;

let server: HttpsServer;
let port: number;

beforeAll(async () => {
  const config = clusterConfigOf({});
  const client = { find: async () => undefined, list: async () => ({ metadata: {}, items: [] }) } as unknown as KubeClient;
  const routes = webhookRoutes({
    client,
    config: () => config,
    installNamespace: 'kubevirt',
    clock: systemClock,
    log: silentLogger,
    randomUuid: () => 'u',
  });
  server = createHttpsServer({
    tls: testCa().issue('server'),
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
    routes,
    receiveMs: RECEIVE_MS,
  });
  port = await server.start();
});

afterAll(async () => await server.stop(100));

interface Answer {
  readonly status: number;
  readonly body: string;
}

function send(body: string | Buffer, options: { method?: string; path?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
  const { method = 'POST', path = PATH, headers = { 'content-type': 'application/json' } } = options;
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, method, path, headers, agent: false, rejectUnauthorized: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    call.on('error', reject);
    call.end(body);
  });
}

/** What comes back on a raw connection until the server ends it. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => socket.write(text));
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    socket.on('close', () => resolve(got));
    socket.on('error', reject);
  });
}

const review = (request_: object): string =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: request_ });
const sound = (): string =>
  review({
    uid: 'u-1',
    operation: 'CREATE',
    resource: { group: 'kubevirt.io', version: 'v1', resource: 'virtualmachineinstances' },
    userInfo: { username: 'me' },
    object: { metadata: { name: 'web' }, spec: { ...guestSpec(), volumes: [{ name: 'root', emptyDisk: { capacity: '1Gi' } }] } },
  });

const verdict = ({ body }: Answer): { allowed: boolean; status?: { code: number; message: string } } => JSON.parse(body).response;

it.each<[string, () => Promise<Answer>, number, RegExp]>([
  ['a body of 8 MiB', () => send(JSON.stringify({ a: 'x'.repeat(8 * MIB) })), 413, /too large/],
  [
    'a body of 8 MiB without its length',
    () => send(Buffer.alloc(8 * MIB, 0x20), { headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } }),
    413,
    /too large/,
  ],
  ['YAML', () => send('kind: AdmissionReview', { headers: { 'content-type': 'application/yaml' } }), 400, /content type application\/yaml/],
  ['no content type', () => send(sound(), { headers: {} }), 400, /content type \(none\)/],
  ['nothing', () => send(''), 400, /no JSON/],
  ['half a review', () => send(sound().slice(0, 200)), 400, /no JSON/],
  ['bytes', () => send(Buffer.from([0xff, 0xfe, 0, 1, 2])), 400, /no JSON/],
  ['a list', () => send('[]'), 400, /no AdmissionReview/],
  ['a review of nothing', () => send(review({ uid: 'x' })), 400, /no resource/],
  [
    'a broken compression',
    () => send('x', { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }),
    400,
    /cannot read the request body/,
  ],
  ['a tower', () => send('['.repeat(MIB)), 400, /nests deeper/],
])('%s is refused by a review', async (_title, answer, code, message) => {
  const got = await answer();
  expect(got.status).toBe(200);
  expect(verdict(got)).toMatchObject({ allowed: false, status: { code, message: expect.stringMatching(message) } });
});

it.each([
  ['GET', PATH, 405],
  ['DELETE', PATH, 405],
  ['POST', '/nothing-here', 404],
])('%s %s is answered with %d', async (method, path, status) => {
  expect((await send('', { method, path })).status).toBe(status);
});

it.each([
  ['its headers', 'POST /x HTTP/1.1\r\nhost: a\r\n'],
  ['its body', `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"a":`],
])('a client that never ends %s is told so, and cut off', async (_title, begin) => {
  expect(await raw(begin)).toMatch(/^HTTP\/1\.1 408 Request Timeout/);
});

it('what is no HTTP is answered with 400', async () => {
  expect(await raw('\u0000\u0001\u0002 what\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request/);
});

it('a connection that is given up in the middle disturbs nobody', async () => {
  await new Promise<void>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      socket.write(`POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{`, () => socket.destroy());
    });
    socket.on('close', () => resolve());
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(sound())));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(answers.map((a) => verdict(a).allowed)).toEqual(Array(20).fill(true));
});
