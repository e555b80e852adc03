// The one VM of this pod: brings it to the state the node agent asks for, again and again with the same outcome. Life-cycle commands are
// in lifecycle.ts; reports go through reporter.ts. Never talks to the cluster.

import type { VirtualMachineInstance } from '../api/index.js';
import { PLUGIN_FAILED } from '../api/reasons.js';
import { metaTime } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { isKvError, KvError, messageOf } from '../base/errors.js';
import { describeLive } from '../core/converter/index.js';
import type { Domain, StateReport } from '../libvirt/index.js';
import type { Run } from '../linux/exec.js';
import type { VmiOptions } from '../rpc/index.js';
import type { DhcpServers } from './dhcp/server.js';
import { isAlive } from './domain-state.js';
import type { DownwardMetrics } from './downward-metrics/downward-metrics.js';
import { applyHooks, namingHooks } from './hooks/apply.js';
import type { Hooks } from './hooks/hooks.js';
import { pluginHooks, pluginsOf } from './hooks/plugins.js';
import { plugHostDevices, readLive, type Update, updateDevices, updateMemory, updateVcpus, withKnownTargets } from './live-update.js';
import { isUnderWay, text as migrationText } from './migration/outcome.js';
import { Mutex } from './mutex.js';
import { type PreparedDomain, prepareDomain } from './prepare/domain.js';
import type { FactSources } from './prepare/facts.js';
import { readResolvConf, servedInterfaces } from './prepare/network.js';
import { lastQemuWords, lockedImageOf } from './qemu-log.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

export interface ManagerDeps {
  readonly ctx: Ctx;
  readonly session: LibvirtSession;
  readonly reporter: Reporter;
  readonly record: VmRecord;
  readonly run: Run;
  readonly sources: FactSources;
  readonly dhcp: Pick<DhcpServers, 'serve'>;
  /** Name of the libvirt domain. */
  readonly domain: string;
  readonly qemuLogDir: string;
  readonly metrics?: Pick<DownwardMetrics, 'serve'>;
  readonly hooks?: Hooks;
  /** Makes disks and XML; replaced in tests. */
  readonly prepare?: typeof prepareDomain;
}

/** Pauses that a sync ends, unless the user wishes them. A disk that still fails pauses the guest again. */
const RESUMED: ReadonlySet<string> = new Set(['user', 'io-error']);
const DEFAULT_GRACE_SECONDS = 30;

export class DomainManager {
  readonly #deps: ManagerDeps;
  readonly #mutex = new Mutex();
  readonly #started = Promise.withResolvers<void>();
  #lastError: string | undefined;
  #isStarting = false;
  #startingSince: number | undefined;

  constructor(deps: ManagerDeps) {
    this.#deps = deps;
  }

  /** Resolves when the guest was started for the first time, or began to arrive from elsewhere. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** A guest arrives that another launcher started. */
  takeOver(): void {
    this.#started.resolve();
  }

  /** Why the guest could not be started, if it was tried. */
  get lastError(): string | undefined {
    if (this.#lastError !== undefined || !this.#isStarting) return this.#lastError;
    return text.notEnded(this.#deps.hooks?.waitingFor);
  }

  /** When libvirt was told to start the guest, while it does. */
  get startingSince(): number | undefined {
    return this.#startingSince;
  }

  /** Defines and starts the guest, or makes the running one match; what is right already is left alone. */
  sync(vmi: VirtualMachineInstance, sent?: VmiOptions): Promise<void> {
    return this.#mutex.request(async () => {
      const { record, session, domain, reporter } = this.#deps;
      this.#refuseWhileMoving();
      record.vmi = vmi;
      record.gracePeriodSeconds = vmi.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
      const state = await session.withDomain(domain, (handle) => handle.state());
      if (state && isAlive(state)) {
        // libvirt went away while it started the guest, and has found it again.
        if (!record.started) {
          this.#noteStart();
          await reporter.devicesChanged();
        }
        await this.#goOn(state, vmi, sent);
      }
      // A guest that ended stays ended: its VMI is over, and a new one gets a new pod.
      else if (!record.started) await this.#start(vmi, sent);
      if (record.started) this.#deps.metrics?.serve(vmi);
    });
  }

  async #start(vmi: VirtualMachineInstance, sent: VmiOptions | undefined): Promise<void> {
    const { record } = this.#deps;
    if (record.markedForGracefulShutdown) throw new KvError('Conflict', text.podIsStopping, { retry: 'never' });
    this.#isStarting = true;
    try {
      await this.#startSteps(vmi, sent);
      this.#lastError = undefined;
    } catch (err) {
      this.#lastError = messageOf(err);
      throw err;
    } finally {
      this.#isStarting = false;
    }
  }

  async #startSteps(vmi: VirtualMachineInstance, sent: VmiOptions | undefined): Promise<void> {
    const { ctx, run, sources, dhcp, session, record, reporter, hooks, prepare = prepareDomain } = this.#deps;
    const begin = ctx.now();
    const made = await prepare(ctx, { run, sources, ...(hooks ? { hooks } : {}) }, vmi, sent);
    const warn = (message: string): void => reporter.warn(PLUGIN_FAILED, message);
    const plugins = pluginHooks(ctx, { vmi, plugins: pluginsOf(sent?.pluginsJson), context: 'Boot', warn });
    const { prepared, undoings, changedBy } = await applyHooks({ hooks, plugins }, made, vmi);
    record.undoings = undoings;
    const served = servedInterfaces(vmi, prepared.interfaces);
    await dhcp.serve(vmi, served, readResolvConf);
    const readyAt = ctx.now();
    ctx.log.debug({ xml: prepared.xml }, 'Defining the domain');
    const handle = await namingHooks(changedBy, () => session.connection.defineDomain(prepared.xml));
    const definedAt = ctx.now();
    try {
      await namingHooks(changedBy, () => this.#create(handle, vmi, prepared));
    } finally {
      handle.close();
    }
    const timing = { prepareMs: readyAt - begin, defineMs: definedAt - readyAt, startMs: ctx.now() - definedAt };
    ctx.log.info({ name: record.identity.name, type: prepared.type, ...timing }, 'Started the guest');
    await reporter.refresh();
  }

  async #create(handle: Domain, vmi: VirtualMachineInstance, prepared: PreparedDomain): Promise<void> {
    const { record, reporter, ctx } = this.#deps;
    const paused = vmi.spec.startStrategy === 'Paused';
    record.userPaused = paused;
    // Only this of it: the document and the tree need not live as long as the guest.
    record.prepared = { type: prepared.type, memoryBytes: prepared.memoryBytes, devices: prepared.devices };
    record.isoSizes = prepared.isoSizes ?? {};
    this.#startingSince = ctx.now();
    try {
      await handle.create({ paused });
    } catch (err) {
      throw await this.#failedStart(handle, err);
    } finally {
      this.#startingSince = undefined;
    }
    // From here on its end is the VM's end, whatever becomes of what follows.
    this.#noteStart();
    try {
      const { machineType, taps } = describeLive(await readLive(handle));
      if (machineType !== undefined) record.machineType = machineType;
      record.taps = taps;
    } catch (err) {
      ctx.log.info({ reason: messageOf(err) }, 'Cannot read the domain that was just started; it is read with its next state');
      await reporter.devicesChanged();
    }
  }

  #noteStart(): void {
    this.#deps.record.started = true;
    this.#started.resolve();
  }

  /** libvirt's error and QEMU's last words; the definition is taken back, so that the next sync begins anew. */
  async #failedStart(handle: Domain, err: unknown): Promise<KvError> {
    const { ctx, record, domain, qemuLogDir } = this.#deps;
    const words = await lastQemuWords(qemuLogDir, domain);
    const said = words === '' || messageOf(err).includes(words) ? messageOf(err) : `${messageOf(err)}; QEMU said: ${words}`;
    const reason = lockedImageOf(said) ?? said;
    await handle.undefine({ keepNvram: true }).catch((cause: unknown) => {
      // The next sync defines over it.
      ctx.log.warn({ reason: messageOf(cause) }, 'Cannot take back the definition of the domain');
    });
    const details = isKvError(err) ? err.details : {};
    return new KvError('Libvirt', text.cannotStart(record.identity.name, reason), { cause: err, details });
  }

  async #goOn(state: StateReport, vmi: VirtualMachineInstance, sent: VmiOptions | undefined): Promise<void> {
    await this.#settle(state);
    await this.#updating(vmi, sent, updateDevices);
  }

  /** Runs `change` with the running domain and the wanted one; if it did anything, the next report tells what the guest has now. */
  async #updating(vmi: VirtualMachineInstance, sent: VmiOptions | undefined, change: (update: Update) => Promise<boolean>): Promise<void> {
    const { ctx, run, sources, dhcp, session, domain, reporter, record, prepare = prepareDomain } = this.#deps;
    await session.withDomain(domain, async (handle) => {
      const live = await readLive(handle);
      const prepared = await prepare(ctx, { run, sources, isRunning: true }, withKnownTargets(vmi, describeLive(live)), sent);
      const served = servedInterfaces(vmi, prepared.interfaces);
      await dhcp.serve(vmi, served, readResolvConf);
      let isChanged = true;
      try {
        isChanged = await change({ ctx, handle, vmi, prepared, live, undoings: record.undoings });
      } finally {
        if (isChanged) await reporter.devicesChanged();
      }
    });
  }

  /** SR-IOV functions that came to the pod. */
  hotplugHostDevices(vmi: VirtualMachineInstance, sent?: VmiOptions): Promise<void> {
    return this.#mutex.request(() => this.#whileRunning(() => this.#updating(vmi, sent, plugHostDevices)));
  }

  syncCpus(vmi: VirtualMachineInstance, sent?: VmiOptions): Promise<void> {
    return this.#mutex.request(() => this.#whileRunning(() => this.#updating(vmi, sent, updateVcpus)));
  }

  syncMemory(vmi: VirtualMachineInstance): Promise<void> {
    const { ctx, session, domain, reporter } = this.#deps;
    return this.#mutex.request(() =>
      this.#whileRunning(async () => {
        await session.withDomain(domain, (handle) => updateMemory(ctx, handle, vmi));
        await reporter.devicesChanged();
      }),
    );
  }

  async #whileRunning(work: () => Promise<void>): Promise<void> {
    const { session, domain, record } = this.#deps;
    this.#refuseWhileMoving();
    const state = await session.withDomain(domain, (handle) => handle.state());
    if (!state || !isAlive(state)) throw new KvError('NotFound', text.noDomain(record.identity.name));
    await work();
  }

  /** libvirt changes nothing of a guest that is on its way; it would let the request wait, and others behind it. */
  #refuseWhileMoving(): void {
    const { migration, isExpected, identity } = this.#deps.record;
    if (isExpected) throw new KvError('Conflict', migrationText.expected(identity.name));
    if (isUnderWay(migration)) throw new KvError('NotReady', migrationText.underWay(identity.name), { retry: { afterMs: 5_000 } });
  }

  /** A guest that was paused for another reason than the user's wish, and could run, runs on. */
  async #settle({ state, reason }: StateReport): Promise<void> {
    const { session, record, domain, reporter } = this.#deps;
    if (state !== 'paused' || !RESUMED.has(reason) || record.userPaused) return;
    await session.withDomain(domain, (handle) => handle.resume());
    await reporter.refresh();
  }

  /** The kubelet wants the pod gone: the node agent reads the mark and shuts the guest down. */
  async markForGracefulShutdown(): Promise<void> {
    const { record, reporter, ctx } = this.#deps;
    record.markedForGracefulShutdown = true;
    record.gracePeriodStartedAt ??= metaTime(ctx.now());
    await reporter.refresh();
  }

  /** Runs `work` while no sync is under way. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(work);
  }
}
