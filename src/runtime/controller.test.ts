// Who throws what decides when a key comes back.
import { describe, expect, it } from 'vitest';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { Metrics } from '../base/metrics.js';
import { QueueController } from './controller.js';
import { manualClock } from './manual-clock.fixture.js';
import type { Next } from './types.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function runs(outcome: (run: number) => Next, afterMs: readonly number[], options: { maxDelayMs?: number } = {}): Promise<number[]> {
  const clock = manualClock();
  let count = 0;
  const controller = new QueueController(
    { name: 'test', workers: 1, sources: [], reconcile: async () => outcome(++count), ...options },
    { clock, log: silentLogger },
  );
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  controller.enqueue('ns/a');
  await turn();
  const counts = [count];
  for (const ms of afterMs) {
    clock.advance(ms);
    await turn();
    counts.push(count);
  }
  stop.abort();
  await running;
  return counts;
}

const fail = (err: unknown): Next => {
  throw err;
};

describe('QueueController', () => {
  const outcomes: [string, (run: number) => Next, number[]][] = [
    ['done: not again', () => undefined, [1, 1, 1]],
    ['later: after its time', (): Next => ({ afterMs: 1000, why: 'test' }), [1, 1, 2]],
    ['an error: with back-off', () => fail(new Error('boom')), [1, 2, 3]],
    ['never: not again', () => fail(new KvError('Terminal', 'give up')), [1, 1, 1]],
    ['a fixed delay', () => fail(new KvError('NotReady', 'wait', { retry: { afterMs: 1000 } })), [1, 1, 2]],
  ];
  it.each(outcomes)('%s', async (_title, outcome, expected) => {
    expect(await runs(outcome, [5, 995])).toEqual(expected);
  });

  it('starts again with the shortest delay after a success', async () => {
    const outcome = (run: number): Next => (run === 4 ? { afterMs: 1000, why: 'test' } : fail(new Error('boom')));
    expect(await runs(outcome, [5, 10, 20, 1000, 5])).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('waits no longer than it is told to', async () => {
    expect(await runs(() => fail(new Error('boom')), [5, 8, 8, 8], { maxDelayMs: 8 })).toEqual([1, 2, 3, 4, 5]);
  });

  it('waits for the running reconcile when it stops', async () => {
    let release: () => void = () => undefined;
    let ended = false;
    const controller = new QueueController(
      {
        name: 'test',
        workers: 1,
        sources: [],
        reconcile: (_key, ctx) =>
          new Promise((resolve) => {
            release = () => {
              ended = ctx.signal.aborted;
              resolve(undefined);
            };
          }),
      },
      { clock: manualClock(), log: silentLogger },
    );
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    controller.enqueue('ns/a');
    await turn();
    stop.abort();
    controller.enqueue('ns/b');
    await turn();
    release();
    await running;
    expect(ended).toBe(true);
  });

  it('shows its series from the start', async () => {
    const metrics = new Metrics();
    new QueueController(
      { name: 'test', workers: 1, sources: [], reconcile: async () => undefined },
      { clock: manualClock(), log: silentLogger, metrics },
    );
    const text = await metrics.text();
    for (const series of ['adds_total', 'retries_total', 'depth', 'unfinished_work_seconds', 'longest_running_processor_seconds']) {
      expect(text).toContain(`kubevirt_workqueue_${series}{name="test"} 0`);
    }
  });
});
