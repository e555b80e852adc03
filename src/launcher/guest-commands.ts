// What is done inside the guest through its agent on request: running a program, asking whether it lives, freezing its file systems for a
// backup. A guest left frozen hangs, so whoever freezes also sets a time after which it is thawed, and thawing is tried until it succeeds.
import { Buffer } from 'node:buffer';
import { ANNOTATION } from '../api/labels.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { hasCode, KvError, messageOf } from '../base/errors.js';
import { isGivenUp } from '../base/steps.js';
import type { ExecCommand, ExecOutcome } from '../rpc/index.js';
import type { AgentPoller } from './agent-poller.js';
import { type ExecStatus, readExecPid, readExecStatus, readFreezeStatus } from './guest-answers.js';
import { isUnderWay, text as migrationText } from './migration/outcome.js';
import { Mutex } from './mutex.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

interface Deps {
  readonly ctx: Ctx;
  readonly agent: Pick<AgentPoller, 'command'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
  readonly session: Pick<LibvirtSession, 'withDomain'>;
  readonly domain: string;
}

/** Pauses that somebody asked for: the guest cannot answer, and is well. */
const WELL_WHILE_PAUSED: ReadonlySet<string> = new Set([
  'user',
  'migration',
  'save',
  'dump',
  'from-snapshot',
  'shutting-down',
  'snapshot',
  'starting-up',
  'postcopy',
]);

/** A backup tool waits 60 s; it is to hear our error, not its own. Before it the guest is asked for its state. */
const FREEZE_TIMEOUT_S = 40;
const THAW_RETRY_MS = 10_000;
/** Most programs of probes end at once; the others are not worth a question every moment. */
const EXEC_POLL_MS = { first: 25, longest: 500 } as const;

export class GuestCommands {
  readonly #deps: Deps;
  readonly #freezing = new Mutex();
  #cancelThaw: (() => void) | undefined;
  /** We asked for a freeze and the guest has not been thawed since. */
  #owesThaw = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The guest is frozen, or may be, and it is thawed from here. */
  get owesThaw(): boolean {
    return this.#cancelThaw !== undefined;
  }

  /** Freezes a guest that is not frozen yet. It is thawed after `thawAfterSeconds` whatever becomes of the caller; 0 = never. */
  freeze(thawAfterSeconds: number): Promise<void> {
    return this.#freezing.request(async () => {
      const { migration, identity } = this.#deps.record;
      // Where it goes nobody would thaw it.
      if (isUnderWay(migration)) throw new KvError('NotReady', migrationText.underWay(identity.name), { retry: { afterMs: 5_000 } });
      const isFrozen = (await this.#freezeStatus()) === 'frozen';
      this.#dropThaw();
      if (!isFrozen) await this.#freezeNow();
      // Whoever asked was told that it failed, and will thaw nothing.
      if (!isFrozen && isGivenUp()) this.#thawLater(0, 'Nobody waited for the freeze any more; thawing the guest');
      else if (thawAfterSeconds > 0) this.#thawLater(thawAfterSeconds * 1000, 'Nobody thawed the guest in time; thawing it');
      await this.#report('frozen');
    });
  }

  async #freezeNow(): Promise<void> {
    this.#owesThaw = true;
    try {
      await this.#deps.agent.command({ execute: 'guest-fsfreeze-freeze' }, FREEZE_TIMEOUT_S);
    } catch (err) {
      // The guest may still come to freezing, or have frozen a part.
      this.#thawLater(0, 'Freezing failed; thawing what may be frozen');
      throw err;
    }
  }

  /** Thaws a guest that is frozen, whoever froze it. */
  unfreeze(): Promise<void> {
    return this.#freezing.run(async () => {
      this.#dropThaw();
      try {
        if (await this.#mayBeFrozen()) await this.#deps.agent.command({ execute: 'guest-fsfreeze-thaw' }, FREEZE_TIMEOUT_S);
      } catch (err) {
        // Without a domain there is nothing left to thaw.
        if (this.#owesThaw && !hasCode(err, 'NotFound')) this.#thawLater(THAW_RETRY_MS, 'Thawing the guest again');
        throw err;
      }
      this.#owesThaw = false;
      await this.#report(undefined);
    });
  }

  async #freezeStatus(): Promise<string | undefined> {
    return readFreezeStatus(await this.#deps.agent.command({ execute: 'guest-fsfreeze-status' }));
  }

  /** A second thaw would run the guest's thaw scripts again. */
  async #mayBeFrozen(): Promise<boolean> {
    try {
      return (await this.#freezeStatus()) !== 'thawed';
    } catch (err) {
      this.#deps.ctx.log.debug({ reason: messageOf(err) }, 'The guest does not tell whether it is frozen; thawing it');
      return true;
    }
  }

  #thawLater(ms: number, why: string): void {
    const { ctx } = this.#deps;
    this.#cancelThaw = ctx.clock.after(ms, () => {
      ctx.log.warn({}, why);
      this.unfreeze().catch((err: unknown) => ctx.log.error({ reason: messageOf(err) }, 'The guest could not be thawed'));
    });
  }

  #dropThaw(): void {
    this.#cancelThaw?.();
    this.#cancelThaw = undefined;
  }

  async #report(status: 'frozen' | undefined): Promise<void> {
    const { record, reporter } = this.#deps;
    const { fsFreezeStatus: _, ...rest } = record.guest;
    record.guest = status === undefined ? rest : { ...rest, fsFreezeStatus: status };
    await reporter.refresh();
  }

  /** Whether the guest is well, for probes. One that is paused on purpose is. */
  async ping(timeoutSeconds: number): Promise<void> {
    const { agent, record } = this.#deps;
    if (record.vmi?.metadata.annotations?.[ANNOTATION.pauseAgentProbes] === 'true') return;
    try {
      await agent.command({ execute: 'guest-ping' }, Math.max(1, timeoutSeconds));
    } catch (err) {
      if (!hasCode(err, 'NotReady') || !(await this.#isPausedAndWell())) throw err;
    }
  }

  async #isPausedAndWell(): Promise<boolean> {
    const { session, domain } = this.#deps;
    const state = await session.withDomain(domain, (handle) => handle.state());
    return state?.state === 'paused' && WELL_WHILE_PAUSED.has(state.reason);
  }

  /** Runs a program in the guest and waits for its end. One that takes too long is left running: the agent cannot end it. */
  async exec({ command, args, timeoutSeconds }: ExecCommand): Promise<ExecOutcome> {
    const { agent, ctx } = this.#deps;
    const deadline = ctx.now() + Math.max(1, timeoutSeconds) * 1000;
    const patience = (): number => Math.max(1, Math.ceil((deadline - ctx.now()) / 1000));
    const begun = await agent.command(
      { execute: 'guest-exec', arguments: { path: command, arg: args, 'capture-output': true } },
      patience(),
    );
    const pid = readExecPid(begun);
    if (pid === undefined) throw new KvError('Internal', `the guest agent gave no process id for ${command}`);
    const poll = async (): Promise<ExecStatus> =>
      readExecStatus(await agent.command({ execute: 'guest-exec-status', arguments: { pid } }, patience()));
    for (let wait: number = EXEC_POLL_MS.first; ; wait = Math.min(wait * 2, EXEC_POLL_MS.longest)) {
      const status = await poll();
      if (status.exited) return { exitCode: status.exitCode, stdOut: Buffer.from(status.output, 'base64').toString() };
      if (ctx.now() >= deadline || ctx.signal.aborted) throw new KvError('Timeout', text.execTooLong(command, timeoutSeconds));
      await sleep(ctx.clock, Math.min(wait, deadline - ctx.now()), ctx.signal);
    }
  }
}
