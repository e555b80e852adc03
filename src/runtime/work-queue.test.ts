// A key is waiting once, worked on once, and never lost.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock } from './manual-clock.fixture.js';
import { WorkQueue } from './work-queue.js';

describe('WorkQueue', () => {
  it('holds a key once, and gives it again when it was added during the work', async () => {
    const queue = new WorkQueue({ clock: manualClock() });
    queue.add('a');
    queue.add('a');
    queue.add('b');
    expect(queue.size).toBe(2);
    expect(await queue.next()).toBe('a');
    queue.add('a');
    queue.add('a');
    expect(queue.size).toBe(1);
    queue.done('a');
    expect([await queue.next(), await queue.next()]).toEqual(['b', 'a']);
  });

  it('wakes a waiting worker', async () => {
    const queue = new WorkQueue({ clock: manualClock() });
    const next = queue.next();
    queue.add('a');
    expect(await next).toBe('a');
  });

  it('delays a failing key twice as long each time, and forgets on success', () => {
    const clock = manualClock();
    const queue = new WorkQueue({ clock });
    const delays = Array.from({ length: 6 }, () => {
      const ms = queue.retry('a');
      clock.advance(ms);
      return ms;
    });
    expect(delays).toEqual([5, 10, 20, 40, 80, 160]);
    for (let n = 0; n < 30; n++) clock.advance(queue.retry('a'));
    expect(queue.retry('a')).toBe(1_000_000);
    queue.forget('a');
    expect(queue.retry('a')).toBe(5);
  });

  it('takes the earliest of several wishes', async () => {
    const clock = manualClock();
    const queue = new WorkQueue({ clock });
    queue.addAfter('a', 100);
    queue.addAfter('a', 500);
    queue.addAfter('b', 500);
    queue.addAfter('b', 50);
    clock.advance(50);
    expect(queue.size).toBe(1);
    clock.advance(50);
    expect(queue.size).toBe(2);
    clock.advance(1000);
    expect([await queue.next(), await queue.next(), queue.size]).toEqual(['b', 'a', 0]);
  });

  it('slows a storm of different failing keys down', () => {
    const queue = new WorkQueue({ clock: manualClock() });
    const delays = Array.from({ length: 600 }, (_, n) => queue.retry(`key-${n}`));
    expect(delays.slice(0, 500).every((ms) => ms === 5)).toBe(true);
    expect(delays.at(-1)).toBe(2000);
  });

  it('stops: workers end, what runs is waited for', async () => {
    const queue = new WorkQueue({ clock: manualClock() });
    queue.add('a');
    await queue.next();
    const waiting = queue.next();
    queue.add('b');
    expect(await waiting).toBe('b');
    const idle = queue.next();
    queue.stop();
    queue.add('c');
    expect([await idle, await queue.next(), queue.size]).toEqual([undefined, undefined, 0]);
    let isIdle = false;
    const whenIdle = queue.idle().then(() => {
      isIdle = true;
    });
    queue.done('a');
    await Promise.resolve();
    expect(isIdle).toBe(false);
    queue.done('b');
    await whenIdle;
  });

  it('never gives a key to two workers, and works on every key after its last addition', async () => {
    const operation = fc.record({
      do: fc.constantFrom('add' as const, 'take' as const, 'finish' as const, 'later' as const),
      key: fc.constantFrom('a', 'b', 'c'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(operation), async (operations) => {
        const clock = manualClock();
        const queue = new WorkQueue({ clock });
        const active = new Set<string>();
        const dirty = new Set<string>();
        const take = async (): Promise<void> => {
          if (queue.size === 0) return;
          const key = (await queue.next()) as string;
          expect(active.has(key)).toBe(false);
          active.add(key);
          dirty.delete(key);
        };
        const play = {
          take: (_key: string) => take(),
          finish: async (key: string) => {
            if (active.delete(key)) queue.done(key);
          },
          add: async (key: string) => {
            dirty.add(key);
            queue.add(key);
          },
          later: async (key: string) => {
            dirty.add(key);
            queue.addAfter(key, 10);
          },
        };
        for (const { do: what, key } of operations) await play[what](key);
        clock.advance(10);
        for (const key of active) queue.done(key);
        active.clear();
        while (queue.size > 0) {
          await take();
          for (const key of active) queue.done(key);
          active.clear();
        }
        expect([...dirty]).toEqual([]);
      }),
    );
  });
});
