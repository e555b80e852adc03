// What is done inside the guest through its agent on request: freezing filesystems for a backup, running a command, asking whether it lives.
import { Buffer } from 'node:buffer';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import type { ExecCommand, ExecOutcome } from '../rpc/index.js';
import type { AgentPoller } from './agent-poller.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';

interface Deps {
  readonly ctx: Ctx;
  readonly agent: Pick<AgentPoller, 'command'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
}

interface ExecStatus {
  readonly exited?: boolean;
  readonly exitcode?: number;
  readonly 'out-data'?: string;
}

const FREEZE_TIMEOUT_S = 60;
const EXEC_POLL_MS = 200;

export class GuestCommands {
  readonly #deps: Deps;
  #cancelThaw: (() => void) | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** A guest left frozen hangs, so it is thawed after `thawAfterSeconds` whatever becomes of the caller; 0 = never. */
  async freeze(thawAfterSeconds: number): Promise<void> {
    const { agent, ctx } = this.#deps;
    await agent.command({ execute: 'guest-fsfreeze-freeze' }, FREEZE_TIMEOUT_S);
    await this.#setFrozen('frozen');
    this.#cancelThaw?.();
    if (thawAfterSeconds <= 0) return;
    this.#cancelThaw = ctx.clock.after(thawAfterSeconds * 1000, () => {
      this.unfreeze().catch((err: unknown) => ctx.log.error({ reason: messageOf(err) }, 'The guest stays frozen: it cannot be thawed'));
    });
  }

  async unfreeze(): Promise<void> {
    this.#cancelThaw?.();
    this.#cancelThaw = undefined;
    await this.#deps.agent.command({ execute: 'guest-fsfreeze-thaw' }, FREEZE_TIMEOUT_S);
    await this.#setFrozen(undefined);
  }

  async #setFrozen(status: 'frozen' | undefined): Promise<void> {
    const { record, reporter } = this.#deps;
    const { fsFreezeStatus: _, ...rest } = record.guest;
    record.guest = status === undefined ? rest : { ...rest, fsFreezeStatus: status };
    await reporter.refresh();
  }

  async ping(timeoutSeconds: number): Promise<void> {
    await this.#deps.agent.command({ execute: 'guest-ping' }, Math.max(1, timeoutSeconds));
  }

  /** Runs a program in the guest and waits for its end. */
  async exec({ command, args, timeoutSeconds }: ExecCommand): Promise<ExecOutcome> {
    const { agent, ctx } = this.#deps;
    const begun = await agent.command({ execute: 'guest-exec', arguments: { path: command, arg: args, 'capture-output': true } });
    const pid = (begun as { pid?: number } | undefined)?.pid;
    if (pid === undefined) throw new KvError('Internal', `the guest agent gave no process id for ${command}`);
    const deadline = ctx.now() + timeoutSeconds * 1000;
    while (ctx.now() < deadline) {
      const status = ((await agent.command({ execute: 'guest-exec-status', arguments: { pid } })) ?? {}) as ExecStatus;
      if (status.exited) return { exitCode: status.exitcode ?? -1, stdOut: Buffer.from(status['out-data'] ?? '', 'base64').toString() };
      await sleep(ctx.clock, EXEC_POLL_MS, ctx.signal);
    }
    throw new KvError('Timeout', `${command} did not end in the guest within ${timeoutSeconds} s`);
  }
}
