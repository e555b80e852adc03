// The one place that decides about retries: sources → keys → queue → reconcile → done, later, or back-off. Nothing a reconcile
// throws escapes from here. Made by the manager, one a controller; reconciles never see the event, only the key.
import { type KubeObject, type ObjectKey, splitKey } from '../api/index.js';
import type { Clock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { hasCode, isKvError, messageOf, type Retry } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import type { Controller, ControllerOptions, Next, Source } from './types.js';
import { WorkQueue } from './work-queue.js';

export interface ControllerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Metrics;
  readonly random?: () => number;
}

export class QueueController implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #deps: ControllerDeps;
  readonly #log: Logger;
  readonly #queue: WorkQueue;
  #runs = 0;

  constructor(options: ControllerOptions, deps: ControllerDeps) {
    this.name = options.name;
    this.#options = options;
    this.#deps = deps;
    this.#log = deps.log.child({ controller: options.name });
    const metrics = deps.metrics?.queue(options.name, () => this.#queue.running());
    const { maxDelayMs } = options;
    this.#queue = new WorkQueue({ clock: deps.clock, ...(metrics ? { metrics } : {}), ...(maxDelayMs ? { maxDelayMs } : {}) });
    for (const source of options.sources) this.#listen(source);
  }

  enqueue(key: ObjectKey, afterMs = 0): void {
    this.#queue.addAfter(key, afterMs);
  }

  /** Starts the workers; resolves when the signal aborts and the running reconciles have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#queue.stop();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#work(signal)));
    signal.removeEventListener('abort', stop);
  }

  /** Without a run() there are no workers to empty the queue. */
  stop(): void {
    this.#queue.stop();
  }

  #listen(source: Source<KubeObject>): void {
    const add = (object: KubeObject, old?: KubeObject): void => {
      for (const key of source.keys(object, old)) this.#queue.add(key);
    };
    source.informer.on({ added: (object) => add(object), updated: add, deleted: (object) => add(object) });
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.next();
      if (key === undefined) return;
      await this.#reconcile(key, signal);
      this.#queue.done(key);
    }
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { namespace, name } = splitKey(key);
    const log = this.#log.child({ reconcileId: this.#nextId(), namespace, name });
    try {
      const next = await this.#options.reconcile(key, makeCtx(signal, log, this.#deps.clock));
      this.#queue.forget(key);
      this.#later(key, next, log);
    } catch (err) {
      if (signal.aborted) return;
      this.#failed(key, err, log);
    }
  }

  #later(key: ObjectKey, next: Next, log: Logger): void {
    if (!next) return;
    log.debug({ afterMs: next.afterMs, why: next.why }, 'Looking again later');
    this.#queue.addAfter(key, next.afterMs);
  }

  #failed(key: ObjectKey, err: unknown, log: Logger): void {
    const retry: Retry = isKvError(err) ? err.retry : 'backoff';
    if (retry === 'never') {
      this.#queue.forget(key);
      log.error({ err: err as Error }, 'Reconcile failed for good; only a change of the object starts it again');
      return;
    }
    if (typeof retry === 'object') {
      this.#queue.addAfter(key, retry.afterMs);
      log.info({ err: messageOf(err), afterMs: retry.afterMs }, 'Reconcile waits');
      return;
    }
    const failures = this.#queue.failures(key) + 1;
    const waitMs = this.#queue.retry(key);
    // Somebody was faster than us: everyday business under optimistic locking.
    if (hasCode(err, 'Conflict', 'AlreadyExists')) log.debug({ err: messageOf(err), waitMs }, 'Reconcile lost a race; trying again');
    else log.error({ err: isKvError(err) ? messageOf(err) : err, failures, waitMs }, 'Reconcile failed; trying again');
  }

  #nextId(): string {
    this.#runs++;
    const random = Math.floor((this.#deps.random ?? Math.random)() * 0x1000000);
    return `${random.toString(16).padStart(6, '0')}-${this.#runs}`;
  }
}
