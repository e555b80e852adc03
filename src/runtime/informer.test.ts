// A kind that is not served: its cache is out of sync and empty, comes by itself, and goes again.
import { expect, it } from 'vitest';
import type { ConfigMap } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { SharedInformer } from './informer.js';
import { manualClock } from './manual-clock.fixture.js';
import { CONFIG_MAPS } from './resources.js';

const one: ConfigMap = { metadata: { name: 'one', namespace: 'a', uid: '1', resourceVersion: '5' } };

it('follows a kind from when it is served until it is not', async () => {
  const clock = manualClock();
  const stop = new AbortController();
  let isServed = false;
  const notServed = (): never => {
    throw new KvError('NotFound', 'the server could not find the requested resource');
  };
  const client = {
    list: async () => (isServed ? { items: [one], metadata: { resourceVersion: '5' } } : notServed()),
    watch: async () => (isServed ? (async function* () {})() : notServed()),
  };
  const informer = new SharedInformer<ConfigMap>({
    resource: CONFIG_MAPS,
    whenServed: true,
    client: client as never,
    clock,
    log: silentLogger,
    random: () => 0,
  });
  const told: string[] = [];
  informer.on({ added: ({ metadata }) => told.push(`+${metadata.name}`), deleted: ({ metadata }) => told.push(`-${metadata.name}`) });
  const running = informer.run(stop.signal);
  const pass = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds * 2; at++) {
      clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await pass(60);
  expect([informer.hasSynced(), told, clock.now() - informer.lastContactAt <= 5000]).toEqual([false, [], true]);
  isServed = true;
  await pass(10);
  expect([informer.hasSynced(), told]).toEqual([true, ['+one']]);
  isServed = false;
  await pass(120);
  expect([informer.hasSynced(), told]).toEqual([false, ['+one', '-one']]);
  stop.abort();
  await pass(60);
  await running;
});
