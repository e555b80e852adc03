// Lets the guest stand a little longer step by step while a migration does not end: most end with a short stand, only those that need it get the
// longest one allowed. Wraps another watch, whose word goes first. One look at a time; carries nothing out.
import type { DowntimeSteps } from '../../core/migration/options.js';
import type { Action, Look, Watch } from './ladder.js';

export class DowntimeTuning implements Watch {
  readonly #inner: Watch;
  readonly #steps: DowntimeSteps;
  readonly #mostMs: number;
  #nowMs: number | undefined;
  #cooledAtMs: number | undefined;

  constructor(inner: Watch, steps: DowntimeSteps, mostMs: number) {
    this.#inner = inner;
    this.#steps = steps;
    this.#mostMs = mostMs;
  }

  look(look: Look): Action {
    const action = this.#inner.look(look);
    return action.kind === 'nothing' && look.mode === 'PreCopy' ? this.#tune(look) : action;
  }

  #tune({ elapsedMs, iteration = 0 }: Look): Action {
    const { initialMs, steps, startAfterIteration, cooldownMs } = this.#steps;
    if (this.#nowMs === undefined) return this.#set(Math.min(initialMs, this.#mostMs));
    if (iteration < startAfterIteration || this.#nowMs >= this.#mostMs) return { kind: 'nothing' };
    this.#cooledAtMs ??= elapsedMs + cooldownMs;
    if (elapsedMs < this.#cooledAtMs) return { kind: 'nothing' };
    this.#cooledAtMs = elapsedMs + cooldownMs;
    const stepMs = Math.ceil((this.#mostMs - initialMs) / steps);
    return this.#set(Math.min(this.#nowMs + stepMs, this.#mostMs));
  }

  #set(ms: number): Action {
    this.#nowMs = ms;
    return { kind: 'downtime', ms, isEnd: false };
  }
}
