// Whatever happens on the wire and on the server, the cache ends equal to the server, and what the handlers were told adds up to it.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ConfigMap, keyOf } from '../../src/api/index.js';
import { silentLogger } from '../../src/base/logger.js';
import { RestClient } from '../../src/runtime/client.js';
import { SharedInformer } from '../../src/runtime/informer.js';
import { CONFIG_MAPS } from '../../src/runtime/resources.js';
import { FaultyTransport } from './faulty-transport.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('create' as const, 'update' as const, 'delete' as const, 'recreate' as const), name }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('relabel' as const), name }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('drop' as const, 'silence' as const, 'expire' as const, 'compact' as const, 'fail' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(0, 40, 400, 20_000, 340_000) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface World {
  readonly clock: VirtualClock;
  readonly server: SimApiServer;
  readonly transport: FaultyTransport;
}

const COLLECTION = '/configmaps';

type Played = (
  world: World,
  action: { readonly kind: string; readonly name?: string; readonly ms?: number },
  turn: number,
) => void | Promise<void>;

const find = ({ server }: World, name = ''): ConfigMap | undefined =>
  server.store.list(COLLECTION).find((object) => keyOf(object) === `ns/${name}`) as ConfigMap | undefined;

const remove = (world: World, name: string | undefined): void => {
  if (find(world, name)) world.server.store.delete(COLLECTION, `ns/${name}`);
};

const create = (world: World, name = ''): void => {
  if (find(world, name)) return;
  const metadata = { name, namespace: 'ns', labels: { watched: 'yes' } };
  world.server.store.create(COLLECTION, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
};

const change = (world: World, name: string | undefined, next: (old: ConfigMap) => ConfigMap): void => {
  const old = find(world, name);
  if (old) world.server.store.update(COLLECTION, next(old), 'all');
};

const PLAYED: Readonly<Record<Step['kind'], Played>> = {
  create: (world, { name }) => create(world, name),
  recreate: (world, { name }) => {
    remove(world, name);
    create(world, name);
  },
  update: (world, { name }, turn) => change(world, name, (old) => ({ ...old, data: { turn: String(turn) } })),
  relabel: (world, { name }) =>
    change(world, name, (old) => {
      const watched = old.metadata.labels?.watched === 'yes' ? 'no' : 'yes';
      return { ...old, metadata: { ...old.metadata, labels: { watched } } };
    }),
  delete: (world, { name }) => remove(world, name),
  drop: ({ transport }) => transport.dropStreams(),
  silence: ({ transport }) => transport.silenceStreams(),
  expire: ({ transport }) => transport.expireStreams(),
  compact: ({ server }) => server.store.compact(),
  fail: ({ transport }, _action, turn) => transport.failNext(3, turn % 2 === 0 ? 'refused' : '500'),
  pass: ({ clock }, { ms = 0 }) => clock.advance(ms),
};

/** The state that a handler has who believes every event, and the first event that contradicts it. */
class Believer {
  readonly objects = new Map<string, string>();
  lie: string | undefined;

  added({ metadata: { name = '', uid, resourceVersion } }: ConfigMap): void {
    if (this.objects.has(name)) this.lie ??= `added twice: ${name}`;
    this.objects.set(name, `${uid} ${resourceVersion}`);
  }

  updated({ metadata: { name = '', uid, resourceVersion } }: ConfigMap): void {
    if (!this.objects.get(name)?.startsWith(`${uid} `)) this.lie ??= `updated another: ${name}`;
    this.objects.set(name, `${uid} ${resourceVersion}`);
  }

  deleted({ metadata: { name = '', uid } }: ConfigMap): void {
    if (!this.objects.get(name)?.startsWith(`${uid} `)) this.lie ??= `deleted another: ${name}`;
    this.objects.delete(name);
  }
}

it('converges to the server after any sequence of changes and faults', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new VirtualClock();
      const server = new SimApiServer(clock);
      const transport = new FaultyTransport(server.transport());
      const informer = new SharedInformer<ConfigMap>({
        resource: CONFIG_MAPS,
        list: { labelSelector: 'watched=yes' },
        client: new RestClient({ transport, clock, pageSize: 2 }),
        clock,
        log: silentLogger,
        random: () => 0.5,
      });
      const believer = new Believer();
      informer.on({
        added: (object) => believer.added(object),
        updated: (object) => believer.updated(object),
        deleted: (object) => believer.deleted(object),
      });
      const stop = new AbortController();
      const running = informer.run(stop.signal);
      for (const [turn, action] of steps.entries()) await PLAYED[action.kind]({ clock, server, transport }, action, turn);
      transport.failNext(0);
      await clock.advance(400_000);

      const truth = server.store.list(COLLECTION).filter(({ metadata }) => metadata.labels?.watched === 'yes');
      const versions = new Map(truth.map(({ metadata: { name = '', uid, resourceVersion } }) => [name, `${uid} ${resourceVersion}`]));
      expect(believer.lie).toBeUndefined();
      expect(believer.objects).toEqual(versions);
      expect(new Map(informer.store.list().map(({ metadata }) => [metadata.name, `${metadata.uid} ${metadata.resourceVersion}`]))).toEqual(
        versions,
      );
      stop.abort();
      await clock.advance(1);
      await running;
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 200 },
  );
}, 60_000);
