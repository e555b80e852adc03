// The other way to see that a migration gets nowhere: the amount of data that is left each time memory is gone through is compared with the least
// that was left before. Once it stays the same, the switch is made when little is left. One look at a time; carries nothing out.
import type { StallLimits } from '../../core/migration/options.js';
import { type Action, completionMs, type Look, MAX_DOWNTIME_MS, type Migrating, NOTHING, text, type Watch } from './ladder.js';

interface Point {
  readonly atMs: number;
  readonly bytes: number;
}

/** QEMU's own limit at the start. */
const FIRST_DOWNTIME_MS = 300;

const factorText = (reason: string): string => `Migration aborted: ${reason}`;

/** Data left at the iterations: the least within the window and the least before it. */
class Minima {
  readonly #windowMs: number;
  #recent: Point[] = [];
  #before: number | undefined;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  add(point: Point): void {
    const isOld = ({ atMs }: Point): boolean => point.atMs - atMs >= this.#windowMs;
    for (const { bytes } of this.#recent.filter(isOld)) this.#before = Math.min(bytes, this.#before ?? bytes);
    this.#recent = this.#recent.filter((old) => !isOld(old));
    this.#recent.push(point);
  }

  /** undefined while the migration is younger than the window. */
  get before(): number | undefined {
    return this.#before;
  }

  get least(): number {
    return Math.min(this.#before ?? Number.POSITIVE_INFINITY, ...this.#recent.map(({ bytes }) => bytes));
  }
}

/** Since it stalled: what the best was, and how long to wait for it again before less is good enough. */
interface Stall {
  best: number;
  patienceMs: number;
  relaxAtMs: number;
  readonly seen: number[];
}

export class StallDetector implements Watch {
  readonly #migrating: Migrating;
  readonly #limits: StallLimits;
  readonly #minima: Minima;
  #bandwidth = 0;
  #stall: Stall | undefined;
  #last: Point | undefined;
  #hasBegun = false;
  #isSwitching = false;
  /** When the guest must have been switched over, or come to an end. */
  #deadlineMs: number;
  readonly #completionMs: number;

  constructor(migrating: Migrating, limits: StallLimits) {
    this.#migrating = migrating;
    this.#limits = limits;
    this.#minima = new Minima(limits.progressMs);
    this.#completionMs = completionMs(migrating);
    this.#deadlineMs = this.#completionMs;
  }

  look(look: Look): Action {
    if (look.mode === 'PostCopy') return NOTHING;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return { kind: 'downtime', ms: Math.min(this.#migrating.options.maxDowntimeMs, FIRST_DOWNTIME_MS), isEnd: false };
    }
    const action = this.#watch(look);
    return action.kind === 'nothing' ? this.#timeout(look) : action;
  }

  #watch({ elapsedMs, remainingBytes, bytesPerSecond, isIteration, mode }: Look): Action {
    if (remainingBytes === undefined) return NOTHING;
    const point = { atMs: elapsedMs, bytes: remainingBytes };
    if (isIteration || mode === 'Paused') this.#last = point;
    if (!isIteration) {
      if (bytesPerSecond !== undefined) this.#learn(bytesPerSecond);
      return NOTHING;
    }
    if (this.#bandwidth === 0 || this.#isSwitching) return NOTHING;
    return this.#hasStalled(point) ? this.#switchOver(point) : NOTHING;
  }

  #learn(bytesPerSecond: number): void {
    const { alpha } = this.#limits;
    this.#bandwidth = this.#bandwidth === 0 ? bytesPerSecond : alpha * bytesPerSecond + (1 - alpha) * this.#bandwidth;
  }

  #hasStalled(point: Point): boolean {
    const { margin, progressMs, patienceDecay } = this.#limits;
    this.#minima.add(point);
    const stall = this.#stall;
    if (stall === undefined) {
      const { before } = this.#minima;
      if (before === undefined || point.bytes < before * (1 - margin)) return false;
      this.#stall = { best: this.#minima.least, patienceMs: progressMs, relaxAtMs: point.atMs + progressMs, seen: [] };
      return true;
    }
    stall.seen.push(point.bytes);
    if (point.atMs >= stall.relaxAtMs) {
      stall.seen.sort((a, b) => a - b);
      stall.best = stall.seen.shift() ?? stall.best;
      stall.patienceMs *= patienceDecay;
      stall.relaxAtMs = point.atMs + stall.patienceMs;
    }
    return true;
  }

  /** How long the guest would stand if it were stopped now. */
  #standMs({ bytes }: Point): number {
    return this.#bandwidth === 0 ? 0 : (bytes / this.#bandwidth) * 1000;
  }

  /** A network that broke down must not end in a guest that stands for hours. */
  #canFinish(atMs: number, standMs: number): boolean {
    return this.#bandwidth > 0 && (this.#completionMs === 0 || standMs <= this.#completionMs * this.#limits.completionFactor - atMs);
  }

  #switchOver(point: Point): Action {
    const { margin, searchesMinimum, precopyFactor } = this.#limits;
    const { options } = this.#migrating;
    const best = this.#stall?.best ?? point.bytes;
    if (searchesMinimum && point.bytes > best * (1 + margin)) return NOTHING;
    const standMs = this.#standMs(point);
    if (!this.#canFinish(point.atMs, standMs)) return NOTHING;
    if (options.mayDisrupt) return this.#force(point.atMs);
    if (standMs <= options.maxDowntimeMs * precopyFactor) return this.#stopAndCopy(point.atMs, options.maxDowntimeMs, false);
    const factor = (standMs / options.maxDowntimeMs).toFixed(1);
    return {
      kind: 'abort',
      reason: factorText(
        `the guest writes too fast to its memory; it would have to stand for ${Math.round(standMs)} ms, which is ${factor} times the ${options.maxDowntimeMs} ms allowed (maxDowntimeMs). Allow auto-converge, post-copy or workload disruption, or more time`,
      ),
    };
  }

  #force(atMs: number): Action {
    const { options, hasHostDevices } = this.#migrating;
    if (options.postCopy && !hasHostDevices) {
      this.#isSwitching = true;
      return { kind: 'post-copy' };
    }
    return this.#stopAndCopy(atMs, MAX_DOWNTIME_MS, true);
  }

  /** QEMU decides when; it may never come to it. */
  #stopAndCopy(atMs: number, ms: number, isEnd: boolean): Action {
    this.#isSwitching = true;
    this.#deadlineMs = atMs + this.#limits.switchoverMs;
    return { kind: 'downtime', ms, isEnd };
  }

  #timeout({ elapsedMs, mode }: Look): Action {
    const deadline = mode === 'Paused' ? this.#completionMs * this.#limits.completionFactor : this.#deadlineMs;
    if (deadline === 0 || elapsedMs <= deadline) return NOTHING;
    const standMs = this.#last === undefined ? 0 : this.#standMs(this.#last);
    if (!this.#isSwitching && this.#migrating.options.mayDisrupt && this.#canFinish(elapsedMs, standMs)) return this.#force(elapsedMs);
    return { kind: 'abort', reason: text.late(elapsedMs) };
  }
}
