// Talks to the guest agent while its channel is open: learns what it can do, asks now and then for what ends in VMI status, and passes
// commands on. Nothing is asked of a guest without agent. All calls go over the session's second connection, as a guest may be slow.
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
}

const COMMAND_TIMEOUT_S = 10;
const FIRST_POLL_MS = 10_000;
const NO_AGENT: AgentVersion = { version: '', commands: [] };

export class AgentPoller {
  readonly #deps: Deps;
  #version = NO_AGENT;
  #timezone: string | undefined;
  /** Aborted when the channel closes. */
  #open: AbortController | undefined;

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

  /** Told together with the first answers: each report may end in a write to the cluster. */
  #begin(): void {
    const { versionMs, sysMs } = this.#deps.intervals;
    const open = new AbortController();
    this.#open = open;
    // The first round asks for the version itself: it needs the list of commands.
    void this.#repeat(open.signal, () => this.#pollSystem(), 0, sysMs);
    void this.#repeat(open.signal, () => this.#pollVersion(), versionMs, versionMs);
  }

  #end(): void {
    this.stop();
    this.#version = NO_AGENT;
    // While the guest shuts down its agent always goes; the next state tells that too.
    if (!this.#deps.record.shutdownRequested) void this.#deps.reporter.refresh();
  }

  stop(): void {
    this.#open?.abort();
    this.#open = undefined;
  }

  /** After `firstMs`, 10 s later, and twice as long each time until `everyMs`. */
  async #repeat(signal: AbortSignal, poll: () => Promise<void>, firstMs: number, everyMs: number): Promise<void> {
    const { ctx, reporter } = this.#deps;
    let [wait, next] = [firstMs, Math.min(FIRST_POLL_MS, everyMs)];
    for (;;) {
      await sleep(ctx.clock, wait, signal);
      if (signal.aborted) return;
      // An agent that does not answer is asked again at the next turn; the guest may be booting.
      await poll().catch((err: unknown) => ctx.log.debug({ reason: messageOf(err) }, 'The guest agent did not answer'));
      if (!signal.aborted) void reporter.refresh();
      [wait, next] = [next, Math.min(next * 2, everyMs)];
    }
  }

  async #pollVersion(): Promise<void> {
    this.#version = readVersion(await this.command({ execute: 'guest-info' }));
  }

  async #pollSystem(): Promise<void> {
    if (this.#version === NO_AGENT) await this.#pollVersion();
    // First, as a frozen guest refuses the other questions. A guest that was reset while frozen is no longer frozen.
    this.#updateFrozen(await this.#ask('guest-fsfreeze-status', readFreezeStatus));
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

  #updateFrozen(status: string | undefined): void {
    const { record } = this.#deps;
    const { fsFreezeStatus: _, ...rest } = record.guest;
    record.guest = status === 'frozen' ? { ...rest, fsFreezeStatus: status } : rest;
  }

  #update(found: GuestFacts): void {
    const { record } = this.#deps;
    record.guest = { ...record.guest, ...found };
  }

  async #ask<T>(execute: string, read: (answer: unknown) => T): Promise<T | undefined> {
    return this.supports(execute) ? read(await this.command({ execute })) : undefined;
  }

  /** The agent is there and says it knows the command. */
  supports(execute: string): boolean {
    return this.#open !== undefined && this.#version.commands.some(({ name, enabled }) => name === execute && enabled);
  }

  /** Runs one command; a KvError says when no agent answers. */
  async command(command: AgentCommand, timeoutSeconds = COMMAND_TIMEOUT_S): Promise<unknown> {
    const { session, domain, record } = this.#deps;
    const name = record.identity.name;
    try {
      const done = await session.withAgent(domain, async (handle) => ({ answer: await handle.agentCommand(command, timeoutSeconds) }));
      if (!done) throw new KvError('NotFound', text.noDomain(name));
      return done.answer;
    } catch (err) {
      if (!isLibvirtError(err, 'agentUnresponsive', 'agentUnsynced', 'argumentUnsupported')) throw err;
      throw new KvError('NotReady', text.noAgent(name), { cause: err });
    }
  }

  async users(): Promise<{ items: GuestUser[] }> {
    return { items: readUsers(await this.command({ execute: 'guest-get-users' })) };
  }

  async filesystems(): Promise<{ items: GuestFilesystem[] }> {
    return { items: readFilesystems(await this.command({ execute: 'guest-get-fsinfo' })) };
  }

  /** VirtualMachineInstanceGuestAgentInfo. */
  async info(): Promise<Record<string, unknown>> {
    const { guest } = this.#deps.record;
    if (!this.#open) throw new KvError('NotReady', text.noAgent(this.#deps.record.identity.name));
    if (this.#version === NO_AGENT) await this.#pollVersion();
    const users = await this.#ask('guest-get-users', readUsers);
    const disks = await this.#ask('guest-get-fsinfo', readFilesystems);
    return {
      guestAgentVersion: this.#version.version,
      supportedCommands: this.#version.commands,
      ...(guest.hostname === undefined ? {} : { hostname: guest.hostname }),
      os: guest.osInfo ?? {},
      ...(this.#timezone === undefined ? {} : { timezone: this.#timezone }),
      userList: users ?? [],
      fsInfo: { disks: disks ?? [] },
      ...(guest.fsFreezeStatus === undefined ? {} : { fsFreezeStatus: guest.fsFreezeStatus }),
    };
  }
}
