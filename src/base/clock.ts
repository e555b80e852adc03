// Time as a value that is handed in, so that every controller also runs under a virtual clock.
// Timers are cancelled by an AbortSignal; setTimeout's limit of 2^31-1 ms is hidden here.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** See ticks(). */
  monotonic?(): number;
  /** Calls `fn` once after `ms`; returns a canceller. */
  after(ms: number, fn: () => void): () => void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      const step = Math.min(left, LONGEST_TIMER_MS);
      timer = setTimeout(() => (left > step ? arm(left - step) : fn()), Math.max(0, step));
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** Milliseconds since some moment, whatever becomes of the wall clock: for how long something takes, not for when it was. */
export const ticks = (clock: Clock): number => clock.monotonic?.() ?? clock.now();

/** Resolves after `ms`, or at once when the signal aborts (never rejects). */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/**
 * What `work` comes to, or the error of `late` when it takes longer than `ms`. Work cannot be called back: it goes on, and what becomes of
 * it then interests nobody.
 */
export async function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const done = new AbortController();
  const timeout = new Promise<never>((_, reject) => {
    // Asked only when it is: making the error may have effects.
    void sleep(clock, ms, done.signal).then(() => !done.signal.aborted && reject(late()));
  });
  try {
    // The race also takes what the loser comes to later.
    return await Promise.race([work, timeout]);
  } finally {
    done.abort();
  }
}

/** metav1.Time: RFC 3339 without fractions of a second. */
export function metaTime(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** metav1.MicroTime, as used by Leases. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}
