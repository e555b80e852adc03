import { describe, expect, it } from 'vitest';
import type { Lease } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { LeaderElector } from './leader-election.js';
import { type ManualClock, manualClock } from './manual-clock.fixture.js';
import type { KubeClient } from './types.js';

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** One Lease, and whether the server answers. */
function server() {
  let lease: Lease | undefined;
  let version = 0;
  const state = { isUp: true };
  const put = (wanted: Lease): Lease => {
    if (!state.isUp) throw new KvError('Unavailable', 'no answer');
    if (lease && wanted.metadata.resourceVersion !== lease.metadata.resourceVersion) throw new KvError('Conflict', 'somebody was faster');
    lease = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: `${++version}` } };
    return lease;
  };
  const client = {
    find: async () => lease,
    create: async (_resource: unknown, object: Lease) => put(object),
    update: async (_resource: unknown, object: Lease) => put(object),
  } as unknown as KubeClient;
  return {
    client,
    state,
    held: () => lease,
    take: (holderIdentity: string) => put({ ...(lease as Lease), spec: { ...lease?.spec, holderIdentity } }),
  };
}

const elector = (client: KubeClient, clock: ManualClock, identity: string): LeaderElector =>
  new LeaderElector({ lease: 'kubevirt/leader', identity }, { client, clock, log: silentLogger, random: () => 0 });

async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 500) {
    clock.advance(500);
    await settle();
  }
}

describe('a leader', () => {
  const HOUR = 3_600_000;
  const leading = async () => {
    const clock = manualClock(10 * HOUR);
    const stop = new AbortController();
    const api = server();
    const one = elector(api.client, clock, 'one');
    await one.acquire(stop.signal);
    let end: string | undefined;
    const held = one.hold(stop.signal).then(
      () => 'stopped',
      (err: Error) => err.message,
    );
    void held.then((message) => {
      end = message;
    });
    await settle();
    return { clock, stop, api, one, end: () => end };
  };

  it('ends as soon as it learns that another one leads', async () => {
    const { clock, api, one, end } = await leading();
    await pass(clock, 3_000);
    api.take('two');
    await pass(clock, 2_500);
    expect([end()?.includes('two'), one.isLeader(), api.held()?.spec?.holderIdentity]).toEqual([true, false, 'two']);
  });

  it('takes no lease back that another one has had and given up meanwhile', async () => {
    const { clock, api, end } = await leading();
    await pass(clock, 3_000);
    api.take('');
    await pass(clock, 2_500);
    expect([end() !== undefined, api.held()?.spec?.holderIdentity]).toEqual([true, '']);
  });

  it('goes on when its own renewal went unanswered', async () => {
    const { clock, api, one, end } = await leading();
    await pass(clock, 3_000);
    api.take('one');
    await pass(clock, 5_000);
    expect([end(), one.isLeader()]).toEqual([undefined, true]);
  });

  it('does not outlive its lease when the wall clock is set back', async () => {
    const { clock, api, end } = await leading();
    await pass(clock, 3_000);
    api.state.isUp = false;
    clock.setBy(-HOUR);
    await pass(clock, 12_000);
    expect(end()).toMatch(/not renewed within 10 s/);
  });

  it('is not replaced because a follower’s wall clock is set forward', async () => {
    const { stop, api } = await leading();
    const behind = manualClock(10 * HOUR);
    const two = elector(api.client, behind, 'two');
    const taken = two.acquire(stop.signal);
    await pass(behind, 1_000);
    behind.setBy(HOUR);
    await pass(behind, 4_000);
    expect([two.isLeader(), api.held()?.spec?.holderIdentity]).toEqual([false, 'one']);
    stop.abort();
    await pass(behind, 4_000);
    expect(await taken).toBe(false);
  });
});
