// The side to which a guest comes by a live migration. Its disks, network and sockets are made ready, then libvirt takes it in by itself; this
// follows the arrival and tells it. A target is used once: when the guest does not come, or not whole, the launcher ends.
import { mkdir, rm, stat, truncate } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../../api/index.js';
import { PLUGIN_FAILED } from '../../api/reasons.js';
import { metaTime, sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { atStep } from '../../base/steps.js';
import { describeLive, readDomain } from '../../core/converter/index.js';
import { channelSocket, MIGRATION_SOCKETS_DIR } from '../../core/migration/channels.js';
import type { StateReport } from '../../libvirt/index.js';
import type { Run } from '../../linux/exec.js';
import type { VmiOptions } from '../../rpc/index.js';
import type { DhcpServers } from '../dhcp/server.js';
import { hasStopped } from '../domain-state.js';
import { applyHooks } from '../hooks/apply.js';
import type { Hooks } from '../hooks/hooks.js';
import { pluginHooks, pluginsOf } from '../hooks/plugins.js';
import type { Lifecycle } from '../lifecycle.js';
import type { DomainManager } from '../manager.js';
import { prepareDomain } from '../prepare/domain.js';
import type { FactSources } from '../prepare/facts.js';
import { readResolvConf, servedInterfaces } from '../prepare/network.js';
import { lastQemuWords } from '../qemu-log.js';
import type { VmRecord } from '../report.js';
import type { Reporter } from '../reporter.js';
import type { LibvirtSession } from '../session.js';
import { text as launcherText } from '../text.js';
import { hasArrived, interfacesToRelink, isPausedByUser, misfits, relinked } from './arrival.js';
import { text } from './outcome.js';

export interface MigrationTargetDeps {
  readonly ctx: Ctx;
  readonly session: Pick<LibvirtSession, 'withDomain'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'devicesChanged' | 'refresh' | 'warn'>;
  readonly manager: Pick<DomainManager, 'exclusively' | 'takeOver'>;
  readonly lifecycle: Pick<Lifecycle, 'correctGuestTime'>;
  readonly domain: string;
  readonly run: Run;
  readonly sources: FactSources;
  readonly dhcp: Pick<DhcpServers, 'serve'>;
  readonly hooks?: Hooks;
  /** Name of this pod, where it is known. */
  readonly podName: string | undefined;
  /** Reads what events told before anybody listened: the guest agent may be connected already. */
  readonly catchUp: () => Promise<void>;
  readonly qemuLogDir: string;
  /** Both replaced in tests. */
  readonly prepare?: typeof prepareDomain;
  readonly makeRoom?: typeof makeRoomForSockets;
}

const POLL_MS = 100;
/** Some guests overlook a link that comes back at once. */
const RELINK_MS = 100;
const DEFAULT_GRACE_SECONDS = 30;
const ANSWER_MS = 200;

export class MigrationTarget {
  readonly #deps: MigrationTargetDeps;
  readonly #dismissed = Promise.withResolvers<void>();
  #isFollowing = false;
  #preparedAt: number | undefined;

  constructor(deps: MigrationTargetDeps) {
    this.#deps = deps;
  }

  /** Resolves when this pod is not needed any more: its guest did not come. */
  get dismissed(): Promise<void> {
    return this.#dismissed.promise;
  }

  /** When it was last made ready; undefined in a pod that starts its guest itself. */
  get preparedAt(): number | undefined {
    return this.#preparedAt;
  }

  /** Makes everything ready that the guest finds here. Safe to repeat. */
  sync(vmi: VirtualMachineInstance, sent?: VmiOptions): Promise<void> {
    const { record, manager, ctx } = this.#deps;
    return manager.exclusively(async () => {
      if (record.started) {
        if (this.#preparedAt !== undefined) return;
        throw new KvError('Conflict', text.here(record.identity.name), { retry: 'never' });
      }
      if (record.markedForGracefulShutdown) throw new KvError('Conflict', launcherText.podIsStopping, { retry: 'never' });
      record.isExpected = true;
      record.vmi = vmi;
      record.gracePeriodSeconds = vmi.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
      // It arrives as it left.
      record.userPaused = isPausedByUser(vmi);
      await this.#prepare(vmi, sent);
      this.#preparedAt = ctx.now();
      ctx.log.info({ name: record.identity.name }, 'Ready for the guest to arrive');
    });
  }

  async #prepare(vmi: VirtualMachineInstance, sent: VmiOptions | undefined): Promise<void> {
    const { ctx, run, sources, dhcp, record, hooks, prepare = prepareDomain, makeRoom = makeRoomForSockets } = this.#deps;
    const made = await prepare(ctx, { run, sources, isArriving: true, ...(hooks ? { hooks } : {}) }, vmi, sent);
    // Hooks may have things of their own to make ready; the domain itself comes from the other side.
    const warn = (message: string): void => this.#deps.reporter.warn(PLUGIN_FAILED, message);
    const plugins = pluginHooks(ctx, { vmi, plugins: pluginsOf(sent?.pluginsJson), context: 'MigrationTarget', warn });
    const { prepared, undoings } = await applyHooks({ hooks, plugins }, made, vmi);
    record.undoings = undoings;
    record.prepared = { type: prepared.type, memoryBytes: prepared.memoryBytes, devices: prepared.devices };
    const recorded = misfits(prepared.domain, vmi);
    record.isoSizes = { ...prepared.isoSizes, ...Object.fromEntries(recorded.map(({ name, bytes }) => [name, bytes])) };
    await Promise.all([
      ...recorded.map(({ path, bytes }) => resize(path, bytes)),
      dhcp.serve(vmi, servedInterfaces(vmi, prepared.interfaces), readResolvConf),
    ]);
    atStep('making room for the sockets of the migration');
    await makeRoom(record.identity.uid);
  }

  /** libvirt says something about the domain: perhaps that it begins to arrive. */
  noticed(): void {
    const { record, manager } = this.#deps;
    if (!record.isExpected || this.#isFollowing) return;
    this.#isFollowing = true;
    record.started = true;
    manager.takeOver();
    void this.#follow();
  }

  async #follow(): Promise<void> {
    const { ctx, reporter, record } = this.#deps;
    await reporter.devicesChanged();
    for (;;) {
      const step = await this.#step().catch((err: unknown) => {
        // libvirt is away, or just about to forget the domain; the next look tells.
        ctx.log.debug({ reason: messageOf(err) }, 'Cannot follow the arrival of the guest');
        return 'underway' as const;
      });
      if (step === 'gone') return this.#lost();
      if (step === 'arrived') break;
      await sleep(ctx.clock, POLL_MS, ctx.signal);
      if (ctx.signal.aborted) return;
    }
    record.isExpected = false;
    await this.#welcome();
  }

  async #step(): Promise<'underway' | 'arrived' | 'gone'> {
    const { session, domain } = this.#deps;
    const step = await session.withDomain(domain, async (handle) => {
      const state = await handle.state();
      if (hasStopped(state)) return 'gone';
      if (!hasArrived(state)) return 'underway';
      // It may run already and still be missing some of its memory: the job tells. While it lasts, only the source has figures.
      return (await handle.jobStats()).type === 'none' ? 'arrived' : 'underway';
    });
    return step ?? 'gone';
  }

  async #lost(): Promise<void> {
    const { ctx, reporter, record, domain, qemuLogDir } = this.#deps;
    const qemu = await lastQemuWords(qemuLogDir, domain);
    ctx.log.warn({ name: record.identity.name, ...(qemu === '' ? {} : { qemu }) }, 'The guest did not arrive');
    await reporter.refresh();
  }

  async #welcome(): Promise<void> {
    const { ctx, session, domain, record, catchUp } = this.#deps;
    const xml = await session.withDomain(domain, (handle) => handle.xml()).catch(() => undefined);
    const { machineType } = xml === undefined ? {} : describeLive(readDomain(xml));
    if (machineType !== undefined) record.machineType = machineType;
    const state = record.vmi?.status?.migrationState;
    const uid = state?.targetState?.migrationUID ?? state?.migrationUid ?? '';
    record.migration = { uid, endTimestamp: metaTime(ctx.now()), completed: true };
    ctx.log.info({ name: record.identity.name, uid }, 'The guest has arrived');
    // Tells the node agent as well.
    await catchUp();
  }

  /** What remains to be done in a guest that has arrived. Safe to repeat. */
  async finalize(vmi: VirtualMachineInstance, sent?: VmiOptions): Promise<void> {
    const { record, session, domain, manager, lifecycle, reporter } = this.#deps;
    const isHere = await manager.exclusively(() =>
      session.withDomain(domain, async (handle) => {
        const state = await handle.state();
        if (!hasArrived(state) || record.isExpected) return false;
        record.vmi = vmi;
        await this.#relink(sent);
        if (state.state === 'paused' && state.reason === 'user' && !record.userPaused) await handle.resume();
        return true;
      }),
    );
    if (isHere !== true) throw new KvError('NotReady', text.notHere(record.identity.name), { retry: { afterMs: 1_000 } });
    lifecycle.correctGuestTime();
    await reporter.refresh();
  }

  /** Interfaces whose plugin wants the guest to ask for its address anew. */
  async #relink(sent: VmiOptions | undefined): Promise<void> {
    const { session, domain, ctx } = this.#deps;
    const names = interfacesToRelink(sent);
    if (names.size === 0) return;
    await session.withDomain(domain, async (handle) => {
      for (const { down, up } of relinked(readDomain(await handle.xml()), names)) {
        await handle.updateDevice(down, { live: true, config: true });
        await sleep(ctx.clock, RELINK_MS, ctx.signal);
        await handle.updateDevice(up, { live: true, config: true });
      }
    });
  }

  /** This pod's guest will not come: the launcher ends. A word for another pod is not heard. */
  async dismiss(vmi: VirtualMachineInstance): Promise<void> {
    const { record, session, domain, ctx } = this.#deps;
    if (!this.#isMeant(vmi)) return;
    const state = await session.withDomain(domain, (handle) => handle.state());
    if (this.#hasGuest(state)) throw new KvError('Conflict', text.here(record.identity.name), { retry: 'never' });
    ctx.log.info({ name: record.identity.name }, 'The guest is not to come here any more');
    // What has come of it so far.
    if (state !== undefined && !hasStopped(state)) await session.withDomain(domain, (handle) => handle.destroy());
    // With the launcher its command socket goes; the caller shall hear the answer first.
    ctx.clock.after(ANSWER_MS, () => this.#dismissed.resolve());
  }

  #isMeant({ status }: VirtualMachineInstance): boolean {
    const { podName } = this.#deps;
    const meant = status?.migrationState?.targetPod;
    return podName === undefined || meant === undefined || meant === podName;
  }

  /** Its own, or one that has come. */
  #hasGuest(state: StateReport | undefined): boolean {
    const isOwn = this.#deps.record.started && this.#preparedAt === undefined;
    return isOwn || (state !== undefined && hasArrived(state));
  }
}

/** QEMU makes the sockets; what an earlier try left would look as if it listened. */
async function makeRoomForSockets(uid: string): Promise<void> {
  await mkdir(MIGRATION_SOCKETS_DIR, { recursive: true });
  for (const channel of ['memory', 'disks'] as const) await rm(channelSocket(uid, channel), { force: true });
}

/** An image gets the size that the source has: copies fit only then. Its contents come from there. */
async function resize(path: string, bytes: number): Promise<void> {
  const { size } = await stat(path);
  if (size !== bytes) await truncate(path, bytes);
}
