// A burst passes, what is beyond waits its turn, who goes on regardless is turned away; time makes up for everything.
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../base/clock.js';
import { Pace } from './pace.js';

class TestClock implements Clock {
  #now = 0;
  #timers: { at: number; fn: () => void }[] = [];
  now(): number {
    return this.#now;
  }
  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.#now + ms, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    for (const timer of this.#timers.filter(({ at }) => at <= this.#now)) timer.fn();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const LIMITS = { burst: 3, perSecond: 2, waiting: 2 };

describe('Pace', () => {
  it('lets a burst pass and fills up again', async () => {
    const clock = new TestClock();
    const pace = new Pace(clock, LIMITS);
    expect([pace.take(), pace.take(), pace.take(), pace.take()]).toEqual([true, true, true, false]);
    await clock.pass(500);
    expect([pace.take(), pace.take()]).toEqual([true, false]);
    await clock.pass(60_000);
    expect([1, 2, 3, 4].map(() => pace.take())).toEqual([true, true, true, false]);
  });

  it('makes those beyond the burst wait, and turns the others away', async () => {
    const clock = new TestClock();
    const pace = new Pace(clock, LIMITS);
    for (let i = 0; i < 3; i++) await pace.turn();
    const done: string[] = [];
    const first = pace.turn().then(() => done.push('first'));
    const second = pace.turn().then(() => done.push('second'));
    await expect(pace.turn()).rejects.toMatchObject({ code: 'Unavailable' });
    await clock.pass(500);
    expect(done).toEqual(['first']);
    await clock.pass(500);
    expect(done).toEqual(['first', 'second']);
    await Promise.all([first, second]);
  });
});
