// The aggregated API over real TLS connections: identity by front proxy, authorisation, life cycle, streams to a node agent, discovery.
import { readFileSync } from 'node:fs';
import { connect, createServer as createTcp, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type TestCa, type TestCertificate, testCa } from '../../test/fakes/certificates.js';
import type { KubeObject, SubjectAccessReview } from '../api/index.js';
import { systemClock } from '../base/clock.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { Metrics } from '../base/metrics.js';
import { clusterConfig } from '../core/config/cluster-config.js';
import {
  type ClientResponse,
  createHttpsServer,
  dialPort,
  empty,
  type HttpsServer,
  json,
  pump,
  type Route,
  requestOnce,
  text,
} from '../http/index.js';
import type { JsonPatchOperation, KubeClient, Resource, WriteOptions } from '../runtime/types.js';
import { apiResourceList } from './discovery.js';
import { AGENT_CERTIFICATE_NAME, DEFAULT_HEADERS, subresourceApi } from './index.js';

interface Patched {
  readonly plural: string;
  readonly key: string;
  readonly ops: readonly JsonPatchOperation[];
  readonly options: WriteOptions | undefined;
}

const readText = (file: string): string => readFileSync(file, 'utf8');

/** Its ports are this machine's. */
const GUEST = '192.0.2.7';
const objects = new Map<string, KubeObject>();
const patched: Patched[] = [];
const reviews: SubjectAccessReview[] = [];
let agentPort = 0;
let allowed = true;
let patchError: KvError | undefined;

const vmi = (name: string, phase = 'Running'): KubeObject =>
  ({
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { domain: { devices: {} } },
    status: { phase, nodeName: 'node01' },
  }) as KubeObject;
const vm = (name: string, runStrategy: string): KubeObject =>
  ({ metadata: { name, namespace: 'default' }, spec: { runStrategy, template: {} } }) as KubeObject;
const agent = { metadata: { name: 'virt-handler-x' }, status: { podIP: '127.0.0.1' } } as unknown as KubeObject;

const client = {
  find: async (resource: Resource<KubeObject>, key: string) => objects.get(`${resource.plural} ${key}`),
  list: async (_resource: unknown, options: { fieldSelector?: string }) => ({
    metadata: {},
    items: options.fieldSelector === 'spec.nodeName=node01' ? [agent] : [],
  }),
  create: async (_resource: unknown, review: SubjectAccessReview) => {
    reviews.push(review);
    return { ...review, status: { allowed, reason: allowed ? '' : 'no rule lets jane do this' } };
  },
  jsonPatch: async (resource: Resource<KubeObject>, key: string, ops: readonly JsonPatchOperation[], options?: WriteOptions) => {
    if (patchError) throw patchError;
    patched.push({ plural: resource.plural, key, ops, options });
    return {};
  },
  raw: async () => ({ gitVersion: 'v1.36.0' }),
} as unknown as KubeClient;

let proxyCa: TestCa;
let ownCa: TestCa;
let server: HttpsServer;
let agentServer: HttpsServer;
let echo: Server;
let port = 0;
let proxyCert: TestCertificate;
const agentCalls: string[] = [];

const path = '/v1/namespaces/:ns/virtualmachineinstances/:name';
const agentRoutes: readonly Route[] = [
  {
    method: 'PUT',
    path: `${path}/freeze`,
    handler: (r) => {
      agentCalls.push(`freeze ${r.body}`);
      return empty(202);
    },
  },
  { method: 'PUT', path: `${path}/reset`, handler: () => text(500, 'the guest does not answer') },
  { method: 'GET', path: `${path}/guestosinfo`, handler: () => json(200, { hostname: 'guest' }) },
  { method: 'GET', path: `${path}/userlist`, handler: () => text(500, 'no guest agent answers') },
  {
    method: 'PUT',
    path: `${path}/pause`,
    handler: (r) => {
      agentCalls.push(`${r.peer.commonName} ${r.path}`);
      return r.params.name === 'stubborn' ? text(500, 'the guest does not answer') : text(200, '');
    },
  },
];

beforeAll(async () => {
  proxyCa = testCa('front-proxy');
  ownCa = testCa('kubevirt-ca');
  proxyCert = proxyCa.issue('front-proxy-client');
  echo = createTcp((socket) => void socket.pipe(socket));
  const echoPort = await new Promise<number>((resolve) =>
    echo.listen(0, '127.0.0.1', () => resolve((echo.address() as { port: number }).port)),
  );
  agentServer = createHttpsServer({
    tls: { ...ownCa.issue(AGENT_CERTIFICATE_NAME), clientCa: () => ownCa.pem, clientCert: 'required' },
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
    routes: agentRoutes,
    upgrades: [
      {
        path: `${path}/console`,
        handler: async (r, upgrade) => {
          void pump(await upgrade.accept(), connect(echoPort, '127.0.0.1'), { clock: systemClock, signal: r.signal });
          return undefined;
        },
      },
      { path: `${path}/vnc`, handler: async (r) => text(503, `Active VNC connection. ${r.query}`) },
    ],
  });
  agentPort = await agentServer.start();
  const api = subresourceApi({
    dial: (target) => dialPort({ ...target, host: target.host === GUEST ? '127.0.0.1' : target.host }),
    client,
    config: () => clusterConfig(),
    structure: { problems: () => [], completed: (_kind, object) => object },
    agentTls: { ...ownCa.issue('kubevirt.io:system:client:virt-handler'), ca: () => ownCa.pem, serverName: AGENT_CERTIFICATE_NAME },
    agentPort,
    installNamespace: 'kubevirt',
    identityHeaders: () => ({ ...DEFAULT_HEADERS, proxyNames: ['front-proxy-client'] }),
    kubevirt: () => undefined,
    version: 'v1.9.0',
    metrics: new Metrics(),
    clock: systemClock,
    log: silentLogger,
  });
  server = createHttpsServer({
    tls: { ...ownCa.issue('virt-api'), clientCa: () => proxyCa.pem },
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
    routes: api.routes,
    upgrades: api.upgrades,
  });
  port = await server.start();
});

afterAll(async () => {
  await server.stop(100);
  await agentServer.stop(100);
  await new Promise((resolve) => echo.close(resolve));
});

beforeEach(() => {
  objects.clear();
  for (const list of [patched, reviews, agentCalls]) list.splice(0);
  allowed = true;
  patchError = undefined;
});

const IDENTITY = { 'x-remote-user': 'jane', 'x-remote-group': 'dev' };
const url = (rest: string, version = 'v1'): string =>
  `https://127.0.0.1:${port}/apis/subresources.kubevirt.io/${version}/namespaces/default/${rest}`;

const call = (method: 'GET' | 'PUT', target: string, body = '', certificate = proxyCert): Promise<ClientResponse> =>
  requestOnce({ ...certificate, ca: () => ownCa.pem, serverName: 'virt-api' }, { method, url: target, body, headers: IDENTITY });

const status = (answer: ClientResponse): { code: number; reason: string; message: string } => JSON.parse(answer.body.toString());

describe('authorisation', () => {
  it('does not believe headers from anyone but the front proxy', async () => {
    const answer = await call('PUT', url('virtualmachines/a/start'), '', ownCa.issue('somebody'));
    expect([answer.status, answer.body.toString()]).toEqual([401, 'request is not authenticated']);
    expect(reviews).toHaveLength(0);
  });

  it("does not believe another client that the front proxy's CA signed", async () => {
    const answer = await call('PUT', url('virtualmachines/a/start'), '', proxyCa.issue('some-kubelet'));
    expect([answer.status, answer.body.toString()]).toEqual([401, 'request is not authenticated']);
    expect(reviews).toHaveLength(0);
  });

  it("asks the API server and passes on a denial's reason", async () => {
    allowed = false;
    const answer = await call('PUT', url('virtualmachines/a/start'));
    expect([answer.status, answer.body.toString()]).toEqual([401, 'no rule lets jane do this']);
    expect(reviews[0]?.spec).toMatchObject({
      user: 'jane',
      groups: ['dev'],
      resourceAttributes: { verb: 'update', subresource: 'start', name: 'a' },
    });
  });

  it('serves discovery and health to everyone', async () => {
    const base = `https://127.0.0.1:${port}`;
    const stranger = ownCa.issue('somebody');
    const list = await call('GET', `${base}/apis/subresources.kubevirt.io/v1`, '', stranger);
    expect(JSON.parse(list.body.toString())).toEqual(apiResourceList('v1'));
    const health = await call('GET', `${base}/apis/subresources.kubevirt.io/v1/healthz`, '', stranger);
    expect(JSON.parse(health.body.toString())).toEqual({
      apiserver: { connectivity: 'ok', version: { gitVersion: 'v1.36.0' } },
      'config-resource-version': '',
    });
    expect(reviews).toHaveLength(0);
  });
});

describe('life cycle', () => {
  it('starts a VM, in both versions of the API', async () => {
    objects.set('virtualmachines default/a', vm('a', 'Halted'));
    expect((await call('PUT', url('virtualmachines/a/start'))).status).toBe(202);
    expect((await call('PUT', url('virtualmachines/a/start', 'v1alpha3'), 'dryRun: [All]')).status).toBe(202);
    expect(patched.map((p) => [p.plural, p.key, p.ops.length, p.options])).toEqual([
      ['virtualmachines', 'default/a', 2, { dryRun: false }],
      ['virtualmachines', 'default/a', 2, { dryRun: true }],
    ]);
  });

  it.each([
    ['no such VM', 'virtualmachines/none/start', '', 404, 'virtualmachine.kubevirt.io "none" not found'],
    [
      'refused',
      'virtualmachines/b/start',
      '',
      409,
      'Operation cannot be fulfilled on virtualmachine.kubevirt.io "b": Always does not support manual start requests',
    ],
    [
      'garbage in the body',
      'virtualmachines/b/stop',
      'gracePeriod: soon',
      400,
      'Can not unmarshal Request body to struct, error: gracePeriod is not of type integer',
    ],
    ['no such VMI', 'virtualmachineinstances/b/pause', '', 404, 'virtualmachineinstance.kubevirt.io "b" not found'],
  ])('%s', async (_title, target, body, code, message) => {
    objects.set('virtualmachines default/b', vm('b', 'Always'));
    const answer = await call('PUT', url(target), body);
    expect([answer.status, status(answer).code, status(answer).message]).toEqual([code, code, message]);
  });

  it('calls a lost race a conflict', async () => {
    objects.set('virtualmachines default/a', vm('a', 'Halted'));
    patchError = new KvError('Conflict', 'the test of /spec/runStrategy failed');
    expect(status(await call('PUT', url('virtualmachines/a/start')))).toMatchObject({ code: 409, reason: 'Conflict' });
  });

  it('pauses through the node agent, which it proves itself to', async () => {
    objects.set('virtualmachineinstances default/a', vmi('a'));
    expect((await call('PUT', url('virtualmachineinstances/a/pause'))).status).toBe(200);
    expect(agentCalls).toEqual(['kubevirt.io:system:client:virt-handler /v1/namespaces/default/virtualmachineinstances/a/pause']);
  });

  it("passes on the agent's failure", async () => {
    objects.set('virtualmachineinstances default/stubborn', vmi('stubborn'));
    const answer = await call('PUT', url('virtualmachineinstances/stubborn/pause'));
    expect(status(answer)).toMatchObject({ code: 500, message: expect.stringContaining('the guest does not answer') });
  });
});

describe('the guest', () => {
  const withAgent = (name: string, connected = true): void => {
    const running = vmi(name) as KubeObject & { status: object };
    const conditions = connected ? [{ type: 'AgentConnected', status: 'True' }] : [];
    objects.set(`virtualmachineinstances default/${name}`, { ...running, status: { ...running.status, conditions } } as KubeObject);
  };

  it.each([
    ['hands on the options of a freeze', 'PUT', 'freeze', 'unfreezeTimeout: 5m', 200, ''],
    ['refuses options that nobody reads', 'PUT', 'freeze', 'unfreezeTimeout: 5', 400, 'unfreezeTimeout is not of type string'],
    ["passes on the agent's failure", 'PUT', 'reset', '', 500, 'the guest does not answer'],
    [
      'asks the guest',
      'GET',
      'guestosinfo',
      '',
      200,
      '{"kind":"VirtualMachineInstanceGuestAgentInfo","apiVersion":"kubevirt.io/v1","hostname":"guest"}',
    ],
    ['says in plain text what the guest did not answer', 'GET', 'userlist', '', 500, 'message: no guest agent answers'],
  ] as const)('%s', async (_title, method, verb, body, code, told) => {
    withAgent('a');
    const answer = await call(method, url(`virtualmachineinstances/a/${verb}`), body);
    expect([answer.status, answer.body.toString()]).toEqual([code, expect.stringContaining(told)]);
    expect(agentCalls).toEqual(code === 200 && verb === 'freeze' ? ['freeze {"unfreezeTimeout":"5m"}'] : []);
  });

  it('asks no guest that has no agent', async () => {
    withAgent('a', false);
    const answer = await call('GET', url('virtualmachineinstances/a/guestosinfo'));
    expect([answer.status, answer.headers['content-type']]).toEqual([500, 'text/plain; charset=utf-8']);
    expect(answer.body.toString()).toContain('VMI does not have guest agent connected');
  });
});

describe('streams', () => {
  const dial = (target: string): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const ws = new WebSocket(target.replace('https', 'wss'), 'plain.kubevirt.io', {
        rejectUnauthorized: false,
        headers: IDENTITY,
        cert: readText(proxyCert.certFile),
        key: readText(proxyCert.keyFile),
      });
      ws.once('open', () => resolve(ws)).once('error', reject);
    });

  it('connects a console to the agent', async () => {
    objects.set('virtualmachineinstances default/a', vmi('a'));
    const ws = await dial(url('virtualmachineinstances/a/console'));
    const answer = new Promise<string>((resolve) => ws.once('message', (data) => resolve(String(data))));
    ws.send(Buffer.from('login: '));
    expect(await answer).toBe('login: ');
    expect(ws.protocol).toBe('plain.kubevirt.io');
    const closed = new Promise((resolve) => ws.once('close', resolve));
    ws.close(1000);
    await closed;
  });

  it.each([
    ['no such VMI', 'none/console', 404],
    ['VMI not running', 'waiting/console', 400],
    ['agent refuses', 'a/vnc', 500],
    ['no vsock', 'a/vsock', 400],
    ['no USB redirection', 'a/usbredir', 409],
    ['agent of another version', 'usb/usbredir', 501],
  ])('%s', async (_title, target, code) => {
    objects.set('virtualmachineinstances default/a', vmi('a'));
    objects.set('virtualmachineinstances default/waiting', vmi('waiting', 'Scheduling'));
    objects.set('virtualmachineinstances default/usb', {
      ...vmi('usb'),
      spec: { domain: { devices: { clientPassthrough: {} } } },
    } as unknown as KubeObject);
    await expect(dial(url(`virtualmachineinstances/${target}`))).rejects.toThrow(String(code));
  });

  it("forwards a port of a VM's guest", async () => {
    const { status: running, ...rest } = vmi('a') as KubeObject & { status: object };
    objects.set('virtualmachines default/a', {
      ...vm('a', 'Always'),
      metadata: { name: 'a', uid: 'vm-a' },
      status: { created: true },
    } as KubeObject);
    const owned = { ...rest.metadata, ownerReferences: [{ uid: 'vm-a' }] };
    objects.set('virtualmachineinstances default/a', {
      metadata: owned,
      status: { ...running, interfaces: [{ ipAddress: GUEST }] },
    } as unknown as KubeObject);
    const { port: echoPort } = echo.address() as { port: number };
    for (const path of [`virtualmachines/a/portforward/${echoPort}`, `virtualmachineinstances/a/portforward/${echoPort}/tcp`]) {
      const ws = await dial(url(path));
      const answer = new Promise<string>((resolve) => ws.once('message', (data) => resolve(String(data))));
      ws.send(Buffer.from('GET /'));
      expect(await answer).toBe('GET /');
      const closed = new Promise((resolve) => ws.once('close', resolve));
      ws.close(1000);
      await closed;
    }
    expect(reviews.map((r) => r.spec.resourceAttributes?.subresource)).toEqual(['portforward', 'portforward']);
    // Port 1 of this machine: nobody listens there.
    await expect(dial(url('virtualmachines/a/portforward/1'))).rejects.toThrow('500');
  });

  it('refuses a stream that is not allowed', async () => {
    allowed = false;
    objects.set('virtualmachineinstances default/a', vmi('a'));
    await expect(dial(url('virtualmachineinstances/a/console'))).rejects.toThrow('401');
  });
});
