// The webhooks as the API server sees them: always a well-formed review, whatever arrives; refusals with causes; patches that say it all.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../api/index.js';
import { systemClock } from '../base/clock.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { clusterConfig } from '../core/config/cluster-config.js';
import type { HttpRequest, HttpResponse, Route } from '../http/index.js';
import type { KubeClient } from '../runtime/types.js';
import { webhookRoutes } from './server.js';

const absent = (): Promise<never> => Promise.reject(new KvError('NotFound', 'the server has no such kind'));
const client = { list: absent, find: async () => undefined } as unknown as KubeClient;

const routesWith = (kube: KubeClient): Route[] =>
  webhookRoutes({
    client: kube,
    config: () => clusterConfig(),
    installNamespace: 'kubevirt',
    clock: systemClock,
    log: silentLogger,
    randomUuid: () => 'a-uuid',
  });

const vmi = (spec: object = {}): VirtualMachineInstance =>
  ({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'test', namespace: 'default' },
    spec: { architecture: 'amd64', domain: { devices: {}, memory: { guest: '1Gi' } }, ...spec },
  }) as VirtualMachineInstance;

const review = (request: object): object => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });

const vmiRequest = (object: object, rest: object = {}): object =>
  review({
    uid: 'u-1',
    resource: { group: 'kubevirt.io', version: 'v1', resource: 'virtualmachineinstances' },
    operation: 'CREATE',
    namespace: 'default',
    name: 'test',
    userInfo: { username: 'kubernetes-admin' },
    object,
    ...rest,
  });

async function post(path: string, body: unknown, options: { type?: string; kube?: KubeClient } = {}): Promise<HttpResponse> {
  const route = routesWith(options.kube ?? client).find((r) => r.path === path);
  if (!route) throw new Error(`no route ${path}`);
  const request: HttpRequest = {
    method: 'POST',
    path,
    query: new URLSearchParams(),
    params: {},
    headers: { 'content-type': options.type ?? 'application/json' },
    headerValues: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    peer: { authorized: false },
    signal: new AbortController().signal,
  };
  return await route.handler(request);
}

const parsed = (answer: HttpResponse): { apiVersion: string; kind: string; response: Record<string, unknown> } =>
  JSON.parse(String(answer.body));
const responseOf = async (path: string, body: unknown, options?: { type?: string; kube?: KubeClient }): Promise<Record<string, unknown>> =>
  parsed(await post(path, body, options)).response;

describe('malformed requests', () => {
  const create = '/virtualmachineinstances-validate-create';
  it.each([
    ['no JSON', '{', 'application/json', 400, /no JSON/],
    ['a tower', `${'{"a":['.repeat(501)}"}"${']}'.repeat(501)}`, 'application/json', 400, /nests deeper than 1000 levels/],
    ['brackets in a text', JSON.stringify({ a: '[{"\\"'.repeat(2000) }), 'application/json', 400, /no AdmissionReview/],
    ['no review', '[]', 'application/json', 400, /no AdmissionReview/],
    ['null', 'null', 'application/json', 400, /no AdmissionReview/],
    ['no resource', review({ uid: 'u', operation: 'CREATE' }), 'application/json', 400, /no resource/],
    ['strange operation', review({ uid: 'u', operation: 'EAT', resource: {} }), 'application/json', 400, /no known operation/],
    ['wrong content type', vmiRequest(vmi()), 'text/yaml', 400, /content type text\/yaml/],
    ['no object', vmiRequest(vmi(), { object: null }), 'application/json', 400, /carries no object/],
    [
      'wrong resource',
      vmiRequest(vmi(), { resource: { group: 'kubevirt.io', version: 'v1', resource: 'pods' } }),
      'application/json; charset=utf-8',
      400,
      /expect resource to be 'virtualmachineinstances'/,
    ],
  ])('%s', async (_title, body, type, code, message) => {
    const answer = await post(create, body, { type });
    expect(answer.status).toBe(200);
    const { apiVersion, kind, response } = parsed(answer);
    expect([apiVersion, kind, response.allowed]).toEqual(['admission.k8s.io/v1', 'AdmissionReview', false]);
    expect(response.status).toEqual({ code, message: expect.stringMatching(message) });
  });

  it('answers a body that is too large', () => {
    const route = routesWith(client).find((r) => r.path === create);
    const answer = route?.onBodyFault?.({ status: 413, message: 'the request body is too large' });
    expect(parsed(answer as HttpResponse).response).toEqual({
      uid: '',
      allowed: false,
      status: { code: 413, message: 'the request body is too large' },
    });
  });

  it('turns a failure of its own into a denial with code 500', async () => {
    const broken = { list: () => Promise.reject(new Error('connection refused')) } as unknown as KubeClient;
    const response = await responseOf('/virtualmachineinstances-mutate', vmiRequest(vmi()), { kube: broken });
    expect(response).toMatchObject({
      uid: 'u-1',
      allowed: false,
      status: { code: 500, message: expect.stringContaining('connection refused') },
    });
  });
});

describe('validation', () => {
  it('allows a sound VMI', async () => {
    expect(await responseOf('/virtualmachineinstances-validate-create', vmiRequest(vmi()))).toEqual({ uid: 'u-1', allowed: true });
  });

  it('names every cause and field, each once', async () => {
    const spec = {
      hostname: 'Not_A_Label',
      domain: { devices: { disks: [{ name: 'root', disk: { bus: 'ide' } }] }, memory: { guest: '1Gi' } },
    };
    const response = await responseOf('/virtualmachineinstances-validate-create', vmiRequest(vmi(spec)));
    expect(response).toMatchObject({
      allowed: false,
      status: {
        code: 422,
        reason: 'Invalid',
        details: {
          causes: [
            {
              reason: 'FieldValueInvalid',
              field: 'spec.domain.devices.disks[0].disk.bus',
              message: 'the IDE bus is not supported: use sata',
            },
            { reason: 'FieldValueInvalid', field: 'spec.hostname' },
            { reason: 'FieldValueInvalid', field: 'spec.domain.devices.disks[0].name' },
          ],
        },
      },
    });
  });

  it('says what is wrong with the structure before any rule looks', async () => {
    const response = await responseOf(
      '/virtualmachineinstances-validate-create',
      vmiRequest(vmi({ domain: { devices: {}, cpu: { cores: 'two' } } })),
    );
    expect(response.status).toMatchObject({ code: 422, message: 'spec.domain.cpu.cores in body must be of type integer: "string"' });
  });

  it('lets only the components change a running spec', async () => {
    const body = vmiRequest(vmi({ hostname: 'b' }), { operation: 'UPDATE', oldObject: vmi({ hostname: 'a' }) });
    const response = await responseOf('/virtualmachineinstances-validate-update', body);
    expect(response.status).toMatchObject({
      message: 'update of VMI object is restricted: change the VirtualMachine that owns it, or use the subresources',
    });
  });
});

describe('mutation', () => {
  it('sends the defaults as a JSON patch', async () => {
    const response = await responseOf('/virtualmachineinstances-mutate', vmiRequest(vmi()));
    expect(response).toMatchObject({ uid: 'u-1', allowed: true, patchType: 'JSONPatch' });
    const patch = JSON.parse(Buffer.from(String(response.patch), 'base64').toString()) as { op: string; path: string; value: object }[];
    expect(patch.map((p) => `${p.op} ${p.path}`)).toEqual(['add /metadata', 'add /spec', 'add /status']);
    expect(patch[1]?.value).toMatchObject({ domain: { machine: { type: 'q35' }, firmware: { uuid: 'a-uuid' } } });
    expect(patch[2]?.value).toMatchObject({ phase: 'Pending', runtimeUser: 107 });
  });

  it('creates without the status that a user sent', async () => {
    const sent = { ...vmi(), status: { nodeName: 'n1', virtualMachineRevisionName: 'r' } };
    const create = async (username: string): Promise<object> => {
      const response = await responseOf('/virtualmachineinstances-mutate', vmiRequest(sent, { userInfo: { username } }));
      const patch = JSON.parse(Buffer.from(String(response.patch), 'base64').toString()) as { path: string; value: object }[];
      return patch.find(({ path }) => path === '/status')?.value ?? {};
    };
    expect(await create('kubernetes-admin')).not.toHaveProperty('nodeName');
    expect(await create('system:serviceaccount:kubevirt:kubevirt-controller')).toMatchObject({ virtualMachineRevisionName: 'r' });
  });

  it("puts back a status that a user sent, and leaves the components' alone", async () => {
    const update = (username: string): object =>
      vmiRequest(
        { ...vmi(), status: { phase: 'Running' } },
        { operation: 'UPDATE', oldObject: { ...vmi(), status: { phase: 'Pending' } }, userInfo: { username } },
      );
    const users = await responseOf('/virtualmachineinstances-mutate', update('kubernetes-admin'));
    expect(JSON.parse(Buffer.from(String(users.patch), 'base64').toString())).toEqual([
      { op: 'add', path: '/status', value: { phase: 'Pending', runtimeUser: 0 } },
    ]);
    const own = await responseOf('/virtualmachineinstances-mutate', update('system:serviceaccount:kubevirt:kubevirt-controller'));
    expect(own).toEqual({ uid: 'u-1', allowed: true });
  });
});
