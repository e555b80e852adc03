// One after the other: requests that change what is defined must not overlap. A request that waits says so, and is not begun once it was given up.
import { KvError } from '../base/errors.js';
import { atStep, isGivenUp } from '../base/steps.js';

export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();
  #inside = 0;

  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside++ > 0) atStep('waiting for an earlier request that is still under way');
    const result = this.#tail.then(work).finally(() => this.#inside--);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** For what somebody waits for. When it was given up meanwhile, the same was asked again, perhaps with another wish: this one is out of date. */
  request<T>(work: () => Promise<T>): Promise<T> {
    return this.run(async () => {
      if (isGivenUp()) throw new KvError('Timeout', 'given up while it waited for an earlier request');
      return work();
    });
  }
}
