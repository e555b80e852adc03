// Profiles of all components: which pods are asked, in which pages, and what is told when one does not answer.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testCa } from '../../test/fakes/certificates.js';
import type { Pod } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { clusterConfigOf } from '../core/config/cluster-config.js';
import { createHttpsServer, empty, type HttpRequest, type HttpResponse, type HttpsServer, json, text } from '../http/index.js';
import type { KubeClient } from '../runtime/types.js';
import { clusterProfilerHandlers, pageOf, readyComponents } from './cluster-profiler.js';

const pod = (name: string, rest: object = {}, metadata: object = {}): Pod =>
  ({
    metadata: { name, ...metadata },
    status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }], ...rest },
  }) as unknown as Pod;
const names = (pods: readonly Pod[]): (string | undefined)[] => pods.map((p) => p.metadata.name);

describe('readyComponents', () => {
  it('are those that can tell something, by name', () => {
    const pods = [
      pod('virt-handler-b'),
      pod('virt-api-a'),
      pod('virt-controller-c', { phase: 'Pending' }),
      pod('virt-controller-d', { conditions: [{ type: 'Ready', status: 'False' }] }),
      pod('virt-controller-e', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      pod('virt-launcher-f'),
      pod('my-virt-api-g'),
      pod('virt-operator-h'),
    ];
    expect(names(readyComponents(pods))).toEqual(['virt-api-a', 'virt-handler-b', 'virt-operator-h']);
  });
});

describe('pageOf', () => {
  const pods = Array.from({ length: 25 }, (_, i) => pod(`virt-handler-${String(i).padStart(2, '0')}`));
  it.each([
    ['default size', {}, 10, 'virt-handler-09'],
    ['negative size', { pageSize: -1 }, 10, 'virt-handler-09'],
    ['largest', { pageSize: 100 }, 20, 'virt-handler-19'],
    ['second page', { pageSize: 20, continue: 'virt-handler-19' }, 5, undefined],
    ['beyond the end', { continue: 'virt-z' }, 0, undefined],
    ['one that has gone', { continue: 'virt-handler-23x' }, 1, undefined],
  ])('%s', (_title, options, count, next) => {
    const page = pageOf(pods, options);
    expect([page.pods.length, page.next]).toEqual([count, next]);
  });
});

describe('requests', () => {
  const ca = testCa();
  const asked: string[] = [];
  let pods: Pod[] = [];
  let failure: KvError | undefined;
  let answer: HttpResponse = empty(200);
  let component: HttpsServer;
  let port = 0;

  beforeAll(async () => {
    component = createHttpsServer({
      tls: ca.issue('whatever'),
      log: silentLogger,
      host: '127.0.0.1',
      port: 0,
      routes: ['start', 'stop', 'dump'].map((verb) => ({
        method: 'GET',
        path: `/${verb}-profiler`,
        handler: () => {
          asked.push(verb);
          return answer;
        },
      })),
    });
    port = await component.start();
  });
  afterAll(() => component.stop(50));
  beforeEach(() => {
    asked.splice(0);
    pods = [pod('virt-api-a'), pod('virt-handler-b')];
    failure = undefined;
    answer = empty(200);
  });

  const call = async (verb: 'start' | 'stop' | 'dump', body = '', enabled = true): Promise<HttpResponse> => {
    const handlers = clusterProfilerHandlers({
      client: {
        list: async () => {
          if (failure) throw failure;
          return { metadata: {}, items: pods };
        },
      } as unknown as KubeClient,
      config: () => clusterConfigOf({ developerConfiguration: { clusterProfiler: enabled } }),
      installNamespace: 'kubevirt',
      ca: () => ca.pem,
      log: silentLogger,
      port,
    });
    return await handlers[verb]({ body: Buffer.from(body), path: verb } as HttpRequest);
  };

  it.each(['start', 'stop'] as const)('%s asks every component', async (verb) => {
    expect((await call(verb)).status).toBe(200);
    expect(asked).toEqual([verb, verb]);
  });

  it.each([
    ['start', 'Unable to start profiler. "ClusterProfiler" feature gate must be enabled'],
    ['dump', 'Unable to dump profiler results. "ClusterProfiler" feature gate must be enabled'],
  ] as const)('%s is refused unless it is enabled', async (verb, body) => {
    expect(await call(verb, '', false)).toMatchObject({ status: 403, body });
    expect(asked).toEqual([]);
  });

  it('collects a page', async () => {
    answer = json(200, { pprofData: { 'cpu.cpuprofile': 'e30=' } });
    const told = await call('dump', '{"pageSize": 1}');
    expect(JSON.parse(String(told.body))).toEqual({
      componentResults: { 'virt-api-a': { pprofData: { 'cpu.cpuprofile': 'e30=' } } },
      continue: 'virt-api-a',
    });
  });

  it('tells of a component that does not answer', async () => {
    answer = text(403, 'not enabled here yet');
    const told = await call('start');
    expect(told).toMatchObject({ status: 500, body: expect.stringContaining('pod virt-api-a answered 403: not enabled here yet') });
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['nobody to start', 'start', '', 500, 'no component pods found'],
    ['nobody left', 'dump', '', 204, ''],
    ['garbage', 'dump', 'pageSize: many', 400, 'failed to parse cluster profiler request'],
  ] as const)('%s', async (_title, verb, body, status, message) => {
    pods = [];
    const told = await call(verb, body);
    expect([told.status, String(told.body ?? '')]).toEqual([status, expect.stringContaining(message)]);
  });

  it('says what is wrong with a selector', async () => {
    failure = new KvError('Invalid', 'unable to parse requirement');
    expect((await call('dump', 'labelSelector: "=="')).status).toBe(400);
  });
});
