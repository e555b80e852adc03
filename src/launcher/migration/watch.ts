// Watches one migration: reads libvirt's figures every 400 ms and carries out what the ladder decides, or what somebody asked for. On a connection
// of its own: the migration's is busy until it ends, and the launcher's other calls may have to wait for it.
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import { type Domain, isLibvirtError, type JobStats } from '../../libvirt/index.js';
import type { VmRecord } from '../report.js';
import type { Reporter } from '../reporter.js';
import type { LibvirtSession } from '../session.js';
import type { Departure } from './departure.js';
import { DowntimeTuning } from './downtime-tuning.js';
import type { Flight } from './flight.js';
import { type Action, Ladder, type Look, type Migrating, type Watch } from './ladder.js';
import { ABORT, isUnderWay } from './outcome.js';
import { StallDetector } from './stall-detector.js';

interface Deps {
  readonly ctx: Ctx;
  readonly session: Pick<LibvirtSession, 'withOwn'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
  readonly domain: string;
}

const PERIOD_MS = 400;
const LOG_EVERY = 10;

function watchOf(migrating: Migrating): Watch {
  const { stall, downtime, maxDowntimeMs } = migrating.options;
  if (stall) return new StallDetector(migrating, stall);
  const ladder = new Ladder(migrating);
  return downtime ? new DowntimeTuning(ladder, downtime, maxDowntimeMs) : ladder;
}

const numberAt = ({ params }: JobStats, key: string): number | undefined => {
  const value = params.get(key);
  return typeof value === 'number' ? value : undefined;
};

const given = <K extends string>(key: K, value: number | undefined): { [P in K]?: number } =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: number };

class FlightWatch {
  readonly #deps: Deps;
  readonly #flight: Flight;
  readonly #watch: Watch;
  readonly #maxDowntimeMs: number;
  #looks = 0;
  #isAborted = false;

  constructor(deps: Deps, flight: Flight, { bytes, hasHostDevices }: Departure) {
    this.#deps = deps;
    this.#flight = flight;
    this.#watch = watchOf({ options: flight.options, bytes, hasHostDevices });
    this.#maxDowntimeMs = flight.options.stall || flight.options.downtime ? 0 : flight.options.maxDowntimeMs;
  }

  async run(handle: Domain): Promise<void> {
    // QEMU keeps it for the migrations that follow; the watches that set it themselves do so when they look first.
    if (this.#maxDowntimeMs > 0) await this.#try('limit the downtime', () => handle.setMaxDowntime(this.#maxDowntimeMs));
    while (!this.#flight.isOver) {
      const isIteration = await this.#flight.rest(this.#deps.ctx.clock, PERIOD_MS);
      if (this.#flight.isOver) return;
      await this.#look(handle, isIteration);
    }
  }

  async #look(handle: Domain, isIteration: boolean): Promise<void> {
    if (this.#flight.isCancelled) return this.#cancel(handle);
    if (this.#isAborted) return;
    const stats = await this.#try('follow the migration', () => handle.jobStats());
    if (stats?.type !== 'unbounded') return;
    this.#flight.figures = stats.params;
    await this.#notePause(handle);
    const look = this.#lookOf(stats, isIteration);
    if (this.#looks++ % LOG_EVERY === 0) this.#deps.ctx.log.info({ ...look }, 'Migrating');
    await this.#act(handle, this.#watch.look(look));
  }

  #lookOf(stats: JobStats, isIteration: boolean): Look {
    const { ctx, record } = this.#deps;
    return {
      elapsedMs: ctx.now() - this.#flight.startedAt,
      mode: record.migration?.mode ?? 'PreCopy',
      isIteration,
      ...given('remainingBytes', numberAt(stats, 'data_remaining')),
      ...given('iteration', numberAt(stats, 'memory_iteration')),
      ...given('bytesPerSecond', numberAt(stats, 'memory_bps')),
    };
  }

  /** QEMU has stopped the guest by itself, as it may now. */
  async #notePause(handle: Domain): Promise<void> {
    if (this.#flight.options.stall === undefined || this.#deps.record.migration?.mode !== 'PreCopy') return;
    const state = await this.#try('read the state', () => handle.state());
    if (state?.state === 'paused' && state.reason === 'migration') await this.#enter('Paused');
  }

  async #act(handle: Domain, action: Action): Promise<void> {
    switch (action.kind) {
      case 'nothing':
        return;
      case 'post-copy':
        return this.#switchTo('PostCopy', 'start post-copy', () => handle.startPostCopy());
      case 'pause':
        return this.#switchTo('Paused', 'pause the guest', () => handle.suspend());
      case 'downtime':
        return this.#switchTo(action.isEnd ? 'Paused' : undefined, 'set the downtime', () => handle.setMaxDowntime(action.ms));
      case 'abort':
        this.#isAborted = await this.#done('abort', () => handle.abortJob());
        if (this.#isAborted) this.#flight.givenUp = action.reason;
    }
  }

  async #switchTo(mode: Look['mode'] | undefined, what: string, work: () => Promise<void>): Promise<void> {
    if ((await this.#done(what, work)) && mode !== undefined) await this.#enter(mode);
  }

  async #enter(mode: Look['mode']): Promise<void> {
    const { record, reporter } = this.#deps;
    if (record.migration) record.migration = { ...record.migration, mode };
    await reporter.refresh();
  }

  async #cancel(handle: Domain): Promise<void> {
    if (this.#isAborted) return;
    try {
      await handle.abortJob();
      this.#isAborted = true;
    } catch (err) {
      // The job has not begun, or is at its last step; the next look tells.
      if (isLibvirtError(err, 'operationInvalid') && this.#deps.record.migration?.mode !== 'PostCopy') return;
      this.#deps.ctx.log.warn({ reason: messageOf(err) }, 'Cannot cancel the migration; it goes on');
      this.#flight.uncancel();
      const { record, reporter } = this.#deps;
      if (isUnderWay(record.migration)) record.migration = { ...record.migration, abortStatus: ABORT.failed };
      await reporter.refresh();
    }
  }

  /** A step that fails is tried again at the next look. */
  async #try<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (err) {
      if (!this.#flight.isOver) this.#deps.ctx.log.warn({ what, reason: messageOf(err) }, 'A step of the migration failed');
      return undefined;
    }
  }

  async #done(what: string, work: () => Promise<void>): Promise<boolean> {
    this.#deps.ctx.log.info({ what }, 'Helping the migration to its end');
    return (
      (await this.#try(what, async () => {
        await work();
        return true;
      })) === true
    );
  }
}

/** Resolves when the flight is over. Never rejects: without it the migration goes on, only unwatched. */
export async function watchFlight(deps: Deps, flight: Flight, departure: Departure): Promise<void> {
  try {
    await deps.session.withOwn(deps.domain, (handle) => new FlightWatch(deps, flight, departure).run(handle));
  } catch (err) {
    deps.ctx.log.error({ reason: messageOf(err) }, 'Cannot watch the migration; it ends by itself or not at all');
  }
}
