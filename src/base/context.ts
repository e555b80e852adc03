// What every function that does I/O receives first: when to stop, where to log, what time it is.
import type { Clock } from './clock.js';
import type { Logger } from './logger.js';

export interface Ctx {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly clock: Clock;
  /** Milliseconds since the epoch; same as clock.now(). */
  now(): number;
}

export function makeCtx(signal: AbortSignal, log: Logger, clock: Clock): Ctx {
  return { signal, log, clock, now: () => clock.now() };
}
