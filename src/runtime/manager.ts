// One process's machinery: shared informers, controllers, events, leader election, in the right order of starting and stopping.
// run() ends only by the caller's signal or by a lost lease; in both cases running reconciles are waited for (10 s); what
// runs longer, or after a lost lease, writes nothing any more.
import type { KubeObject } from '../api/index.js';
import { type Clock, sleep, ticks } from '../base/clock.js';
import { KvError } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Metrics } from '../base/metrics.js';
import { RestClient } from './client.js';
import { QueueController } from './controller.js';
import { QueuedEventRecorder } from './events.js';
import { TimedExpectations } from './expectations.js';
import { SharedInformer } from './informer.js';
import { type LeaderElectionOptions, LeaderElector } from './leader-election.js';
import { resourceName } from './paths.js';
import { type RateLimit, RateLimiter } from './rate-limiter.js';
import type { Transport } from './transport.js';
import type {
  Controller,
  ControllerOptions,
  EventRecorder,
  Expectations,
  Informer,
  InformerScope,
  KubeClient,
  Manager,
  Resource,
} from './types.js';

export interface ManagerOptions {
  /** Process name, e.g. virt-controller: user agent and log component. */
  readonly name: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Metrics;
  readonly random?: () => number;
  /** Default: upstream's 200/400. */
  readonly limit?: RateLimit;
  readonly leaderElection?: LeaderElectionOptions;
  /** Host name for events' source. */
  readonly host?: string;
  /** See WatchOptions; for tests. */
  readonly watch?: { readonly serverTimeoutMs?: number; readonly clientTimeoutMs?: number };
}

export const CONTROLLER_LIMIT: RateLimit = { qps: 200, burst: 400 };
export const HANDLER_LIMIT: RateLimit = { qps: 50, burst: 100 };

/** Shorter than a lease lives without renewal: by then another process may lead, and what still runs here may not write. */
const DRAIN_MS = 10_000;
/** A bookmark comes about once a minute and a watch lives five: longer silence means that the API server is lost to us. */
const SILENT_MS = 10 * 60_000;

export class RuntimeManager implements Manager {
  readonly client: KubeClient;
  readonly #client: RestClient;
  readonly #options: ManagerOptions;
  readonly #informers = new Map<string, SharedInformer<KubeObject>>();
  readonly #controllers: QueueController[] = [];
  readonly #work: Promise<void>[] = [];
  readonly #elector: LeaderElector | undefined;
  #signal: AbortSignal | undefined;
  #isWorking = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { transport, clock, metrics, name, log, random, leaderElection } = options;
    const rest = { transport, clock, userAgent: name, ...(metrics ? { metrics } : {}) };
    this.#client = new RestClient({ ...rest, limiter: new RateLimiter(options.limit ?? CONTROLLER_LIMIT, clock) });
    this.client = this.#client;
    if (leaderElection) {
      // An own client: renewals neither wait behind our other requests nor are they refused after a loss.
      const client = new RestClient({ ...rest, timeoutMs: leaderElection.renewDeadlineMs ?? 10_000 });
      this.#elector = new LeaderElector(leaderElection, { client, clock, log, ...(random ? { random } : {}) });
    }
  }

  informer<T extends KubeObject>(resource: Resource<T>, options: InformerScope = {}): Informer<T> {
    const { namespace = '', labelSelector = '', fieldSelector = '', whenServed = false } = options;
    const id = [resourceName(resource), resource.version, namespace, labelSelector, fieldSelector].join('|');
    const known = this.#informers.get(id);
    if (known) return known as unknown as SharedInformer<T>;
    const { clock, log, random, watch } = this.#options;
    const informer = new SharedInformer<T>({
      resource,
      list: options,
      whenServed,
      client: this.#client,
      clock,
      log,
      ...watch,
      ...(random ? { random } : {}),
    });
    this.#informers.set(id, informer as unknown as SharedInformer<KubeObject>);
    if (this.#signal && !this.#signal.aborted) this.#work.push(informer.run(this.#signal));
    return informer;
  }

  controller(options: ControllerOptions): Controller {
    const { clock, log, metrics, random } = this.#options;
    const controller = new QueueController(options, { clock, log, ...(metrics ? { metrics } : {}), ...(random ? { random } : {}) });
    this.#controllers.push(controller);
    if (this.#isWorking && this.#signal) this.#work.push(controller.run(this.#signal));
    return controller;
  }

  events(component: string): EventRecorder {
    const { clock, log, host } = this.#options;
    return new QueuedEventRecorder({ component, client: this.#client, clock, log, ...(host ? { host } : {}) });
  }

  newExpectations(): Expectations {
    return new TimedExpectations(this.#options.clock);
  }

  isLeader(): boolean {
    return this.#elector ? this.#elector.isLeader() : this.#isWorking;
  }

  hasSynced(): boolean {
    return [...this.#informers.values()].every((informer) => informer.whenServed || informer.hasSynced());
  }

  problems(): readonly string[] {
    const now = ticks(this.#options.clock);
    return [...this.#informers.values()]
      .filter(({ lastContactAt }) => now - lastContactAt > SILENT_MS)
      .map(({ resource, lastContactAt }) => `nothing heard of ${resourceName(resource)} for ${Math.round((now - lastContactAt) / 1000)} s`);
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#signal) throw new KvError('Internal', `${this.#options.name}: run() was called twice`);
    const stop = new AbortController();
    const all = AbortSignal.any([signal, stop.signal]);
    this.#signal = all;
    const informers = [...this.#informers.values()];
    for (const informer of informers) this.#work.push(informer.run(all));
    let failure: unknown;
    try {
      const awaited = informers.filter(({ whenServed }) => !whenServed);
      await Promise.race([Promise.all(awaited.map(({ synced }) => synced)), aborted(all)]);
      if (!all.aborted && (await this.#lead(all))) await this.#workUntilStopped(all);
    } catch (err) {
      failure = err;
      this.#client.refuseWrites('this process is no longer the leader');
    }
    this.#isWorking = false;
    stop.abort();
    await this.#drain();
    if (failure !== undefined) throw failure;
    await this.#elector?.release();
  }

  #lead(signal: AbortSignal): Promise<boolean> {
    return this.#elector ? this.#elector.acquire(signal) : Promise.resolve(true);
  }

  async #workUntilStopped(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    for (const controller of this.#controllers) this.#work.push(controller.run(signal));
    this.#options.log.info({ controllers: this.#controllers.map(({ name }) => name) }, 'Controllers are running');
    await (this.#elector ? this.#elector.hold(signal) : aborted(signal));
  }

  async #drain(): Promise<void> {
    for (const controller of this.#controllers) controller.stop();
    const finished = new AbortController();
    const done = Promise.all(this.#work).then(() => true);
    const inTime = await Promise.race([done, sleep(this.#options.clock, DRAIN_MS, finished.signal).then(() => false)]);
    finished.abort();
    if (inTime) return;
    this.#client.refuseWrites('this process has stopped');
    this.#options.log.warn({ afterMs: DRAIN_MS }, 'Stopping with reconciles still running');
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
