// A clock for the unit tests of this room: time moves by advance() only, and timers fire synchronously.
import type { Clock } from '../base/clock.js';

export interface ManualClock extends Clock {
  advance(ms: number): void;
  /** Sets the wall clock forward or back; no time passes. */
  setBy(ms: number): void;
}

export function manualClock(start = 0): ManualClock {
  let now = start;
  let wall = 0;
  const timers = new Set<{ readonly at: number; readonly fn: () => void }>();
  return {
    now: () => now + wall,
    monotonic: () => now,
    setBy(ms) {
      wall += ms;
    },
    after(ms, fn) {
      const timer = { at: now + Math.max(0, ms), fn };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        timers.delete(due);
        now = due.at;
        due.fn();
      }
      now = until;
    },
  };
}
