// Commands inside the guest against an agent in memory, under a virtual clock: freezing that always ends, programs and their ends.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep, systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import { answerWithin } from '../base/steps.js';
import type { Domain, StateReport } from '../libvirt/index.js';
import type { AgentCommand } from './agent-poller.js';
import { type CmdTargets, cmdHandlers } from './cmd-server.js';
import { GuestCommands } from './guest-commands.js';
import { newRecord } from './report.js';

const IDENTITY = { name: 'vm1', namespace: 'ns', uid: 'u1' };
const STATUS = 'guest-fsfreeze-status';
const FREEZE = 'guest-fsfreeze-freeze';
const THAW = 'guest-fsfreeze-thaw';

/** Freezes and thaws as the real agent does: a second freeze is an error, a second thaw is none. */
class FakeAgent {
  readonly calls: string[] = [];
  readonly timeouts: (number | undefined)[] = [];
  frozen = false;
  /** Answers of guest-exec-status, oldest first; the last one stays. */
  execStatus: unknown[] = [{ exited: true, exitcode: 0 }];
  /** Seconds that a command takes. */
  readonly delays = new Map<string, number>();
  #failures: [string, Error][] = [];

  failNext(execute: string, err: Error = new KvError('NotReady', 'no guest agent answers')): void {
    this.#failures.push([execute, err]);
  }

  async command({ execute }: AgentCommand, timeoutSeconds?: number): Promise<unknown> {
    this.calls.push(execute);
    this.timeouts.push(timeoutSeconds);
    const at = this.#failures.findIndex(([name]) => name === execute);
    const [failure] = at < 0 ? [] : this.#failures.splice(at, 1);
    if (failure) throw failure[1];
    const delay = this.delays.get(execute);
    if (delay !== undefined) await sleep(systemClock, delay * 1000);
    return this.#answer(execute);
  }

  #answer(execute: string): unknown {
    if (execute === STATUS) return this.frozen ? 'frozen' : 'thawed';
    if (execute === 'guest-exec') return { pid: 7 };
    if (execute === 'guest-exec-status') return this.execStatus.length > 1 ? this.execStatus.shift() : this.execStatus[0];
    if (execute === FREEZE && this.frozen) throw new KvError('Libvirt', 'the command has been disabled');
    if (execute === FREEZE || execute === THAW) this.frozen = execute === FREEZE;
    return {};
  }

  count(execute: string): number {
    return this.calls.filter((call) => call === execute).length;
  }
}

let agent: FakeAgent;
let guest: GuestCommands;
let record: ReturnType<typeof newRecord>;
let state: StateReport;
beforeEach(() => {
  vi.useFakeTimers();
  agent = new FakeAgent();
  record = newRecord(IDENTITY);
  const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
  state = { state: 'running', reason: 'booted' };
  const session = {
    withDomain: async <T>(_: string, work: (domain: Domain) => Promise<T>) => work({ state: async () => state } as Domain),
  };
  guest = new GuestCommands({ ctx, agent, record, reporter: { refresh: async () => undefined }, session, domain: 'ns_vm1' });
});
afterEach(() => vi.useRealTimers());

const pass = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1000);

describe('freezing', () => {
  it('is told in the report, and so is its end', async () => {
    await guest.freeze(0);
    expect(record.guest.fsFreezeStatus).toBe('frozen');
    await guest.unfreeze();
    expect(record.guest).toEqual({});
    expect(agent.calls).toEqual([STATUS, FREEZE, STATUS, THAW]);
  });

  it('ends by itself after the time asked for', async () => {
    await guest.freeze(300);
    await pass(299);
    expect(agent.frozen).toBe(true);
    await pass(1);
    expect(agent.frozen).toBe(false);
    expect(record.guest.fsFreezeStatus).toBeUndefined();
  });

  it('lasts until it is thawed when no time was given', async () => {
    await guest.freeze(0);
    await pass(86_400);
    expect(agent.frozen).toBe(true);
  });

  it('asked for twice happens once, and the later time counts', async () => {
    await guest.freeze(60);
    await pass(50);
    await guest.freeze(60);
    await pass(50);
    expect(agent).toMatchObject({ frozen: true });
    await pass(10);
    expect(agent).toMatchObject({ frozen: false });
    expect(agent.count(FREEZE)).toBe(1);
  });

  it('that comes after its caller was told that it failed is taken back', async () => {
    agent.delays.set(FREEZE, 30);
    const late = answerWithin(systemClock, 20_000, 'FreezeVirtualMachine', () => guest.freeze(0));
    const heard = expect(late).rejects.toMatchObject({ code: 'Timeout' });
    await pass(29);
    await heard;
    expect(agent.frozen).toBe(false);
    await pass(2);
    expect(agent.calls.at(-1)).toBe(THAW);
    expect(agent.frozen).toBe(false);
  });

  it('is not begun for a caller that gave up while it waited', async () => {
    agent.delays.set(FREEZE, 30);
    const first = guest.freeze(60);
    const late = answerWithin(systemClock, 20_000, 'FreezeVirtualMachine', () => guest.freeze(0));
    const heard = expect(late).rejects.toMatchObject({ code: 'Timeout', message: expect.stringContaining('earlier request') });
    await pass(30);
    await heard;
    await first;
    await pass(60);
    expect(agent.frozen).toBe(false);
  });

  it('thawed in time is not thawed again', async () => {
    await guest.freeze(60);
    await guest.unfreeze();
    await guest.unfreeze();
    await pass(120);
    expect(agent.count(THAW)).toBe(1);
  });

  it('that fails is taken back, as the guest may still freeze', async () => {
    agent.failNext(FREEZE);
    await expect(guest.freeze(300)).rejects.toMatchObject({ code: 'NotReady' });
    agent.frozen = true;
    await pass(0);
    expect(agent.frozen).toBe(false);
    expect(record.guest.fsFreezeStatus).toBeUndefined();
  });

  it('of a guest without agent leaves nothing behind', async () => {
    agent.failNext(STATUS);
    await expect(guest.freeze(1)).rejects.toMatchObject({ code: 'NotReady' });
    await pass(60);
    expect(agent.calls).toEqual([STATUS]);
  });

  it('is thawed again and again until the agent obeys', async () => {
    await guest.freeze(60);
    agent.failNext(THAW);
    agent.failNext(THAW);
    await pass(60);
    expect(agent.frozen).toBe(true);
    await pass(20);
    expect(agent.frozen).toBe(false);
    await pass(600);
    expect(agent.count(THAW)).toBe(3);
  });

  it('is forgotten with the domain', async () => {
    await guest.freeze(60);
    agent.failNext(STATUS);
    agent.failNext(THAW, new KvError('NotFound', 'no domain'));
    await pass(600);
    expect(agent.count(THAW)).toBe(1);
  });

  it('of others is thawed on request, also when the guest does not tell its state', async () => {
    agent.frozen = true;
    agent.failNext(STATUS);
    await guest.unfreeze();
    expect(agent.frozen).toBe(false);
  });

  it('and thawing do not overlap', async () => {
    await Promise.all([guest.freeze(60), guest.unfreeze()]);
    expect(agent).toMatchObject({ frozen: false, calls: [STATUS, FREEZE, STATUS, THAW] });
  });
});

describe('a probe', () => {
  it.each<[string, StateReport, Record<string, string>, boolean]>([
    ['a running guest whose agent is silent', { state: 'running', reason: 'booted' }, {}, false],
    ['one that the user paused', { state: 'paused', reason: 'user' }, {}, true],
    ['one that a bad disk paused', { state: 'paused', reason: 'io-error' }, {}, false],
    ['one whose probes are paused', { state: 'running', reason: 'booted' }, { 'kubevirt.io/pause-guest-agent-probes': 'true' }, true],
  ])('of %s', async (_, now, annotations, isWell) => {
    agent.failNext('guest-ping');
    state = now;
    record.vmi = { metadata: { annotations }, spec: { domain: { devices: {} } } };
    const outcome = guest.ping(1).then(
      () => true,
      () => false,
    );
    expect(await outcome).toBe(isWell);
  });
});

describe('programs', () => {
  const command = { domainName: 'ns_vm1', command: 'cat', args: ['/x'], timeoutSeconds: 3 };
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  it.each([
    ['code and output', { exited: true, exitcode: 3, 'out-data': base64('hi') }, { exitCode: 3, stdOut: 'hi' }],
    ['no output', { exited: true, exitcode: 0 }, { exitCode: 0, stdOut: '' }],
    ['a signal, as a shell counts it', { exited: true, signal: 9 }, { exitCode: 137, stdOut: '' }],
    ['neither code nor signal', { exited: true }, { exitCode: -1, stdOut: '' }],
  ])('give %s', async (_, status, outcome) => {
    agent.execStatus = [status];
    expect(await guest.exec(command)).toEqual(outcome);
  });

  it('are waited for', async () => {
    agent.execStatus = [{ exited: false }, { exited: false }, { exited: true, exitcode: 1 }];
    const done = guest.exec(command);
    await pass(0.1);
    expect(await done).toEqual({ exitCode: 1, stdOut: '' });
  });

  it('that take too long are a failure; no question outlasts the time', async () => {
    agent.execStatus = [{ exited: false }];
    const done = guest.exec(command).catch((err: KvError) => `${err.code}: ${err.message}`);
    await pass(3);
    expect(await done).toBe('Timeout: cat did not end in the guest within 3 s; it goes on running there');
    expect(Math.max(...agent.timeouts.map(Number))).toBe(3);
    expect(Math.min(...agent.timeouts.map(Number))).toBe(1);
  });

  it('that the guest refuses keep its words', async () => {
    agent.failNext('guest-exec', new KvError('Libvirt', 'Command guest-exec has been disabled'));
    await expect(guest.exec(command)).rejects.toThrow('guest-exec has been disabled');
  });
});

describe('the command service', () => {
  const handlers = () => cmdHandlers({ domain: 'ns_vm1', identity: IDENTITY, guest } as CmdTargets);
  const vmi = (metadata: object) => ({ metadata, spec: { domain: { devices: {} } } });

  it('freezes for a caller that knows only the name', async () => {
    await handlers().freezeVirtualMachine?.(vmi({ name: 'vm1', namespace: 'ns' }), 5);
    expect(agent.frozen).toBe(true);
  });

  it.each([
    ['name', { ...IDENTITY, name: 'vm2' }],
    ['namespace', { ...IDENTITY, namespace: 'other' }],
    ['uid', { ...IDENTITY, uid: 'u2' }],
  ])('refuses a VMI of another %s', async (_, metadata) => {
    await expect(handlers().unfreezeVirtualMachine?.(vmi(metadata))).rejects.toMatchObject({ code: 'Conflict', retry: 'never' });
    expect(agent.calls).toEqual([]);
  });

  it('pings and runs programs in its own domain only', async () => {
    const { guestPing, exec } = handlers();
    await guestPing?.('ns_vm1', 2);
    await expect(guestPing?.('ns_vm2', 2)).rejects.toMatchObject({ code: 'NotFound' });
    await expect(exec?.({ domainName: 'ns_vm2', command: 'ls', args: [], timeoutSeconds: 1 })).rejects.toMatchObject({ code: 'NotFound' });
    expect(agent.calls).toEqual(['guest-ping']);
  });
});
