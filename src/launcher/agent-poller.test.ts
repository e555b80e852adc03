// The guest agent asked at each topic's pace under a virtual clock: what is asked when, what ends in the report, what an old agent is spared.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { silentLogger } from '../base/logger.js';
import type { Domain } from '../libvirt/index.js';
import { AgentPoller } from './agent-poller.js';
import { newRecord } from './report.js';

const ALL = [
  'guest-info',
  'guest-fsfreeze-status',
  'guest-get-osinfo',
  'guest-get-host-name',
  'guest-network-get-interfaces',
  'guest-get-timezone',
  'guest-get-users',
  'guest-get-fsinfo',
];
const INTERVALS = { sysMs: 120_000, fileMs: 300_000, userMs: 10_000, versionMs: 300_000, fsFreezeMs: 5_000 };

let commands: string[];
let disabled: string[];
let answers: Map<string, unknown>;
let asked: string[];
let reports: number;
let changes: boolean[];
let poller: AgentPoller;
let record: ReturnType<typeof newRecord>;

beforeEach(() => {
  vi.useFakeTimers();
  commands = ALL;
  disabled = [];
  asked = [];
  reports = 0;
  changes = [];
  answers = new Map<string, unknown>([
    ['guest-fsfreeze-status', 'thawed'],
    ['guest-get-osinfo', { name: 'Debian' }],
    ['guest-get-host-name', { 'host-name': 'h1' }],
    ['guest-network-get-interfaces', [{ name: 'eth0', 'hardware-address': '02:00', 'ip-addresses': [{ 'ip-address': '10.0.2.2' }] }]],
    ['guest-get-timezone', { zone: 'UTC', offset: 0 }],
    ['guest-get-users', [{ user: 'root' }]],
    ['guest-get-fsinfo', [{ name: 'vda1', mountpoint: '/' }]],
  ]);
  record = newRecord({ name: 'vm1', namespace: 'ns', uid: 'u1' });
  const domain = {
    agentCommand: async ({ execute }: { execute: string }) => {
      asked.push(execute);
      if (execute === 'guest-info')
        return { version: '8.2', supported_commands: commands.map((name) => ({ name, enabled: !disabled.includes(name) })) };
      if (!answers.has(execute)) throw new KvError('Libvirt', 'silent', { details: { libvirtCode: 86 } });
      return answers.get(execute);
    },
  } as unknown as Domain;
  poller = new AgentPoller({
    ctx: makeCtx(new AbortController().signal, silentLogger, systemClock),
    session: { withAgent: async (_, work) => work(domain) },
    record,
    reporter: { refresh: async () => void reports++ },
    intervals: INTERVALS,
    domain: 'ns_vm1',
    onChange: (isThere) => void changes.push(isThere),
  });
});
afterEach(() => {
  poller.stop();
  vi.useRealTimers();
});

const pass = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1000);
const count = (execute: string): number => asked.filter((one) => one === execute).length;

describe('polling', () => {
  it('asks for everything once, the list of commands first, and reports once', async () => {
    poller.setConnected(true);
    await pass(0);
    expect(asked).toEqual(ALL);
    expect([reports, changes]).toEqual([1, [true]]);
    expect(record.guest).toEqual({
      agent: { version: '8.2', commands: ALL },
      osInfo: { name: 'Debian' },
      hostname: 'h1',
      interfaces: [{ interfaceName: 'eth0', mac: '02:00', ips: ['10.0.2.2'] }],
    });
  });

  it('asks again at each topic’s pace: 10 s later at first, then twice as late, up to its interval', async () => {
    poller.setConnected(true);
    await pass(601);
    expect([count('guest-fsfreeze-status'), count('guest-get-users')]).toEqual([121, 61]);
    // 0, 10, 30, 70, 150, 270, 390, 510 s and 0, 10, 30, 70, 150, 310 s.
    expect([count('guest-get-osinfo'), count('guest-get-fsinfo'), count('guest-info')]).toEqual([8, 6, 6]);
    expect(reports).toBe(1);
  });

  it('reports what changed, and what the guest no longer is', async () => {
    poller.setConnected(true);
    await pass(1);
    answers.set('guest-fsfreeze-status', 'frozen');
    await pass(5);
    expect([record.guest.fsFreezeStatus, reports]).toEqual(['frozen', 2]);
    answers.set('guest-fsfreeze-status', 'thawed');
    await pass(5);
    expect([record.guest.fsFreezeStatus, reports]).toEqual([undefined, 3]);
  });

  it('spares an agent the commands that it does not know', async () => {
    commands = ['guest-info', 'guest-get-users'];
    poller.setConnected(true);
    await pass(20);
    expect([...new Set(asked)]).toEqual(['guest-info', 'guest-get-users']);
  });

  const FREEZING = [...ALL, 'guest-fsfreeze-freeze', 'guest-fsfreeze-thaw', 'guest-set-time'];
  const OFF_WHILE_FROZEN = FREEZING.filter((name) => !['guest-info', 'guest-fsfreeze-status', 'guest-fsfreeze-thaw'].includes(name));

  it('takes what a frozen guest switches off for no less than the agent knows', async () => {
    commands = FREEZING;
    poller.setConnected(true);
    await pass(5);
    disabled = OFF_WHILE_FROZEN;
    answers.set('guest-fsfreeze-status', 'frozen');
    await pass(10);
    expect(count('guest-info')).toBe(2);
    expect([record.guest.agent?.commands, poller.supports('guest-set-time')]).toEqual([FREEZING, true]);
  });

  it('learns what the agent knows once it is thawed, where it was frozen when it came', async () => {
    commands = FREEZING;
    disabled = OFF_WHILE_FROZEN;
    answers.set('guest-fsfreeze-status', 'frozen');
    poller.setConnected(true);
    await pass(1);
    expect([record.guest.agent, poller.supports('guest-set-time')]).toEqual([undefined, false]);
    disabled = [];
    answers.set('guest-fsfreeze-status', 'thawed');
    await pass(5);
    expect([record.guest.agent?.commands, poller.supports('guest-set-time')]).toEqual([FREEZING, true]);
  });

  it('believes an agent that may not freeze', async () => {
    commands = FREEZING;
    disabled = ['guest-fsfreeze-freeze'];
    poller.setConnected(true);
    await pass(1);
    expect(record.guest.agent?.commands).toEqual(FREEZING.filter((name) => name !== 'guest-fsfreeze-freeze'));
  });

  it('goes on when the agent is silent, and keeps what it knows', async () => {
    poller.setConnected(true);
    await pass(1);
    answers.clear();
    await pass(60);
    expect(await poller.users()).toEqual({ items: [{ userName: 'root' }] });
    expect(record.guest.osInfo).toEqual({ name: 'Debian' });
    answers.set('guest-get-users', []);
    await pass(10);
    expect(await poller.users()).toEqual({ items: [] });
  });

  it('ends with the channel, and begins anew', async () => {
    poller.setConnected(true);
    await pass(1);
    poller.setConnected(false);
    const before = asked.length;
    await pass(600);
    expect([asked.length, changes, record.agentConnected]).toEqual([before, [true, false], false]);
    await expect(poller.info()).rejects.toMatchObject({ code: 'NotReady' });
    poller.setConnected(true);
    await pass(0);
    expect(asked.slice(before)).toEqual(ALL);
  });

  it('asks one thing at a time also where the channel opens and closes all the time', async () => {
    const gate = Promise.withResolvers<string>();
    answers.set('guest-fsfreeze-status', gate.promise);
    poller.setConnected(true);
    await pass(0);
    expect(asked).toEqual(['guest-info', 'guest-fsfreeze-status']);
    for (let i = 0; i < 100; i++) {
      poller.setConnected(false);
      poller.setConnected(true);
      await pass(0);
    }
    expect(asked).toHaveLength(2);
    gate.resolve('thawed');
    await pass(0);
    expect(asked.slice(2)).toEqual(ALL);
  });

  it('gives the overview from its last answers', async () => {
    answers.set(
      'guest-get-users',
      Array.from({ length: 15 }, (_, i) => ({ user: `u${i}` })),
    );
    poller.setConnected(true);
    await pass(1);
    const info = await poller.info();
    expect(info).toMatchObject({
      guestAgentVersion: '8.2',
      hostname: 'h1',
      os: { name: 'Debian' },
      timezone: 'UTC, 0',
      fsInfo: { disks: [{ diskName: 'vda1', mountPoint: '/' }] },
    });
    expect(info.userList).toHaveLength(10);
    expect((await poller.users()).items).toHaveLength(15);
  });
});
