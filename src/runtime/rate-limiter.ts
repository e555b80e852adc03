// Token bucket on our side of the wire, so that a busy controller does not drown the API server (client-go's QPS and burst).
import { type Clock, sleep, ticks } from '../base/clock.js';

export interface RateLimit {
  /** Tokens a second. */
  readonly qps: number;
  readonly burst: number;
}

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#at = ticks(clock);
  }

  /** Takes a token and says after how many ms it may be used. */
  reserve(): number {
    const now = ticks(this.#clock);
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + ((now - this.#at) / 1000) * this.#limit.qps);
    this.#at = now;
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens / this.#limit.qps) * 1000);
  }

  /** Resolves when it is the caller's turn, with the ms waited. */
  async take(): Promise<number> {
    const waitMs = this.reserve();
    if (waitMs > 0) await sleep(this.#clock, waitMs);
    return waitMs;
  }
}
