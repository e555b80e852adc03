// One connection's calls, one after the other, each paired with the error libvirt reported meanwhile. A call that libvirt never answers cannot
// be taken back; those behind it wait for a limited time, say for what they waited, and are then never made.
// Used by connection.ts and domain.ts; knows no particular call.
import { KvError } from '../base/errors.js';
import { atStep } from '../base/steps.js';
import { type ErrorCapture, libvirtError } from './error.js';

/** How libvirt says "failed": −1 or a null pointer. */
const hasFailed = (value: unknown): boolean => value === null || value === undefined || (typeof value === 'number' && value < 0);

/** Longer than anything but a job that gets a connection of its own. */
const PATIENCE_MS = 60_000;

interface Turn {
  state: 'waiting' | 'begun' | 'given up';
}

export class Caller {
  readonly #errors: ErrorCapture;
  readonly #patienceMs: number;
  #tail: Promise<unknown> = Promise.resolve();
  #closed: string | undefined;
  /** What libvirt was asked and has not answered yet. */
  #busyWith: string | undefined;
  #calls = 0;

  constructor(errors: ErrorCapture, patienceMs = PATIENCE_MS) {
    this.#errors = errors;
    this.#patienceMs = patienceMs;
  }

  /** From now on every call fails with this reason. */
  refuse(reason: string): void {
    this.#closed ??= reason;
  }

  /** Runs `work` when the calls before it are done; a failed result becomes a KvError 'Libvirt' that starts with `what`. */
  call<T>(what: string, work: () => Promise<T>): Promise<NonNullable<T>> {
    const turn: Turn = { state: 'waiting' };
    const mustWait = this.#calls++ > 0;
    atStep(mustWait && this.#busyWith !== undefined ? `${stepOf(what)}, behind ${stepOf(this.#busyWith)}` : stepOf(what));
    const run = this.#tail.then(() => this.#run(what, work, turn)).finally(() => this.#calls--);
    this.#tail = run.catch(() => undefined);
    return mustWait ? this.#patiently(what, run, turn) : run;
  }

  async #run<T>(what: string, work: () => Promise<T>, turn: Turn): Promise<NonNullable<T>> {
    if (turn.state === 'given up') throw new KvError('Timeout', `${what}: given up while waiting`);
    turn.state = 'begun';
    if (this.#closed !== undefined) throw new KvError('Libvirt', `${what}: ${this.#closed}`);
    atStep(stepOf(what));
    this.#busyWith = what;
    this.#errors.clear();
    try {
      const value = await work();
      if (hasFailed(value)) throw libvirtError(what, this.#errors.take());
      return value as NonNullable<T>;
    } finally {
      this.#busyWith = undefined;
    }
  }

  /** Gives up a call whose turn does not come. One that was made is waited for. */
  #patiently<T>(what: string, run: Promise<T>, turn: Turn): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (turn.state !== 'waiting') return;
        turn.state = 'given up';
        const behind = this.#busyWith === undefined ? '' : ` (it is asked to ${stepOf(this.#busyWith)})`;
        reject(new KvError('Timeout', `${what}: libvirt did not come to it within ${this.#patienceMs / 1000} s${behind}`));
      }, this.#patienceMs);
      run.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** Waits for the calls made so far. */
  async settle(): Promise<void> {
    await this.#tail;
  }
}

/** "cannot read the XML of domain x" → "read the XML of domain x". */
const stepOf = (what: string): string => what.replace(/^cannot /, '');
