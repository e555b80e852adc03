// The side that a guest leaves by a live migration. The request is answered at once and may be repeated; the report tells how it goes. The
// migration has a connection to libvirt of its own, and so has the loop that watches it. What to do when it does not end is decided by ladder.ts
// and stall-detector.ts; the guest stays here unless it has arrived there.
import { stat } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../../api/index.js';
import { metaTime, sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { deviceName, renderDevice } from '../../core/converter/index.js';
import { readMigrationOptions } from '../../core/migration/options.js';
import type { Domain } from '../../libvirt/index.js';
import { blockDeviceBytes } from '../../linux/block-device.js';
import { isAlive } from '../domain-state.js';
import { readLive } from '../live-update.js';
import type { DomainManager } from '../manager.js';
import type { VmRecord } from '../report.js';
import type { Reporter } from '../reporter.js';
import type { LibvirtSession } from '../session.js';
import { text as launcherText } from '../text.js';
import { functionsToUnplug } from './crossing.js';
import { type Departure, prepareDeparture } from './departure.js';
import { Flight } from './flight.js';
import { ABORT, howItEnded, isUnderWay, outcomeOf, text } from './outcome.js';
import { watchFlight } from './watch.js';

export interface MigrationSourceDeps {
  readonly ctx: Ctx;
  readonly session: Pick<LibvirtSession, 'withDomain' | 'withOwn'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
  readonly manager: Pick<DomainManager, 'exclusively' | 'hotplugHostDevices'>;
  readonly domain: string;
  readonly libvirtVersion: () => number;
  readonly mode: 'session' | 'system';
  /** The guest is frozen, and this launcher will thaw it: where it goes nobody would. */
  readonly owesThaw?: () => boolean;
  /** Bytes behind a disk; replaced in tests. */
  readonly sizeOf?: (path: string) => Promise<bigint>;
}

const UNPLUG_MS = 30_000;
const UNPLUG_POLL_MS = 200;

/** What of a disk will travel: an image's file is as large as what it holds, but for raw ones. */
async function sizeOnDisk(path: string): Promise<bigint> {
  return (await blockDeviceBytes(path)) ?? BigInt((await stat(path)).size);
}

function uidOf({ status }: VirtualMachineInstance): string {
  const state = status?.migrationState;
  const uid = state?.sourceState?.migrationUID ?? state?.migrationUid;
  if (uid === undefined || uid === '') throw new KvError('NotReady', text.noState);
  return uid;
}

function refuseDuringBackup({ status }: VirtualMachineInstance): void {
  const backup = status?.changedBlockTracking?.backupStatus;
  const isRunning = backup !== undefined && backup.completed !== true && backup.failed !== true;
  if (isRunning) throw new KvError('Conflict', text.backup(backup.backupName ?? ''));
}

export class MigrationSource {
  readonly #deps: MigrationSourceDeps;
  #flight: Flight | undefined;

  constructor(deps: MigrationSourceDeps) {
    this.#deps = deps;
  }

  /** Begins the migration, unless it has begun. Each is tried once. */
  async start(vmi: VirtualMachineInstance, rawOptions: unknown): Promise<void> {
    const { record, session, domain, reporter, ctx } = this.#deps;
    const uid = uidOf(vmi);
    refuseDuringBackup(vmi);
    const options = readMigrationOptions(rawOptions);
    if (this.#isKnown(uid)) return;
    if (this.#deps.owesThaw?.()) throw new KvError('NotReady', text.frozen(record.identity.name), { retry: { afterMs: 5_000 } });
    const state = await session.withDomain(domain, (handle) => handle.state());
    if (!state || !isAlive(state)) throw new KvError('NotFound', launcherText.noDomain(record.identity.name));
    if (this.#isKnown(uid)) return;
    record.migration = { uid, startTimestamp: metaTime(ctx.now()), mode: 'PreCopy' };
    const flight = new Flight(vmi, options, ctx.now());
    this.#flight = flight;
    flight.landed = this.#fly(flight);
    await reporter.refresh();
  }

  #isKnown(uid: string): boolean {
    const { migration } = this.#deps.record;
    if (isUnderWay(migration)) {
      if (migration.uid === uid) return true;
      throw new KvError('Conflict', text.other(migration.uid, uid));
    }
    if (migration?.uid !== uid) return false;
    throw new KvError('Conflict', text.over(uid, howItEnded(migration)), { retry: 'never' });
  }

  /** Asks for its end; the report tells whether that came in time. */
  async cancel(): Promise<void> {
    const { record, reporter } = this.#deps;
    if (this.#flight === undefined || !isUnderWay(record.migration)) throw new KvError('Conflict', text.notMigrating, { retry: 'never' });
    if (this.#flight.isCancelled) return;
    this.#flight.cancel();
    record.migration = { ...record.migration, abortStatus: ABORT.aborting };
    await reporter.refresh();
  }

  /** The guest is to end: first it stops travelling. A guest that is on its way by post-copy cannot be stopped any more. */
  async giveUp(): Promise<void> {
    const { record } = this.#deps;
    if (!isUnderWay(record.migration) || record.migration.mode === 'PostCopy') return;
    await this.cancel();
    await this.settled();
  }

  /** QEMU begins to go through the guest's memory once more. */
  iterated(): void {
    this.#flight?.wake(true);
  }

  /** libvirt's newest figures of the migration that is under way. */
  get figures(): Flight['figures'] {
    return isUnderWay(this.#deps.record.migration) ? this.#flight?.figures : undefined;
  }

  /** Resolves when no migration is under way. */
  async settled(): Promise<void> {
    await this.#flight?.landed;
  }

  async #fly(flight: Flight): Promise<void> {
    const { ctx, record, reporter } = this.#deps;
    const uid = record.migration?.uid;
    const failure = await this.#attempt(flight).then(
      () => undefined,
      (err: unknown) => messageOf(err),
    );
    const { isCancelled, givenUp } = flight;
    const ending = {
      isCancelled,
      now: ctx.now(),
      ...(failure === undefined ? {} : { failure }),
      ...(givenUp === undefined ? {} : { givenUp }),
    };
    if (record.migration) record.migration = outcomeOf(record.migration, ending);
    if (failure === undefined) ctx.log.info({ uid, ms: ctx.now() - flight.startedAt }, 'The guest has moved');
    else ctx.log.warn({ uid, reason: failure, givenUp, isCancelled }, 'The guest did not move');
    if (failure !== undefined && flight.hasUnplugged) await this.#plugAgain(flight);
    await reporter.refresh();
  }

  async #attempt(flight: Flight): Promise<void> {
    const { session, domain, manager, record } = this.#deps;
    const departure = await manager.exclusively(() => this.#prepare(flight));
    if (flight.isCancelled) throw new KvError('Conflict', text.aborted);
    const watching = watchFlight(this.#deps, flight, departure);
    try {
      const { uri, params, flags } = departure.crossing;
      const done = await session.withOwn(domain, async (handle) => {
        await handle.migrate(uri, params, flags);
        return true;
      });
      if (done === undefined) throw new KvError('NotFound', launcherText.noDomain(record.identity.name));
    } finally {
      flight.end();
      await watching;
    }
  }

  async #prepare(flight: Flight): Promise<Departure> {
    const { session, domain, record, libvirtVersion, mode, sizeOf = sizeOnDisk } = this.#deps;
    const departure = await session.withDomain(domain, async (handle) => {
      await this.#unplugFunctions(handle, flight);
      return prepareDeparture(handle, { vmi: flight.vmi, options: flight.options, libvirtVersion: libvirtVersion(), mode, sizeOf });
    });
    if (departure === undefined) throw new KvError('NotFound', launcherText.noDomain(record.identity.name));
    return departure;
  }

  /** Their state cannot travel. The guest has other paths, or does without a network until it has arrived. */
  async #unplugFunctions(handle: Domain, flight: Flight): Promise<void> {
    const { ctx } = this.#deps;
    const deadline = ctx.now() + UNPLUG_MS;
    const functions = functionsToUnplug(await readLive(handle));
    for (const device of functions) {
      flight.hasUnplugged = true;
      await handle.detachDevice(renderDevice('hostdev', device), { live: true, config: true });
    }
    while (functions.length > 0) {
      const left = functionsToUnplug(await readLive(handle)).map(deviceName);
      if (left.length === 0) return;
      if (ctx.now() > deadline) {
        throw new KvError('Timeout', `the guest does not let go of ${left.join(', ')}, which cannot move with it`);
      }
      await sleep(ctx.clock, UNPLUG_POLL_MS, ctx.signal);
    }
  }

  async #plugAgain({ vmi }: Flight): Promise<void> {
    const { ctx, manager } = this.#deps;
    await manager.hotplugHostDevices(vmi).catch((err: unknown) => {
      // The node agent plugs them when it synchronises next.
      ctx.log.warn({ reason: messageOf(err) }, 'Cannot give the guest back what it let go of for the migration');
    });
  }
}
