// A guest's end with its pod under a virtual clock, where libvirt, the guest's agent or the node agent hang.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { silentLogger } from '../base/logger.js';
import type { StateReport } from '../libvirt/index.js';
import { type EndingParts, farewell, waitForEnd, windDown } from './ending.js';
import { newRecord } from './report.js';

const never = (): Promise<never> => new Promise(() => undefined);
const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const SHUTOFF: StateReport = { state: 'shutoff', reason: 'shutdown' };
const GRACE_S = 30;

let calls: string[];
let qemu: PromiseWithResolvers<void>;
let stopped: PromiseWithResolvers<StateReport>;
let parts: EndingParts;
let begun: number;
const note = (what: string): void => void calls.push(`${(Date.now() - begun) / 1000} ${what}`);

/** Parts whose every step hangs, unless it is given. */
function partsOf(given: { kill?: () => Promise<void>; refresh?: () => Promise<void> } = {}): EndingParts {
  const { kill = never, refresh = never } = given;
  const noted = (what: string, work: () => Promise<never> | Promise<void>) => async (): Promise<void> => {
    note(what);
    await work();
  };
  return {
    record: newRecord({ name: 'vm1', namespace: 'ns', uid: 'u1' }),
    manager: { markForGracefulShutdown: noted('mark', never) },
    lifecycle: { shutdown: noted('shutdown', never), kill: noted('kill', kill) },
    monitor: { gone: () => qemu.promise, terminate: () => note('SIGTERM'), kill: () => note('SIGKILL'), stop: () => note('unwatch') },
    reporter: {
      refresh,
      ending: { stopped: stopped.promise, deleted: never() },
      endedUnseen(state) {
        note(`told ${state.state}`);
        stopped.resolve(state);
      },
    },
    notifier: {
      async flush() {
        note('flush');
        return true;
      },
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  begun = Date.now();
  calls = [];
  qemu = Promise.withResolvers();
  stopped = Promise.withResolvers();
  parts = partsOf();
});
afterEach(() => vi.useRealTimers());

const pass = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1000);

describe('the end with the pod', () => {
  it('comes before the kubelet’s, whatever hangs', async () => {
    void windDown(ctx, parts, GRACE_S, new AbortController().signal);
    await pass(60);
    expect(calls).toEqual(['0 mark', '5 shutdown', '30 kill', '37 SIGTERM', '41 SIGKILL']);
  });

  it('leaves QEMU alone once libvirt has ended it', async () => {
    parts = partsOf({ kill: async () => undefined });
    void windDown(ctx, parts, GRACE_S, new AbortController().signal);
    await pass(60);
    expect(calls.at(-1)).toBe('30 kill');
  });

  it('ends QEMU at once where libvirt says that it cannot', async () => {
    parts = partsOf({ kill: () => Promise.reject(new Error('libvirt is away')) });
    void windDown(ctx, parts, GRACE_S, new AbortController().signal);
    await pass(60);
    expect(calls.slice(2)).toEqual(['30 kill', '30 SIGTERM', '34 SIGKILL']);
  });

  it('is not forced on a guest that obeys', async () => {
    const terminate = new AbortController();
    const end = waitForEnd(ctx, parts, GRACE_S, terminate.signal);
    terminate.abort();
    await pass(6);
    stopped.resolve(SHUTOFF);
    expect(await end).toEqual(SHUTOFF);
    await pass(60);
    expect(calls).toEqual(['0 mark', '5 shutdown', '6 unwatch']);
  });

  it('is not asked for twice', async () => {
    parts.record.shutdownRequested = true;
    void windDown(ctx, parts, GRACE_S, new AbortController().signal);
    await pass(29);
    expect(calls).toEqual(['0 mark']);
  });

  it('comes at once to a guest that has not arrived', async () => {
    parts.record.isExpected = true;
    void windDown(ctx, parts, GRACE_S, new AbortController().signal);
    await pass(60);
    expect(calls).toEqual(['0 kill', '7 SIGTERM', '11 SIGKILL']);
  });
});

describe('QEMU’s end', () => {
  it('is noticed and told although libvirt hangs', async () => {
    const end = waitForEnd(ctx, parts, GRACE_S, new AbortController().signal);
    await pass(100);
    qemu.resolve();
    await pass(3);
    expect(await end).toEqual({ state: 'crashed', reason: 'unknown' });
    expect(calls).toEqual(['103 told crashed', '103 unwatch']);
  });

  it('is what libvirt says of it, where it does', async () => {
    const end = waitForEnd(ctx, parts, GRACE_S, new AbortController().signal);
    qemu.resolve();
    await pass(1);
    stopped.resolve(SHUTOFF);
    expect(await end).toEqual(SHUTOFF);
    await pass(60);
    expect(calls).toEqual(['1 unwatch']);
  });
});

describe('the farewell', () => {
  it('tells what is known when libvirt hangs', async () => {
    const leave = farewell(ctx, parts, new AbortController().signal);
    await pass(3);
    await leave;
    expect(calls).toEqual(['3 flush', '3 flush']);
  });

  it('waits for the node agent to remove the domain, for a while', async () => {
    parts = partsOf({ refresh: async () => undefined });
    const leave = farewell(ctx, parts, new AbortController().signal);
    await pass(30);
    await leave;
    expect(calls).toEqual(['0 flush', '30 flush']);
  });
});
