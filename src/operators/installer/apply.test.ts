import { describe, expect, it } from 'vitest';
import type { Deployment, KubeObject } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { silentLogger } from '../../base/logger.js';
import { DEPLOYMENTS } from '../../runtime/resources.js';
import type { KubeClient, Resource, Store } from '../../runtime/types.js';
import { Applier } from './apply.js';
import type { ManagedKinds } from './managed.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const wanted: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'virt-api', namespace: 'kubevirt' },
  spec: { replicas: 2, selector: { matchLabels: { app: 'new' } }, template: { metadata: {}, spec: { containers: [] } } },
};
const there = (labels: Record<string, string>): Deployment => ({
  ...wanted,
  metadata: { ...wanted.metadata, uid: 'u', resourceVersion: '1', labels },
  spec: { selector: { matchLabels: { app: 'old' } }, template: { metadata: {}, spec: { containers: [] } } },
});

/** What the cache has, and the server's answers. */
function applier(cached: Deployment | undefined, answers: Partial<Record<keyof KubeClient, () => unknown>>) {
  const calls: string[] = [];
  const call = (verb: keyof KubeClient) => async () => {
    calls.push(verb);
    return answers[verb]?.();
  };
  const client = {
    create: call('create'),
    get: call('get'),
    jsonPatch: call('jsonPatch'),
    delete: call('delete'),
  } as unknown as KubeClient;
  const store = { get: () => cached } as unknown as Store<KubeObject>;
  const kinds = { of: () => ({ resource: DEPLOYMENTS as Resource<KubeObject>, store }) } as unknown as ManagedKinds;
  const target = { version: 'v1', registry: 'r', id: 'i', config: '' };
  return { calls, apply: () => new Applier({ client, kinds }, { target, product: {}, lastSeen: [] }).apply(wanted, ctx) };
}

const refused =
  (...causes: string[]) =>
  (): never => {
    throw new KvError('Invalid', 'Deployment.apps "virt-api" is invalid', { details: { causes: causes.map((message) => ({ message })) } });
  };
const OURS = { 'app.kubernetes.io/managed-by': 'virt-operator' };

describe('a workload that the API server does not take as it is', () => {
  const IMMUTABLE = 'Invalid value: {"matchLabels":{"app":"new"}}: field is immutable';
  it.each([
    ['is made anew where only its unchangeable part differs', [IMMUTABLE], ['jsonPatch', 'delete'], 'NotReady'],
    ['is made anew for another role', ['Invalid value: {}: cannot change roleRef'], ['jsonPatch', 'delete'], 'NotReady'],
    ['goes on as it was where what is wanted is wrong', ['Required value'], ['jsonPatch'], 'Invalid'],
    ['also where both is the case', [IMMUTABLE, 'Required value'], ['jsonPatch'], 'Invalid'],
    ['and where a policy of the cluster refuses it without a word', [], ['jsonPatch'], 'Invalid'],
  ])('%s', async (_title, causes, expected, code) => {
    const { calls, apply } = applier(there(OURS), { jsonPatch: refused(...causes) });
    await expect(apply()).rejects.toMatchObject({ code });
    expect(calls).toEqual(expected);
  });
});

describe('an object that is there although the cache does not show it', () => {
  const exists = (): never => {
    throw new KvError('AlreadyExists', 'it exists');
  };
  it('is waited for where it is ours: its content, say a key, was made a moment ago', async () => {
    const { calls, apply } = applier(undefined, { create: exists, get: () => there(OURS) });
    await expect(apply()).rejects.toMatchObject({ code: 'NotReady', retry: { afterMs: 1000 } });
    expect(calls).toEqual(['create', 'get']);
  });

  it('becomes ours where somebody else made it', async () => {
    const { calls, apply } = applier(undefined, { create: exists, get: () => there({}), jsonPatch: () => there(OURS) });
    await apply();
    expect(calls).toEqual(['create', 'get', 'jsonPatch']);
  });
});
