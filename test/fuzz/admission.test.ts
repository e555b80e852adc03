// Ten thousand damaged manifests against the webhooks of virt-api and virt-operator: whatever is sent, the answer is a well-formed review within
// a second, and never an error of ours. Reproducible: the number of a case is its seed.
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { KvError } from '../../src/base/errors.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { ALPHA_GATES } from '../../src/core/config/gates.js';
import type { HttpRequest, Route } from '../../src/http/index.js';
import { operatorWebhookRoutes } from '../../src/main/operator-webhooks.js';
import type { KubeClient, Resource } from '../../src/runtime/types.js';
import { webhookRoutes } from '../../src/webhooks/server.js';
import { damaged } from './mutate.js';
import { type Random, randomOf } from './random.js';
import { guestSpec, seedOf, TARGETS, type Target } from './targets.js';

const CASES = 10_000;
const BATCHES = 20;
/** Of computing: a busy machine is no fault of ours. */
const LONGEST_MS = 1000;
const USERS = ['kubernetes-admin', 'system:serviceaccount:kubevirt:kubevirt-handler', 'system:serviceaccount:kubevirt:kubevirt-controller'];

const stored = (kind: string, rest: object): object => ({ kind, metadata: { name: 'web', namespace: 'shop', uid: 'u' }, ...rest });
/** What the API server has: sound objects, since it checked them. */
const CLUSTER: Readonly<Record<string, object>> = {
  Pod: { ...(seedOf('Pod', randomOf(1)) as { metadata: object }), status: { phase: 'Running' } },
  VirtualMachineInstance: stored('VirtualMachineInstance', {
    spec: guestSpec(),
    status: { phase: 'Running', nodeName: 'node01', conditions: [{ type: 'LiveMigratable', status: 'True' }] },
  }),
  VirtualMachineSnapshot: stored('VirtualMachineSnapshot', {
    spec: {},
    status: { sourceUID: 'x', virtualMachineSnapshotContentName: 'web' },
  }),
  VirtualMachineInstancetype: stored('VirtualMachineInstancetype', { spec: { cpu: { guest: 2 }, memory: { guest: '1Gi' } } }),
  VirtualMachinePreference: stored('VirtualMachinePreference', { spec: { cpu: { preferredCPUTopology: 'spread' } } }),
  VirtualMachineInstancePreset: stored('VirtualMachineInstancePreset', { spec: { selector: {}, domain: { devices: {} } } }),
};

const client = {
  find: async ({ kind }: Resource<never>) => structuredClone(CLUSTER[kind]),
  get: async ({ kind }: Resource<never>) => structuredClone(CLUSTER[kind]) ?? Promise.reject(new KvError('NotFound', 'there is none')),
  list: async ({ kind }: Resource<never>) => ({ metadata: {}, items: CLUSTER[kind] ? [structuredClone(CLUSTER[kind])] : [] }),
  create: async () => Promise.reject(new KvError('Invalid', 'no such operator')),
  jsonPatch: async () => undefined,
} as unknown as KubeClient;

const configs = [
  clusterConfigOf({}),
  clusterConfigOf({ developerConfiguration: { featureGates: [...ALPHA_GATES] }, evictionStrategy: 'LiveMigrate' }),
];

function routesWith(config: number): Map<string, Route> {
  const deps = { client, config: () => configs[config] as (typeof configs)[number], installNamespace: 'kubevirt', clock: systemClock };
  const routes = [
    ...webhookRoutes({ ...deps, log: silentLogger, randomUuid: () => '00000000-0000-4000-8000-000000000000' }),
    ...operatorWebhookRoutes(client, silentLogger),
  ];
  return new Map(routes.map((route) => [route.path, route]));
}

const routes = configs.map((_, i) => routesWith(i));

interface Case {
  readonly target: Target;
  readonly config: number;
  readonly request: object;
}

function requestOf(target: Target, random: Random): object {
  const seed = seedOf(target.kind, random);
  const object = damaged(seed, random, random.int(6));
  const operation = random.pick(target.operations);
  const old = operation === 'CREATE' ? undefined : damaged(random.chance(0.5) ? seed : object, random, random.int(3));
  const extra = random.chance(0.5) ? { extra: { 'authentication.kubernetes.io/node-name': ['node01'] } } : {};
  const request = {
    uid: 'the-uid',
    resource: target.resource,
    operation,
    namespace: 'shop',
    name: 'web',
    dryRun: random.chance(0.5),
    userInfo: { username: random.pick(USERS), ...extra },
    ...(operation === 'DELETE' ? {} : { object }),
    ...(old === undefined ? {} : { oldObject: old }),
  };
  return random.chance(0.03) ? (damaged(request, random, 2) as object) : request;
}

function caseOf(seed: number): Case {
  const random = randomOf(seed);
  const target = TARGETS[seed % TARGETS.length] as Target;
  return { target, config: random.int(configs.length), request: requestOf(target, random) };
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response: {
    readonly allowed: boolean;
    readonly status?: { readonly code: number; readonly message: string };
    readonly patch?: string;
  };
}

async function answerTo({ target, config, request }: Case): Promise<Review> {
  const http = {
    method: 'POST',
    path: target.path,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ request })),
  };
  const answer = await routes[config]?.get(target.path)?.handler(http as unknown as HttpRequest);
  return JSON.parse(String(answer?.body)) as Review;
}

function faultOf({ apiVersion, kind, response }: Review, ms: number): string | undefined {
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview') return 'is no review';
  if (typeof response.allowed !== 'boolean') return 'does not decide';
  if (!response.allowed && !response.status?.message) return 'gives no reason';
  if ((response.status?.code ?? 200) >= 500) return `is an error of ours: ${response.status?.message}`;
  if (response.patch !== undefined && !Array.isArray(JSON.parse(Buffer.from(response.patch, 'base64').toString())))
    return 'has a broken patch';
  return ms > LONGEST_MS ? `took ${Math.round(ms)} ms` : undefined;
}

async function trouble(seed: number): Promise<string | undefined> {
  const given = caseOf(seed);
  const before = process.threadCpuUsage();
  const review = await answerTo(given);
  const { user, system } = process.threadCpuUsage(before);
  const fault = faultOf(review, (user + system) / 1000);
  return fault && `the answer to case ${seed} at ${given.target.path} ${fault}\n${JSON.stringify(given.request).slice(0, 2000)}`;
}

it.each(Array.from({ length: BATCHES }, (_, batch) => batch))('batch %d is answered in good order', async (batch) => {
  const found: string[] = [];
  for (let seed = batch; seed < CASES; seed += BATCHES) {
    const one = await trouble(seed);
    if (one) found.push(one);
  }
  expect(found).toEqual([]);
});

it('reaches decisions of every sort', async () => {
  const reviews = await Promise.all(Array.from({ length: 1000 }, (_, seed) => answerTo(caseOf(seed))));
  const counted = (test: (review: Review) => boolean): number => reviews.filter(test).length;
  expect(counted(({ response }) => response.allowed)).toBeGreaterThan(50);
  expect(counted(({ response }) => response.status?.code === 422)).toBeGreaterThan(200);
  expect(counted(({ response }) => response.patch !== undefined)).toBeGreaterThan(5);
});
