// Talks to the guest agent while its channel is open: learns what it can do, asks about each topic at the topic's own pace, keeps the last answers
// and passes commands on. Nothing is asked of a guest without agent, and never two things at a time: an agent that hangs holds up one question.
// All calls go over the session's second connection, as a guest may be slow.
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { isLibvirtError } from '../libvirt/index.js';
import {
  type AgentVersion,
  type GuestFilesystem,
  type GuestUser,
  readFilesystems,
  readFreezeStatus,
  readHostname,
  readInterfaces,
  readOsInfo,
  readTimezone,
  readUsers,
  readVersion,
} from './guest-answers.js';
import type { AgentIntervals } from './options.js';
import type { GuestFacts, VmRecord } from './report.js';
import type { Reporter } from './reporter.js';
import type { LibvirtSession } from './session.js';
import { text } from './text.js';

export interface AgentCommand {
  readonly execute: string;
  readonly arguments?: object;
}

interface Deps {
  readonly ctx: Ctx;
  readonly session: Pick<LibvirtSession, 'withAgent'>;
  readonly record: VmRecord;
  readonly reporter: Pick<Reporter, 'refresh'>;
  readonly intervals: AgentIntervals;
  readonly domain: string;
  /** Told when the agent is there and has said what it can do, and when it is gone. */
  readonly onChange?: (isThere: boolean) => void;
}

interface Topic {
  readonly everyMs: number;
  poll(): Promise<void>;
}

interface Turn extends Topic {
  at: number;
  /** Until the next one; grows up to everyMs. */
  intervalMs: number;
}

const COMMAND_TIMEOUT_S = 10;
/** A command of the user waits behind at most one question of ours. */
const POLL_TIMEOUT_S = 5;
const FIRST_POLL_MS = 10_000;
/** As many entries of each list does the overview have. */
const OVERVIEW = 10;
const NO_AGENT: AgentVersion = { version: '', commands: [] };

const takes = ({ commands }: AgentVersion, wanted: string): boolean => commands.some(({ name, enabled }) => name === wanted && enabled);

/** While the guest is frozen its agent takes little more than the command that thaws it. */
const looksFrozen = (agent: AgentVersion): boolean =>
  takes(agent, 'guest-fsfreeze-thaw') && takes(agent, 'guest-fsfreeze-status') && !takes(agent, 'guest-fsfreeze-freeze');

export class AgentPoller {
  readonly #deps: Deps;
  #version = NO_AGENT;
  /** The list of commands is that of a frozen guest. */
  #mustAskAgain = false;
  #timezone: string | undefined;
  #users: GuestUser[] | undefined;
  #filesystems: GuestFilesystem[] | undefined;
  /** Aborted when the channel closes. */
  #open: AbortController | undefined;
  #polling: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The agent's channel opened or closed. */
  setConnected(connected: boolean): void {
    if (connected === (this.#open !== undefined)) return;
    this.#deps.record.agentConnected = connected;
    if (connected) this.#begin();
    else this.#end();
  }

  #begin(): void {
    this.#open = new AbortController();
    const { signal } = this.#open;
    // After the one before, which may still wait for an answer: a guest that opens and closes its channel all the time is asked one thing at a time, too.
    this.#polling = this.#polling
      .then(() => this.#run(signal))
      .catch((err: unknown) => this.#deps.ctx.log.error({ err }, 'Polling the guest agent ended'));
  }

  #end(): void {
    this.stop();
    this.#version = NO_AGENT;
    this.#mustAskAgain = false;
    this.#users = undefined;
    this.#filesystems = undefined;
    this.#deps.onChange?.(false);
    // While the guest shuts down its agent always goes; the next state tells that too.
    if (!this.#deps.record.shutdownRequested) void this.#deps.reporter.refresh();
  }

  stop(): void {
    this.#open?.abort();
    this.#open = undefined;
  }

  get #topics(): Topic[] {
    const { versionMs, fsFreezeMs, sysMs, userMs, fileMs } = this.#deps.intervals;
    return [
      // Before the others, which need the list of commands; a frozen guest refuses most of them.
      { everyMs: versionMs, poll: () => this.#pollVersion() },
      { everyMs: fsFreezeMs, poll: () => this.#pollFrozen() },
      { everyMs: sysMs, poll: () => this.#pollSystem() },
      {
        everyMs: userMs,
        poll: async () => {
          this.#users = (await this.#ask('guest-get-users', readUsers)) ?? this.#users;
        },
      },
      {
        everyMs: fileMs,
        poll: async () => {
          this.#filesystems = (await this.#ask('guest-get-fsinfo', readFilesystems)) ?? this.#filesystems;
        },
      },
    ];
  }

  /** One question after the other, each topic when it is due: at once, 10 s later, and twice as long each time until its own interval. */
  async #run(signal: AbortSignal): Promise<void> {
    const { ctx } = this.#deps;
    const turns = this.#topics.map((topic): Turn => ({ ...topic, at: ctx.now(), intervalMs: Math.min(FIRST_POLL_MS, topic.everyMs) }));
    // Each report may end in a write to the cluster: the first one waits for the facts.
    for (const turn of turns) if (!signal.aborted) await this.#take(turn);
    if (signal.aborted) return;
    this.#deps.onChange?.(true);
    await this.#deps.reporter.refresh();
    while (!signal.aborted) {
      const next = turns.reduce((first, turn) => (turn.at < first.at ? turn : first));
      await sleep(ctx.clock, Math.max(0, next.at - ctx.now()), signal);
      if (signal.aborted) return;
      const before = JSON.stringify(this.#deps.record.guest);
      await this.#take(next);
      if (!signal.aborted && JSON.stringify(this.#deps.record.guest) !== before) void this.#deps.reporter.refresh();
    }
  }

  async #take(turn: Turn): Promise<void> {
    const { ctx } = this.#deps;
    // An agent that does not answer is asked again at the next turn; the guest may be booting.
    await turn.poll().catch((err: unknown) => ctx.log.debug({ reason: messageOf(err) }, 'The guest agent did not answer'));
    turn.at = ctx.now() + turn.intervalMs;
    turn.intervalMs = Math.min(turn.intervalMs * 2, turn.everyMs);
  }

  /** A frozen agent lists as disabled what it can otherwise: what it said before stays, and without that it is asked again once it is thawed. */
  async #pollVersion(): Promise<void> {
    const ask = async (): Promise<AgentVersion> => readVersion(await this.command({ execute: 'guest-info' }, POLL_TIMEOUT_S));
    let answer = await ask();
    if (looksFrozen(answer)) {
      if (readFreezeStatus(await this.command({ execute: 'guest-fsfreeze-status' }, POLL_TIMEOUT_S)) === 'frozen') {
        if (this.#version !== NO_AGENT) return;
        this.#version = answer;
        this.#mustAskAgain = true;
        return;
      }
      answer = await ask();
    }
    this.#mustAskAgain = false;
    this.#version = answer;
    const commands = this.#version.commands.filter(({ enabled }) => enabled).map(({ name }) => name);
    this.#update({ agent: { version: this.#version.version, commands } });
  }

  /** A guest that was reset while frozen is no longer frozen. */
  async #pollFrozen(): Promise<void> {
    const status = await this.#ask('guest-fsfreeze-status', readFreezeStatus);
    const { record } = this.#deps;
    const { fsFreezeStatus: _, ...rest } = record.guest;
    record.guest = status === 'frozen' ? { ...rest, fsFreezeStatus: status } : rest;
    if (status !== 'frozen' && this.#mustAskAgain) await this.#pollVersion();
  }

  async #pollSystem(): Promise<void> {
    const osInfo = await this.#ask('guest-get-osinfo', readOsInfo);
    const hostname = await this.#ask('guest-get-host-name', readHostname);
    const interfaces = await this.#ask('guest-network-get-interfaces', readInterfaces);
    this.#timezone = await this.#ask('guest-get-timezone', readTimezone);
    this.#update({
      ...(osInfo === undefined ? {} : { osInfo }),
      ...(hostname === undefined ? {} : { hostname }),
      ...(interfaces === undefined ? {} : { interfaces }),
    });
  }

  #update(found: GuestFacts): void {
    const { record } = this.#deps;
    record.guest = { ...record.guest, ...found };
  }

  async #ask<T>(execute: string, read: (answer: unknown) => T): Promise<T | undefined> {
    return this.supports(execute) ? read(await this.command({ execute }, POLL_TIMEOUT_S)) : undefined;
  }

  /** The agent is there and says it knows the command. */
  supports(execute: string): boolean {
    return this.#open !== undefined && takes(this.#version, execute);
  }

  /** The answer as the agent gives it; undefined when it cannot tell. For statistics. */
  ask(execute: string): Promise<unknown> {
    return this.#ask(execute, (answer) => answer);
  }

  get version(): string {
    return this.#version.version;
  }

  /** Runs one command, made when its turn has come; a KvError says when no agent answers. */
  async command(command: AgentCommand | (() => AgentCommand), timeoutSeconds = COMMAND_TIMEOUT_S): Promise<unknown> {
    const { session, domain, record } = this.#deps;
    const name = record.identity.name;
    try {
      const done = await session.withAgent(domain, async (handle) => {
        const due = typeof command === 'function' ? command() : command;
        return { answer: await handle.agentCommand(due, timeoutSeconds) };
      });
      if (!done) throw new KvError('NotFound', text.noDomain(name));
      return done.answer;
    } catch (err) {
      if (!isLibvirtError(err, 'agentUnresponsive', 'agentUnsynced', 'argumentUnsupported')) throw err;
      throw new KvError('NotReady', text.noAgent(name), { cause: err });
    }
  }

  /** Who was logged in when the agent was last asked, a moment ago. */
  async users(): Promise<{ items: GuestUser[] }> {
    this.#users ??= readUsers(await this.command({ execute: 'guest-get-users' }));
    return { items: this.#users };
  }

  async filesystems(): Promise<{ items: GuestFilesystem[] }> {
    this.#filesystems ??= readFilesystems(await this.command({ execute: 'guest-get-fsinfo' }));
    return { items: this.#filesystems };
  }

  /** VirtualMachineInstanceGuestAgentInfo, from the last answers. */
  async info(): Promise<Record<string, unknown>> {
    const { guest } = this.#deps.record;
    if (!this.#open) throw new KvError('NotReady', text.noAgent(this.#deps.record.identity.name));
    if (this.#version === NO_AGENT) await this.#pollVersion();
    return {
      guestAgentVersion: this.#version.version,
      supportedCommands: this.#version.commands,
      ...(guest.hostname === undefined ? {} : { hostname: guest.hostname }),
      os: guest.osInfo ?? {},
      ...(this.#timezone === undefined ? {} : { timezone: this.#timezone }),
      userList: (this.#users ?? []).slice(0, OVERVIEW),
      fsInfo: { disks: (this.#filesystems ?? []).slice(0, OVERVIEW) },
      ...(guest.fsFreezeStatus === undefined ? {} : { fsFreezeStatus: guest.fsFreezeStatus }),
    };
  }
}
