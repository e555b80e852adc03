// Events are written once, counted up, combined and never in the way.
import { describe, expect, it } from 'vitest';
import type { CoreEvent } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { QueuedEventRecorder } from './events.js';
import { manualClock } from './manual-clock.fixture.js';
import { RateLimiter } from './rate-limiter.js';
import type { KubeClient } from './types.js';

const object = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: { name: 'web', namespace: 'ns', uid: 'u' } };
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function recorder(refuse: (event: CoreEvent) => boolean = () => false) {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const created: CoreEvent[] = [];
  const patched: object[] = [];
  const client = {
    create: async (_resource: unknown, event: CoreEvent) => {
      if (refuse(event)) throw new KvError('Forbidden', 'namespace is terminating');
      created.push(event);
      return event;
    },
    mergePatch: async (_resource: unknown, _key: string, patch: object) => {
      patched.push(patch);
      return patch;
    },
  } as unknown as KubeClient;
  return {
    clock,
    created,
    patched,
    events: new QueuedEventRecorder({ component: 'test', host: 'node1', client, clock, log: silentLogger }),
  };
}

describe('QueuedEventRecorder', () => {
  it('writes one event for a transition', async () => {
    const { events, created } = recorder();
    events.event(object, 'Normal', 'Started', 'it runs');
    await settle();
    expect(created).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^web\.[0-9a-f]{12}$/), namespace: 'ns' },
        involvedObject: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', namespace: 'ns', name: 'web', uid: 'u' },
        type: 'Normal',
        reason: 'Started',
        message: 'it runs',
        source: { component: 'test', host: 'node1' },
        reportingComponent: 'test',
        reportingInstance: 'node1',
        count: 1,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
      },
    ]);
  });

  it('counts repetitions up, with at most one write a minute', async () => {
    const { events, created, patched, clock } = recorder();
    for (let second = 0; second < 130; second++) {
      events.event(object, 'Warning', 'Failed', 'no');
      await settle();
      clock.advance(1000);
    }
    expect(created).toHaveLength(1);
    expect(patched).toEqual([
      { count: 61, lastTimestamp: '2026-01-01T00:01:00Z' },
      { count: 121, lastTimestamp: '2026-01-01T00:02:00Z' },
    ]);
  });

  it('combines many different messages for one reason', async () => {
    const { events, created } = recorder();
    for (let n = 0; n < 50; n++) events.event(object, 'Warning', 'Failed', `attempt ${n}`);
    await settle();
    expect(created).toHaveLength(11);
    expect(created.at(-1)?.message).toMatch(/^\(combined from similar events\)/);
  });

  it('gives the same event the same name in another process, and others another', async () => {
    const [one, two] = [recorder(), recorder()];
    one.events.event(object, 'Normal', 'Started', 'it runs');
    two.events.event(object, 'Normal', 'Started', 'it runs');
    two.events.event({ ...object, metadata: { ...object.metadata, uid: 'v' } }, 'Normal', 'Started', 'it runs');
    await settle();
    expect(two.created[0]?.metadata.name).toBe(one.created[0]?.metadata.name);
    expect(two.created[1]?.metadata.name).not.toBe(one.created[0]?.metadata.name);
  });

  it('survives refusals, long names and storms', async () => {
    const { events, created } = recorder(({ reason }) => reason === 'Refused');
    events.event(object, 'Normal', 'Refused', 'x');
    events.event(
      { ...object, metadata: { ...object.metadata, name: `${'n'.repeat(239)}.${'x'.repeat(10)}` } },
      'Normal',
      'Long',
      'x'.repeat(2000),
    );
    for (let n = 0; n < 3000; n++) events.event({ ...object, metadata: { ...object.metadata, uid: `${n}` } }, 'Normal', 'Storm', 'x');
    await settle();
    expect(created[0]?.metadata.name).toHaveLength(239 + 13);
    expect(created[0]?.message).toHaveLength(1024);
    expect(created.length).toBeLessThanOrEqual(1001);
  });
});

describe('RateLimiter', () => {
  it('lets a burst pass, then its rate', () => {
    const clock = manualClock();
    const limiter = new RateLimiter({ qps: 10, burst: 3 }, clock);
    expect(Array.from({ length: 5 }, () => limiter.reserve())).toEqual([0, 0, 0, 100, 200]);
    clock.advance(300);
    expect(limiter.reserve()).toBe(0);
    clock.advance(10_000);
    expect(Array.from({ length: 4 }, () => limiter.reserve())).toEqual([0, 0, 0, 100]);
  });

  it('does not stand still when the wall clock is set back', () => {
    const clock = manualClock();
    const limiter = new RateLimiter({ qps: 10, burst: 3 }, clock);
    clock.setBy(-3_600_000);
    expect(limiter.reserve()).toBe(0);
  });
});
