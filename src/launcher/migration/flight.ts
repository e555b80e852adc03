// One migration while it is under way: what it was asked for, who wants its end, and the signal that it is over. Plain state with a bell; source.ts
// and watch.ts share it.
import type { VirtualMachineInstance } from '../../api/index.js';
import { type Clock, sleep } from '../../base/clock.js';
import type { MigrationOptions } from '../../core/migration/options.js';
import type { JobStats } from '../../libvirt/index.js';

export class Flight {
  readonly vmi: VirtualMachineInstance;
  readonly options: MigrationOptions;
  readonly startedAt: number;
  /** Settles when the outcome is written down. */
  landed: Promise<void> = Promise.resolve();
  /** The guest gave devices back for it. */
  hasUnplugged = false;
  /** libvirt's newest figures. */
  figures: JobStats['params'] | undefined;
  /** Why the launcher gave it up. */
  givenUp: string | undefined;
  readonly #over = new AbortController();
  #bell = new AbortController();
  #isCancelled = false;
  #isIteration = false;

  constructor(vmi: VirtualMachineInstance, options: MigrationOptions, now: number) {
    this.vmi = vmi;
    this.options = options;
    this.startedAt = now;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.wake(false);
  }

  /** It came too late: the migration goes on. */
  uncancel(): void {
    this.#isCancelled = false;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  end(): void {
    this.#over.abort();
    this.wake(false);
  }

  wake(isIteration: boolean): void {
    this.#isIteration ||= isIteration;
    this.#bell.abort();
  }

  /** Until the time is over or the bell rings. True when an iteration has begun meanwhile. */
  async rest(clock: Clock, ms: number): Promise<boolean> {
    if (!this.isOver) await sleep(clock, ms, this.#bell.signal);
    this.#bell = new AbortController();
    const isIteration = this.#isIteration;
    this.#isIteration = false;
    return isIteration;
  }
}
