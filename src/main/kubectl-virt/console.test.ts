// The console over a real WebSocket: keys out, text in, leaving by the escape key, by the end of input and by the other side.
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { VirtualMachine, VirtualMachineInstance } from '../../api/index.js';
import { type Clock, systemClock } from '../../base/clock.js';
import { parseCommand } from './arguments.js';
import type { Cluster } from './cluster.js';
import { consoleCommand, runConsole, takeInput } from './console.js';
import { lifecycleRequest } from './lifecycle.js';
import type { Terminal } from './terminal.js';
import { hopeless, waitingFor, waitUntilRunning } from './wait.js';

let server: WebSocketServer;
let guest: WebSocket | undefined;
const heard: string[] = [];
const notes: string[] = [];

beforeAll(async () => {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await new Promise((resolve) => server.once('listening', resolve));
  server.on('connection', (ws) => {
    guest = ws;
    ws.on('message', (data) => {
      heard.push(String(data));
      ws.send(Buffer.from(`echo ${data}`));
    });
  });
});

afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

beforeEach(() => {
  heard.splice(0);
  notes.splice(0);
});

const dial = (): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(`ws://127.0.0.1:${(server.address() as { port: number }).port}`);
    ws.once('open', () => resolve(ws)).once('error', reject);
  });

function terminal(): Terminal & { input: PassThrough; output: PassThrough; abort: AbortController } {
  const abort = new AbortController();
  return { input: new PassThrough(), output: new PassThrough(), note: (line) => void notes.push(line), signal: abort.signal, abort };
}

/** A clock whose delays end at once. */
const hurried: Clock = {
  now: () => 0,
  after: (_ms, fn) => {
    const timer = setImmediate(fn);
    return () => clearImmediate(timer);
  },
};

describe('takeInput', () => {
  it.each([
    ['ls\n', 'ls\n', false],
    ['\x1d', '', true],
    ['exit\x1dmore', 'exit', true],
  ])('%j', (given, send, leave) => {
    expect(takeInput(Buffer.from(given))).toEqual({ send: Buffer.from(send), leave });
  });
});

describe('runConsole', () => {
  it('sends keys, shows text and leaves with Ctrl+]', async () => {
    const term = terminal();
    const ended = runConsole(await dial(), term, systemClock);
    term.input.write('root\n');
    const shown = await new Promise<string>((resolve) => term.output.once('data', (d) => resolve(String(d))));
    expect([shown, heard]).toEqual(['echo root\n', ['root\n']]);
    term.input.write('\x1d');
    expect(await ended).toEqual({ how: 'left', reason: '' });
  });

  it('ends some silence after the end of piped input', async () => {
    const term = terminal();
    const ended = runConsole(await dial(), term, hurried);
    term.input.end();
    expect(await ended).toMatchObject({ how: 'input-ended' });
  });

  it('tells when the other side has gone, and leaves on Ctrl-C', async () => {
    const gone = terminal();
    const lost = runConsole(await dial(), gone, systemClock);
    guest?.terminate();
    expect(await lost).toEqual({ how: 'disconnected', reason: '' });

    const stopped = terminal();
    const left = runConsole(await dial(), stopped, systemClock);
    stopped.abort.abort();
    expect(await left).toMatchObject({ how: 'left' });
  });
});

describe('consoleCommand', () => {
  it.each([
    ['the guest stopped', 'Disconnected: the guest stopped.'],
    ['', 'Disconnected: the guest stopped or restarted, somebody else opened this console, or the network failed.'],
  ])('fails with the reason %j of the other side', async (reason, told) => {
    const cluster = { namespace: 'default', dial } as unknown as Cluster;
    const code = consoleCommand(cluster, 'web', terminal(), systemClock);
    const before = guest;
    await vi.waitFor(() => expect(guest).not.toBe(before));
    guest?.close(1000, reason);
    expect([await code, notes.at(-1)?.trim()]).toEqual([1, told]);
  });
});

describe('waiting', () => {
  const vmi = (phase: string, message?: string): VirtualMachineInstance =>
    ({ status: { phase, conditions: message ? [{ type: 'Ready', status: 'False', message }] : [] } }) as unknown as VirtualMachineInstance;

  const vm = (spec: object, status: object = {}): VirtualMachine => ({ metadata: {}, spec, status }) as VirtualMachine;

  it('names the reason', () => {
    expect([waitingFor(undefined), waitingFor(vmi('')), waitingFor(vmi('Scheduling', 'no node fits'))]).toEqual([
      'it has not been created yet',
      'Pending',
      'Scheduling: no node fits',
    ]);
  });

  const STOPPED = 'it is stopped; start it first: kubectl virt start web -n prod';
  it.each([
    ['Halted', vm({ runStrategy: 'Halted' }), STOPPED],
    ['running: false', vm({ running: false }), STOPPED],
    ['Manual', vm({ runStrategy: 'Manual' }, { printableStatus: 'Stopped' }), STOPPED],
    ['Once, over', vm({ runStrategy: 'Once' }, { printableStatus: 'Stopped' }), STOPPED],
    ['asked to start', vm({ runStrategy: 'Manual' }, { stateChangeRequests: [{ action: 'Start' }] }), undefined],
    ['Always, since a moment ago', vm({ runStrategy: 'Always' }, { printableStatus: 'Stopped' }), undefined],
    ['Once', vm({ runStrategy: 'Once' }), undefined],
    ['running: true', vm({ running: true }), undefined],
  ])('without a VMI: %s', (_title, machine, expected) => {
    expect(hopeless(machine, { name: 'web', namespace: 'prod' })).toBe(expected);
  });

  it('tells each reason once and ends when it runs', async () => {
    const states = [undefined, vmi('Scheduling'), vmi('Scheduling'), vmi('Running')];
    const cluster = { namespace: 'default', vmi: async () => states.shift(), vm: async () => vm({ runStrategy: 'Always' }) };
    await waitUntilRunning(cluster, 'web', 1, { clock: hurried, terminal: terminal() });
    expect(notes).toEqual(['Waiting for default/web: it has not been created yet', 'Waiting for default/web: Scheduling']);
  });

  it.each([
    ['has ended', vmi('Failed'), /has ended \(Failed\): see kubectl describe vmi web$/],
    ['is late', vmi('Scheduling', 'no node fits'), /does not run after 0 min \(Scheduling: no node fits\): see kubectl describe vmi web$/],
    ['is not there', undefined, /^there is no such machine; .*: kubectl get vm$/],
  ])('gives up when it %s', async (_title, state, message) => {
    const cluster = { namespace: 'default', vmi: async () => state, vm: async () => undefined };
    await expect(waitUntilRunning(cluster, 'web', 0, { clock: hurried, terminal: terminal() })).rejects.toThrow(message);
  });
});

describe('lifecycleRequest', () => {
  const request = (line: string): unknown => {
    const parsed = parseCommand(line.split(' '));
    if ('problem' in parsed) throw new Error(parsed.problem);
    return lifecycleRequest(parsed.command.verb as 'start', parsed.command).options;
  };
  it.each([
    ['start web', {}],
    ['start web --paused', { paused: true }],
    ['stop web --force', { gracePeriod: 0 }],
    ['stop web --grace-period 7 --dry-run', { gracePeriod: 7, dryRun: ['All'] }],
    ['restart web --force', { gracePeriodSeconds: 0 }],
    ['pause web', {}],
    ['migrate web --dry-run', { dryRun: ['All'] }],
    ['removevolume web --volume-name data', { name: 'data' }],
    [
      'addvolume web --volume-name data --serial d1',
      {
        name: 'data',
        disk: { name: 'data', disk: { bus: 'scsi' }, serial: 'd1' },
        volumeSource: { persistentVolumeClaim: { claimName: 'data' } },
      },
    ],
  ])('%s', (line, options) => {
    expect(request(line)).toEqual(options);
  });

  it.each([
    ['addvolume web --volume-name data', 'virtualmachines'],
    ['addvolume web --volume-name data --ephemeral', 'virtualmachineinstances'],
  ])('%s is asked of %s', (line, resource) => {
    const parsed = parseCommand(line.split(' '));
    expect('command' in parsed && lifecycleRequest('addvolume', parsed.command).resource).toBe(resource);
  });
});
