// Exponential delay as an object: next() grows, reset() starts again. Randomness is handed in.

export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  readonly factor?: number;
  /** Share of the delay that is random, 0…1. */
  readonly jitter?: number;
  /** Returns [0, 1). */
  readonly random?: () => number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  get failures(): number {
    return this.#failures;
  }

  /** The delay in ms before the next try. */
  next(): number {
    const { baseMs, maxMs, factor = 2, jitter = 0, random = Math.random } = this.#options;
    const full = Math.min(maxMs, baseMs * factor ** this.#failures);
    this.#failures++;
    return full * (1 - jitter) + full * jitter * random();
  }

  reset(): void {
    this.#failures = 0;
  }
}
