// Leader election by a Lease: who holds it works, the others wait with warm caches. Times of other holders are never compared with
// our clock: a lease is free when *we* have seen no change of it for its whole duration, which no wall clock measures. Who cannot renew in
// time, or learns that another one holds it, must stop: hold() ends, and the process with it.
import { type Lease, splitKey } from '../api/index.js';
import { type Clock, microTime, sleep, ticks } from '../base/clock.js';
import { hasCode, KvError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { LEASES } from './resources.js';
import type { KubeClient } from './types.js';

export interface LeaderElectionOptions {
  /** namespace/name of the Lease. */
  readonly lease: string;
  /** Unique per process: pod name. */
  readonly identity: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
}

export interface LeaderElectionDeps {
  /** Should not be throttled: a late renewal costs the leadership. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

const JITTER = 1.2;

export class LeaderElector {
  readonly #lease: string;
  readonly #identity: string;
  readonly #durationMs: number;
  readonly #deadlineMs: number;
  readonly #retryMs: number;
  readonly #deps: LeaderElectionDeps;
  #observed: { readonly version: string | undefined; readonly at: number } | undefined;
  #held: Lease | undefined;
  /** Who held it when we were too late. */
  #holder: string | undefined;

  constructor(options: LeaderElectionOptions, deps: LeaderElectionDeps) {
    this.#lease = options.lease;
    this.#identity = options.identity;
    this.#durationMs = options.leaseDurationMs ?? 15_000;
    this.#deadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryMs = options.retryPeriodMs ?? 2_000;
    this.#deps = deps;
  }

  isLeader(): boolean {
    return this.#held !== undefined;
  }

  /** Resolves true when we hold the lease, false when the signal aborted before. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, log, random = Math.random } = this.#deps;
    log.info({ lease: this.#lease, identity: this.#identity }, 'Waiting to become the leader');
    while (!signal.aborted) {
      try {
        if (await this.#tryAcquire()) {
          log.info({ lease: this.#lease, identity: this.#identity }, 'Became the leader');
          return true;
        }
      } catch (err) {
        log.warn({ lease: this.#lease, err: messageOf(err) }, 'Lease not taken; trying again');
      }
      await sleep(clock, this.#retryMs * (1 + (JITTER - 1) * random()), signal);
    }
    return false;
  }

  /** Renews until the signal aborts (resolves) or the lease is lost (rejects). */
  async hold(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let renewedAt = ticks(clock);
    while (!signal.aborted) {
      await sleep(clock, this.#retryMs, signal);
      if (signal.aborted) return;
      const loss = await this.#renewBefore(renewedAt + this.#deadlineMs);
      if (loss !== undefined) {
        this.#held = undefined;
        throw new KvError('Terminal', `lost the lease ${this.#lease}: ${loss}; the process must end`);
      }
      renewedAt = ticks(clock);
    }
  }

  /** Gives the lease back, so that the next leader need not wait for it to expire. */
  async release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    try {
      await this.#deps.client.update(LEASES, { ...held, spec: { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1 } });
    } catch (err) {
      this.#deps.log.warn({ lease: this.#lease, err: messageOf(err) }, 'Lease not released; it expires by itself');
    }
  }

  /** Why not; undefined: it is renewed. */
  async #renewBefore(deadline: number): Promise<string | undefined> {
    const { clock, log } = this.#deps;
    const late = `not renewed within ${this.#deadlineMs / 1000} s`;
    for (;;) {
      const attempt = this.#tryAcquire().then(
        (isOurs) => (isOurs ? 'renewed' : 'lost'),
        (err: unknown) => {
          log.warn({ lease: this.#lease, err: messageOf(err) }, 'Lease not renewed');
          return 'failed';
        },
      );
      // An answer that comes after the deadline is worth nothing: another process may hold the lease by then.
      const outcome = await raced(clock, deadline - ticks(clock), attempt);
      if (outcome === 'renewed') return undefined;
      // Whoever has it works already, or has worked meanwhile: what we have planned is out of date.
      if (outcome === 'lost') return this.#holder ? `${this.#holder} holds it now` : 'somebody else has had it';
      if (outcome === undefined || ticks(clock) + this.#retryMs >= deadline) return late;
      await sleep(clock, this.#retryMs);
    }
  }

  async #tryAcquire(): Promise<boolean> {
    const { client, clock } = this.#deps;
    const now = clock.now();
    const current = this.#held ?? (await client.find(LEASES, this.#lease));
    if (!current) {
      this.#held = await client.create(LEASES, this.#fresh(now));
      return true;
    }
    if (current !== this.#held && !this.#isFree(current, ticks(clock))) return false;
    try {
      this.#held = await client.update(LEASES, this.#taken(current, now));
      return true;
    } catch (err) {
      // Somebody wrote it meanwhile: read it before the next try, and see who holds it.
      if (hasCode(err, 'Conflict', 'NotFound')) return await this.#afterConflict();
      throw err;
    }
  }

  async #afterConflict(): Promise<boolean> {
    const current = await this.#deps.client.find(LEASES, this.#lease);
    this.#holder = current?.spec?.holderIdentity;
    const ours = this.#holder === this.#identity;
    this.#held = ours ? current : undefined;
    return ours;
  }

  #isFree(lease: Lease, now: number): boolean {
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === this.#identity) return true;
    const version = lease.metadata.resourceVersion;
    if (!this.#observed || this.#observed.version !== version) this.#observed = { version, at: now };
    return now - this.#observed.at >= (leaseDurationSeconds ?? this.#durationMs / 1000) * 1000;
  }

  #fresh(now: number): Lease {
    const { namespace, name } = splitKey(this.#lease);
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, ...(namespace ? { namespace } : {}) },
      spec: { ...this.#spec(now), acquireTime: microTime(now), leaseTransitions: 0 },
    };
  }

  #taken(lease: Lease, now: number): Lease {
    const isOurs = lease.spec?.holderIdentity === this.#identity;
    const taken = isOurs ? {} : { acquireTime: microTime(now), leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 };
    return { ...lease, spec: { ...lease.spec, ...this.#spec(now), ...taken } };
  }

  #spec(now: number): { holderIdentity: string; leaseDurationSeconds: number; renewTime: string } {
    return { holderIdentity: this.#identity, leaseDurationSeconds: this.#durationMs / 1000, renewTime: microTime(now) };
  }
}

/** The value, or undefined when `ms` pass first. */
async function raced<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  let cancel: () => void = () => undefined;
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(Math.max(0, ms), () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
