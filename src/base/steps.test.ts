// A request that hangs is answered with the step it is at; steps of two requests are kept apart.
import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.js';
import { answerWithin, atStep, isGivenUp } from './steps.js';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('answerWithin', () => {
  it('gives what the work gives', async () => {
    expect(await answerWithin(systemClock, 1000, 'Ask', async () => 7)).toBe(7);
    await expect(
      answerWithin(systemClock, 1000, 'Ask', async () => {
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
  });

  it('names the step of the request that hangs, not that of another', async () => {
    const hang = answerWithin(systemClock, 60, 'Sync', async () => {
      atStep('preparing disks');
      await pause(5);
      atStep('defining the domain');
      await new Promise(() => undefined);
    });
    const other = answerWithin(systemClock, 1000, 'Ping', async () => {
      await pause(20);
      atStep('pinging');
    });
    await expect(hang).rejects.toMatchObject({
      code: 'Timeout',
      reason: 'StuckAtStep',
      message: 'Sync was not done after 0.1 s; it was at: defining the domain',
    });
    await other;
  });

  it('lets the work know that nobody waits for it any more', async () => {
    const seen: boolean[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = answerWithin(systemClock, 20, 'Sync', async () => {
      seen.push(isGivenUp());
      await pause(60);
      seen.push(isGivenUp());
      resolve();
    });
    await expect(late).rejects.toMatchObject({ code: 'Timeout' });
    await promise;
    expect([...seen, isGivenUp()]).toEqual([false, true, false]);
  });

  it('does not say so of what goes on after the answer', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    await answerWithin(systemClock, 1000, 'Sync', async () => {
      setTimeout(() => resolve(isGivenUp()), 20);
    });
    expect(await promise).toBe(false);
  });

  it('says nothing outside of requests', () => {
    expect(() => atStep('anything')).not.toThrow();
  });
});
