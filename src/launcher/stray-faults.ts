// What becomes of a fault that no caller hears: an error of a socket without a listener, a promise that nobody waited for. Before the guest runs the
// launcher ends with it, and the pod says why; afterwards the guest, which such a fault seldom concerns, is worth more than a tidy end.
import type { Logger } from '../base/logger.js';

export class StrayFaults {
  readonly #log: Logger;
  readonly #end: (err: unknown) => void;
  #hasGuest = false;

  constructor(log: Logger, end: (err: unknown) => void) {
    this.#log = log;
    this.#end = end;
  }

  /** There is a guest that would be lost. */
  guestRuns(): void {
    this.#hasGuest = true;
  }

  readonly hear = (err: unknown): void => {
    if (this.#hasGuest) this.#log.error({ err }, 'A fault in virt-launcher that nobody handled; its guest goes on');
    else this.#end(err);
  };
}
