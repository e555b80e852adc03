// What src/runtime promises, as one suite: played against the simulated API server under a virtual clock (test/sim) and against a
// real one in real time (runtime.test.ts). Only ConfigMaps, Leases and Events are used, which every cluster serves.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigMap } from '../../src/api/index.js';
import type { Clock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { RestClient } from '../../src/runtime/client.js';
import { SharedInformer } from '../../src/runtime/informer.js';
import { type ManagerOptions, RuntimeManager } from '../../src/runtime/manager.js';
import { CONFIG_MAPS, EVENTS, LEASES } from '../../src/runtime/resources.js';
import type { Transport } from '../../src/runtime/transport.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { FaultyTransport } from '../sim/faulty-transport.js';

export interface World {
  readonly clock: Clock;
  /** Exists and is empty of our objects. */
  readonly namespace: string;
  /** How long a watch may live here before we call it dead. */
  readonly clientTimeoutMs: number;
  transport(): Transport;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
  eventually<T>(check: () => T | Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Seen {
  readonly events: string[];
  readonly transport: FaultyTransport;
  readonly informer: SharedInformer<ConfigMap>;
}

export function runtimeSuite(title: string, open: () => Promise<World>): void {
  let world: World;
  let client: RestClient;
  let stop: AbortController;
  let running: Promise<unknown>[];

  beforeEach(async () => {
    world = await open();
    stop = new AbortController();
    running = [];
    client = new RestClient({ transport: world.transport(), clock: world.clock });
  });

  afterEach(async () => {
    stop.abort();
    await world.pass(50);
    await Promise.allSettled(running);
    await world.close();
  });

  const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: world.namespace, labels: { suite: 'runtime' } },
    data,
  });
  const keyFor = (name: string): string => `${world.namespace}/${name}`;
  const create = (name: string, data?: Record<string, string>): Promise<ConfigMap> => client.create(CONFIG_MAPS, configMap(name, data));
  const remove = (name: string): Promise<void> => client.delete(CONFIG_MAPS, keyFor(name));

  const watching = (transport = new FaultyTransport(world.transport())): Seen => {
    const events: string[] = [];
    const informer = new SharedInformer<ConfigMap>({
      resource: CONFIG_MAPS,
      list: { namespace: world.namespace, labelSelector: 'suite=runtime' },
      client: new RestClient({ transport, clock: world.clock, pageSize: 2 }),
      clock: world.clock,
      log: silentLogger,
      clientTimeoutMs: world.clientTimeoutMs,
    });
    informer.on({
      added: ({ metadata }) => events.push(`added ${metadata.name} ${metadata.uid}`),
      updated: ({ metadata, data }) => events.push(`updated ${metadata.name} ${data?.value}`),
      deleted: ({ metadata }) => events.push(`deleted ${metadata.name} ${metadata.uid}`),
    });
    running.push(informer.run(stop.signal));
    return { events, transport, informer };
  };
  const synced = async (seen: Seen): Promise<void> => {
    await world.eventually(() => expect(seen.informer.hasSynced()).toBe(true));
    await world.eventually(() => expect(seen.transport.count(/^WATCH/)).toBeGreaterThan(0));
  };

  describe(`${title}: informer`, () => {
    it('lists all pages, then follows every change', async () => {
      const objects = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => create(name)));
      const seen = watching();
      await synced(seen);
      expect(seen.events).toEqual(objects.map(({ metadata }) => `added ${metadata.name} ${metadata.uid}`));
      expect(seen.informer.store.get(keyFor('a'))).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });

      await client.mergePatch(CONFIG_MAPS, keyFor('b'), { data: { value: '2' } });
      await remove('c');
      await world.eventually(() => expect(seen.events.slice(5)).toEqual(['updated b 2', `deleted c ${objects[2]?.metadata.uid}`]));
      expect(seen.informer.store.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'd', 'e']);
    });

    it('goes on after a dropped watch where it was: no replay, no new list', async () => {
      const { metadata } = await create('a');
      const seen = watching();
      await synced(seen);
      const lists = seen.transport.count(/^GET/);
      seen.transport.dropStreams();
      await create('b');
      await world.eventually(() => expect(seen.events).toHaveLength(2));
      expect(seen.events[0]).toBe(`added a ${metadata.uid}`);
      expect(seen.events[1]).toMatch(/^added b /);
      expect(seen.transport.count(/^GET/)).toBe(lists);
    });

    it('after 410 lists again and tells what was missed, a re-creation as deletion and addition', async () => {
      const [a, b] = [await create('a'), await create('b')];
      await create('c');
      const seen = watching();
      await synced(seen);
      seen.events.length = 0;
      seen.transport.silenceStreams();
      await remove('a');
      await remove('b');
      const again = await create('b');
      await client.mergePatch(CONFIG_MAPS, keyFor('c'), { data: { value: 'new' } });
      seen.transport.expireStreams();
      const expected = [`deleted a ${a.metadata.uid}`, `deleted b ${b.metadata.uid}`, `added b ${again.metadata.uid}`, 'updated c new'];
      await world.eventually(() => expect(seen.events).toEqual(expected));
    });

    it('gives a half-open connection up and catches up', async () => {
      const seen = watching();
      await synced(seen);
      seen.transport.silenceStreams();
      await create('late');
      await world.pass(world.clientTimeoutMs);
      await world.eventually(() => expect(seen.events).toHaveLength(1));
    });

    it.each(['refused', '500', '429'] as const)('survives a storm of errors (%s) at the start and in the middle', async (how) => {
      const transport = new FaultyTransport(world.transport());
      transport.failNext(6, how);
      const seen = watching(transport);
      await synced(seen);
      transport.failNext(6, how);
      transport.dropStreams();
      await create('after');
      await world.eventually(() => expect(seen.events).toHaveLength(1));
    });

    it('lets no handler disturb the others', async () => {
      const seen = watching();
      seen.informer.on({
        added: () => {
          throw new Error('broken handler');
        },
      });
      const late: string[] = [];
      seen.informer.on({ added: ({ metadata }) => late.push(metadata.name ?? '') });
      await synced(seen);
      await create('a');
      await create('b');
      await world.eventually(() => expect(late).toEqual(['a', 'b']));
    });

    it('keeps indexes in step', async () => {
      await create('a', { group: 'x' });
      await create('b', { group: 'x' });
      const seen = watching();
      seen.informer.addIndex('group', ({ data }) => (data?.group ? [data.group] : []));
      await synced(seen);
      const names = (group: string): unknown[] => seen.informer.store.byIndex('group', group).map(({ metadata }) => metadata.name);
      expect(names('x')).toEqual(['a', 'b']);
      await client.mergePatch(CONFIG_MAPS, keyFor('a'), { data: { group: 'y' } });
      await remove('b');
      await world.eventually(() => expect([names('x'), names('y')]).toEqual([[], ['a']]));
    });
  });

  describe(`${title}: client`, () => {
    const codeOf = async (work: Promise<unknown>): Promise<unknown> => {
      try {
        await work;
        return 'no error';
      } catch (err) {
        const { code, details } = err as { code: string; details: { status?: number } };
        return `${code} ${details.status}`;
      }
    };

    it('names every refusal by its code', async () => {
      const first = await create('a');
      await client.mergePatch(CONFIG_MAPS, keyFor('a'), { data: { value: '1' } });
      expect(await codeOf(client.get(CONFIG_MAPS, keyFor('none')))).toBe('NotFound 404');
      expect(await client.find(CONFIG_MAPS, keyFor('none'))).toBeUndefined();
      expect(await codeOf(create('a'))).toBe('AlreadyExists 409');
      expect(await codeOf(client.update(CONFIG_MAPS, { ...first, data: { value: '2' } }))).toBe('Conflict 409');
      expect(await codeOf(client.delete(CONFIG_MAPS, keyFor('a'), { uid: 'another' }))).toBe('Conflict 409');
      const failing = [{ op: 'test', path: '/data/value', value: '0' } as const, { op: 'remove', path: '/data/value' } as const];
      expect(await codeOf(client.jsonPatch(CONFIG_MAPS, keyFor('a'), failing))).toBe('Conflict 422');
      expect(await codeOf(client.jsonPatch(CONFIG_MAPS, keyFor('none'), failing))).toBe('NotFound 404');
    });

    it('patches with guards: a test against null passes for what is absent', async () => {
      await create('a', { keep: '1' });
      const patched = await client.jsonPatch(CONFIG_MAPS, keyFor('a'), [
        { op: 'test', path: '/data/fresh', value: null },
        { op: 'add', path: '/data/fresh', value: 'x' },
      ]);
      expect(patched.data).toEqual({ keep: '1', fresh: 'x' });
    });

    it('applies: creates, then changes', async () => {
      await client.apply(CONFIG_MAPS, configMap('applied', { value: '1' }), 'suite');
      const changed = await client.apply(CONFIG_MAPS, configMap('applied', { value: '2' }), 'suite');
      expect(changed.data).toEqual({ value: '2' });
      await remove('applied');
      expect(await client.find(CONFIG_MAPS, keyFor('applied'))).toBeUndefined();
    });

    it('lists everything whatever the page size', async () => {
      for (const name of ['a', 'b', 'c']) await create(name);
      const paged = new RestClient({ transport: world.transport(), clock: world.clock, pageSize: 1 });
      const { items, metadata } = await paged.list(CONFIG_MAPS, { namespace: world.namespace, labelSelector: 'suite=runtime' });
      expect(items.map((item) => `${item.kind} ${item.metadata.name}`)).toEqual(['ConfigMap a', 'ConfigMap b', 'ConfigMap c']);
      expect(metadata.resourceVersion).toBeTruthy();
    });

    it('waits when the server says 429 with Retry-After', async () => {
      const transport = new FaultyTransport(world.transport());
      transport.failNext(2, '429');
      const patient = new RestClient({ transport, clock: world.clock });
      const answer = patient.create(CONFIG_MAPS, configMap('patient'));
      running.push(answer);
      await world.eventually(async () => expect(await client.find(CONFIG_MAPS, keyFor('patient'))).toBeDefined());
      expect((await answer).metadata.name).toBe('patient');
    });
  });

  describe(`${title}: manager`, () => {
    const manager = (identity: string, transport: Transport = world.transport(), more: Partial<ManagerOptions> = {}): RuntimeManager =>
      new RuntimeManager({
        name: 'suite',
        transport,
        clock: world.clock,
        log: silentLogger,
        leaderElection: { lease: keyFor('leader'), identity, leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 400 },
        ...more,
      });

    /** Copies data.value to data.copy. */
    const copying = (runtime: RuntimeManager, before: (client: KubeClient) => void = () => undefined): void => {
      const informer = runtime.informer(CONFIG_MAPS, { namespace: world.namespace, labelSelector: 'suite=runtime' });
      runtime.controller({
        name: 'copy',
        workers: 2,
        sources: [{ informer, keys: ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] }],
        reconcile: async (key) => {
          const object = informer.store.get(key);
          if (!object || object.data?.copy === object.data?.value) return undefined;
          before(runtime.client);
          await runtime.client.mergePatch(CONFIG_MAPS, key, { data: { copy: object.data?.value } });
          return undefined;
        },
      });
    };

    it('brings the world to the wanted state, through failures', async () => {
      let left = 4;
      const runtime = manager('one');
      copying(runtime, () => {
        if (left-- > 0) throw new Error('not yet');
      });
      running.push(runtime.run(stop.signal));
      await create('a', { value: '1' });
      await create('b', { value: '2' });
      await world.eventually(async () => {
        const { items } = await client.list(CONFIG_MAPS, { namespace: world.namespace, labelSelector: 'suite=runtime' });
        expect(items.map(({ data }) => data?.copy)).toEqual(['1', '2']);
      });
      expect(left).toBeLessThan(0);
    });

    it('has one leader; the next takes over when it stops, and at once', async () => {
      const firstStop = new AbortController();
      const first = manager('one');
      const second = manager('two');
      running.push(first.run(firstStop.signal));
      await world.eventually(() => expect(first.isLeader()).toBe(true));
      running.push(second.run(stop.signal));
      await world.pass(1000);
      expect(second.isLeader()).toBe(false);
      firstStop.abort();
      await world.eventually(() => expect(second.isLeader()).toBe(true));
      expect(first.isLeader()).toBe(false);
    });

    it('who cannot renew stops writing and ends; another leads after the lease ran out', async () => {
      const transport = new FaultyTransport(world.transport());
      const first = manager('one', transport);
      const second = manager('two');
      const end = first.run(stop.signal).then(
        () => 'ended well',
        (err: Error) => err.message,
      );
      running.push(end);
      await world.eventually(() => expect(first.isLeader()).toBe(true));
      running.push(second.run(stop.signal));
      await world.pass(500);
      transport.block();
      await world.eventually(() => expect(second.isLeader()).toBe(true));
      expect(first.isLeader()).toBe(false);
      expect(await end).toMatch(/lost the lease/);
      transport.block(false);
      await expect(first.client.create(CONFIG_MAPS, configMap('forbidden'))).rejects.toMatchObject({ code: 'Unavailable', retry: 'never' });
      const lease = await client.get(LEASES, keyFor('leader'));
      expect(lease.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
    });

    it('writes an event once, and counts it up over a restart', async () => {
      const object = await create('subject');
      for (const identity of ['one', 'two']) {
        const recorder = manager(identity).events('suite');
        recorder.event(object, 'Warning', 'Failed', 'it did not work');
        recorder.event(object, 'Warning', 'Failed', 'it did not work');
        await world.eventually(async () => {
          const { items } = await client.list(EVENTS, {
            namespace: world.namespace,
            fieldSelector: `involvedObject.uid=${object.metadata.uid}`,
          });
          expect(items).toHaveLength(1);
          expect(items[0]?.count).toBeGreaterThanOrEqual(identity === 'one' ? 1 : 2);
          expect(items[0]).toMatchObject({ type: 'Warning', reason: 'Failed', message: 'it did not work', source: { component: 'suite' } });
        });
      }
    });
  });
}
