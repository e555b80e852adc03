// The launcher's part in the set-up of a pod's network, where it is slow or of another version.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { KvError } from '../../base/errors.js';
import { silentLogger } from '../../base/logger.js';
import { handOver } from './setup.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Refuses so often, each time after `ms`. */
function launcher(failures: number, err: Error, ms = 0): { tries: number; handOverRouter: () => Promise<void> } {
  const found = {
    tries: 0,
    async handOverRouter(): Promise<void> {
      found.tries++;
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (found.tries <= failures) throw err;
    },
  };
  return found;
}

const busy = new KvError('LauncherUnreachable', 'nobody answers');

describe('handing the router socket over', () => {
  it('waits for a launcher that is busy', async () => {
    const target = launcher(3, busy, 5_000);
    const done = handOver(ctx, target, 'k6t-eth0');
    await vi.advanceTimersByTimeAsync(25_000);
    await done;
    expect(target.tries).toBe(4);
  });

  it('ends with the error of one that never answers', async () => {
    const target = launcher(100, busy, 5_000);
    const outcome = expect(handOver(ctx, target, 'k6t-eth0')).rejects.toBe(busy);
    await vi.advanceTimersByTimeAsync(40_000);
    await outcome;
    expect(target.tries).toBeLessThan(8);
  });

  it('goes without where the launcher has no place for it', async () => {
    const target = launcher(100, new KvError('NotFound', 'no such socket'));
    await Promise.all([handOver(ctx, target, 'k6t-eth0'), vi.advanceTimersByTimeAsync(1)]);
    expect(target.tries).toBe(1);
  });
});
