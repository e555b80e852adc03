import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { type Looking, oneLook } from './one-look.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let holder: Looking<string>;
let begun: PromiseWithResolvers<string>[];
beforeEach(() => {
  vi.useFakeTimers();
  holder = {};
  begun = [];
});
afterEach(() => void vi.useRealTimers());

const look = (): Promise<string> =>
  oneLook(
    ctx,
    holder,
    () => {
      const one = Promise.withResolvers<string>();
      begun.push(one);
      return one.promise;
    },
    () => new Error('away'),
  );
const pass = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1000);

describe('oneLook', () => {
  it('gives what is seen, and looks anew the next time', async () => {
    const first = look();
    begun[0]?.resolve('fine');
    expect(await first).toBe('fine');
    const second = look();
    begun[1]?.reject(new Error('broken'));
    await expect(second).rejects.toThrow('broken');
    expect(holder).toEqual({});
  });

  it('does not begin a second time while the first hangs', async () => {
    const first = expect(look()).rejects.toThrow('away');
    await pass(30);
    await first;
    for (let i = 0; i < 5; i++) {
      const again = expect(look()).rejects.toThrow('away');
      await pass(1);
      await again;
    }
    expect(begun).toHaveLength(1);
    const last = look();
    begun[0]?.resolve('back');
    expect(await last).toBe('back');
  });

  it('leaves no failure behind that nobody hears', async () => {
    const first = expect(look()).rejects.toThrow('away');
    await pass(30);
    await first;
    begun[0]?.reject(new Error('broken at last'));
    await pass(1);
    const next = look();
    begun[1]?.resolve('fine');
    expect(await next).toBe('fine');
  });
});
