// One connection's calls, one after the other, each paired with the error libvirt reported meanwhile.
// Used by connection.ts and domain.ts; knows no particular call.
import { KvError } from '../base/errors.js';
import { type ErrorCapture, libvirtError } from './error.js';

/** How libvirt says "failed": −1 or a null pointer. */
const hasFailed = (value: unknown): boolean => value === null || value === undefined || (typeof value === 'number' && value < 0);

export class Caller {
  readonly #errors: ErrorCapture;
  #tail: Promise<unknown> = Promise.resolve();
  #closed: string | undefined;

  constructor(errors: ErrorCapture) {
    this.#errors = errors;
  }

  /** From now on every call fails with this reason. */
  refuse(reason: string): void {
    this.#closed ??= reason;
  }

  /** Runs `work` when the calls before it are done; a failed result becomes a KvError 'Libvirt' that starts with `what`. */
  call<T>(what: string, work: () => Promise<T>): Promise<NonNullable<T>> {
    const run = this.#tail.then(() => this.#run(what, work));
    this.#tail = run.catch(() => undefined);
    return run;
  }

  async #run<T>(what: string, work: () => Promise<T>): Promise<NonNullable<T>> {
    if (this.#closed !== undefined) throw new KvError('Libvirt', `${what}: ${this.#closed}`);
    this.#errors.clear();
    const value = await work();
    if (hasFailed(value)) throw libvirtError(what, this.#errors.take());
    return value as NonNullable<T>;
  }

  /** Waits for the calls made so far. */
  async settle(): Promise<void> {
    await this.#tail;
  }
}
