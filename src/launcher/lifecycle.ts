// Commands to the running guest: pause, reboot, shut down, kill, delete. Each is safe to repeat and does nothing for a guest that is gone
// already. Which of them comes when is the node agent's decision.
import { metaTime, sleep } from '../base/clock.js';
import { KvError } from '../base/errors.js';
import { type Domain, isLibvirtError, type StateReport } from '../libvirt/index.js';
import type { AgentPoller } from './agent-poller.js';
import { isAlive } from './domain-state.js';
import type { DomainManager, ManagerDeps } from './manager.js';
import { isUnderWay, text as migrationText } from './migration/outcome.js';
import { text } from './text.js';

type Deps = Pick<ManagerDeps, 'ctx' | 'session' | 'reporter' | 'record' | 'domain'> & {
  readonly manager: Pick<DomainManager, 'exclusively'>;
  readonly agent: Pick<AgentPoller, 'supports' | 'command'>;
  /** Ends a migration that is under way. */
  readonly stayHere?: () => Promise<void>;
};

/** Waits before each try to set the guest's clock. */
const SET_TIME_AFTER_MS = [0, 2_000, 5_000, 10_000, 20_000];

export class Lifecycle {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Runs `work` if the domain exists and QEMU holds a guest, then tells the outcome. */
  async #onLive(work: (domain: Domain, state: StateReport) => Promise<void>): Promise<boolean> {
    const { session, domain, reporter } = this.#deps;
    const done = await session.withDomain(domain, async (handle) => {
      const state = await handle.state();
      if (!isAlive(state)) return false;
      await work(handle, state);
      return true;
    });
    await reporter.refresh();
    return done ?? false;
  }

  async #mustBeLive(work: (domain: Domain, state: StateReport) => Promise<void>): Promise<void> {
    if (!(await this.#onLive(work))) throw new KvError('NotFound', text.noDomain(this.#deps.record.identity.name));
  }

  /** Stays paused until unpause, whatever syncs come. */
  async pause(): Promise<void> {
    const { record } = this.#deps;
    await this.#mustBeLive(async (domain, { state }) => {
      const before = record.userPaused;
      // First: a synchronisation must not let it run on again.
      record.userPaused = true;
      try {
        if (state !== 'paused') await domain.suspend();
      } catch (err) {
        // What the user was told did not happen must not hold when a disk pauses the guest.
        record.userPaused = before;
        throw err;
      }
    });
  }

  async unpause(): Promise<void> {
    await this.#mustBeLive(async (domain, { state }) => {
      this.#deps.record.userPaused = false;
      if (state !== 'paused') return;
      await domain.resume();
      this.correctGuestTime();
    });
  }

  /** A guest's clock stands while it is paused or moves; the agent sets it. Not waited for: the guest runs either way. */
  correctGuestTime(): void {
    const { ctx } = this.#deps;
    this.#setGuestTime().catch((err: unknown) => ctx.log.info({ err }, "The guest agent did not set the guest's clock"));
  }

  /** An agent that was stopped in the middle of an answer, or is new to this launcher, needs a moment. The time is that of the moment it is sent. */
  async #setGuestTime(): Promise<void> {
    const { agent, ctx, record } = this.#deps;
    let failure: unknown;
    for (const waitMs of SET_TIME_AFTER_MS) {
      if (waitMs > 0) await sleep(ctx.clock, waitMs, ctx.signal);
      if (ctx.signal.aborted || record.userPaused) return;
      if (!agent.supports('guest-set-time')) continue;
      try {
        await agent.command(() => ({ execute: 'guest-set-time', arguments: { time: ctx.now() * 1_000_000 } }));
        return;
      } catch (err) {
        failure = err;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async reset(): Promise<void> {
    this.#refuseWhileMoving();
    return this.#mustBeLive((domain) => domain.reset());
  }

  /** libvirt would let it wait until the migration is over. */
  #refuseWhileMoving(): void {
    const { migration, identity } = this.#deps.record;
    if (isUnderWay(migration)) throw new KvError('Conflict', migrationText.underWay(identity.name));
  }

  get #hasAcpi(): boolean {
    return this.#deps.record.vmi?.spec.domain.features?.acpi?.enabled !== false;
  }

  async softReboot(): Promise<void> {
    const { record } = this.#deps;
    this.#refuseWhileMoving();
    if (!record.agentConnected && !this.#hasAcpi) throw new KvError('Invalid', text.cannotReboot);
    await this.#mustBeLive((domain) => this.#reboot(domain));
  }

  async #reboot(domain: Domain): Promise<void> {
    const { ctx, record, session } = this.#deps;
    if (record.agentConnected) {
      try {
        await session.withAgent(domain.name, (handle) => handle.reboot('agent'));
        return;
      } catch (err) {
        if (!this.#hasAcpi) throw err;
        // It hangs, or went a moment ago and libvirt knew first.
        ctx.log.info({ err }, 'The guest agent did not reboot the guest; pressing the power button');
      }
    }
    await domain.reboot('acpi');
  }

  /** Asks the guest to power off; the first request begins the grace period. */
  async shutdown(): Promise<void> {
    const { record, ctx, stayHere } = this.#deps;
    record.gracePeriodStartedAt ??= metaTime(ctx.now());
    record.shutdownRequested = true;
    await stayHere?.();
    await this.#onLive(async (domain, { state }) => {
      if (state === 'running' || state === 'paused') await this.#askToPowerOff(domain);
    });
  }

  async #askToPowerOff(domain: Domain): Promise<void> {
    const { agent, ctx, record, session } = this.#deps;
    if (agent.supports('guest-shutdown')) {
      try {
        await session.withAgent(domain.name, (handle) => handle.shutdown('agent'));
        return;
      } catch (err) {
        // The agent may have died with the guest half down; the power button still works.
        ctx.log.info({ err }, 'The guest agent did not shut the guest down; pressing the power button');
      }
    }
    if (!this.#hasAcpi) throw new KvError('Invalid', text.cannotShutDown(record.identity.name));
    await domain.shutdown('acpi');
  }

  /** Ends QEMU: first politely, so that it writes out its caches, then by force. */
  async kill(): Promise<void> {
    await this.#onLive(async (domain) => {
      try {
        await domain.destroy({ graceful: true });
      } catch (err) {
        if (isLibvirtError(err, 'noDomain', 'operationInvalid')) return;
        this.#deps.ctx.log.warn({ err }, 'QEMU does not end when asked to; killing it');
        await domain.destroy();
      }
    });
  }

  /** Forgets the domain of a guest that is over. */
  delete(): Promise<void> {
    const { manager, session, domain, record, reporter } = this.#deps;
    return manager.exclusively(async () => {
      await session.withDomain(domain, async (handle) => {
        if (isAlive(await handle.state())) throw new KvError('Conflict', text.stillRunning(record.identity.name));
        await handle.undefine({ keepNvram: true, checkpointsMetadata: true });
      });
      await reporter.refresh();
    });
  }
}
