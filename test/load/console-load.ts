// Many consoles at once through the real way: WebSocket clients → virt-api's server → the node agent's server → unix sockets in the place
// of the guests'. An hour of traffic in as little time as it takes; the clock of keep-alive runs quicker too, but not so quick that a
// busy machine's pauses look like dead peers. Used by the unit test and by the bench; counts what the process holds.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { KubeObject, VirtualMachineInstance } from '../../src/api/index.js';
import { type Clock, systemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Metrics } from '../../src/base/metrics.js';
import { clusterConfig } from '../../src/core/config/cluster-config.js';
import { createHttpsServer, type HttpsServer } from '../../src/http/index.js';
import { createConsoleServer } from '../../src/node/console/console-server.js';
import { newLauncher } from '../../src/node/launchers/launcher.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { AGENT_CERTIFICATE_NAME, DEFAULT_HEADERS, subresourceApi } from '../../src/subresources/index.js';
import { type TestCa, type TestCertificate, testCa } from '../fakes/certificates.js';
import { scratchDir } from '../fakes/scratch.js';
import { collect, type Held, held } from './held.js';

const CLIENT_NAME = 'kubevirt.io:system:client:virt-handler';
const SECONDS_PER_TICK = 5;
const CLOCK_FACTOR = 20;

export interface LoadOptions {
  readonly consoles: number;
  /** Of the guests' time. */
  readonly seconds: number;
  /** Of guests, each second of theirs. */
  readonly bytesPerSecond: number;
  /** Real time that a tick takes at least. */
  readonly tickMs: number;
}

export interface LoadFigures {
  readonly bytes: number;
  readonly realMs: number;
  readonly pings: number;
  /** Before the first console, after a fifth of the time, at the end, and when all are closed. */
  readonly before: Held;
  readonly early: Held;
  readonly late: Held;
  readonly after: Held;
  /** Consoles whose bytes were not those that their guest sent. */
  readonly damaged: number;
}

/** Time that passes so many times as fast. */
const quickClock = (factor: number): Clock => ({
  now: () => systemClock.now() * factor,
  after: (ms, run) => systemClock.after(ms / factor, run),
});

const uidOf = (name: string): string => `uid-${name}`;

export const runningVmi = (name: string): VirtualMachineInstance =>
  ({
    metadata: { name, namespace: 'default', uid: uidOf(name) },
    spec: { domain: { devices: {} } },
    status: { phase: 'Running', nodeName: 'node01' },
  }) as VirtualMachineInstance;

/** The cluster as far as streams ask for it. */
const client = {
  find: async (_resource: unknown, key: string) => runningVmi(key.split('/')[1] ?? ''),
  list: async () => ({ metadata: {}, items: [{ metadata: { name: 'agent' }, status: { podIP: '127.0.0.1' } } as unknown as KubeObject] }),
  create: async (_resource: unknown, review: object) => ({ ...review, status: { allowed: true } }),
} as unknown as KubeClient;

export interface ConsoleStack {
  /** Makes the guest's end of a console; its connections come to `onConnection`. */
  guest(name: string, onConnection: (socket: Socket) => void): Promise<void>;
  dial(name: string): Promise<WebSocket>;
  /** virt-api alone, as when it is replaced. */
  stopApi(): Promise<void>;
  close(): Promise<void>;
}

interface Parts {
  readonly proxyCa: TestCa;
  readonly ownCa: TestCa;
  readonly dir: string;
  readonly clock: Clock;
}

async function startAgent({ ownCa, dir, clock }: Parts): Promise<{ server: HttpsServer; port: number }> {
  const server = createConsoleServer(
    {
      log: silentLogger,
      clock,
      dialVsock: async () => {
        throw new Error('no VSOCK here');
      },
      rootOf: (launcher) => join(dir, launcher.ghost.name),
      find: (namespace, name) => ({
        vmi: runningVmi(name),
        launcher: newLauncher({ uid: uidOf(name), namespace, name, podUid: `pod-${name}` }, clock),
      }),
    },
    { tls: { ...ownCa.issue(AGENT_CERTIFICATE_NAME), clientCa: () => ownCa.pem }, host: '127.0.0.1', port: 0, clientName: CLIENT_NAME },
  );
  return { server, port: await server.start() };
}

async function startApi({ proxyCa, ownCa, clock }: Parts, agentPort: number): Promise<{ server: HttpsServer; port: number }> {
  const api = subresourceApi({
    client,
    config: () => clusterConfig(),
    agentTls: { ...ownCa.issue(CLIENT_NAME), ca: () => ownCa.pem, serverName: AGENT_CERTIFICATE_NAME },
    agentPort,
    installNamespace: 'kubevirt',
    identityHeaders: () => DEFAULT_HEADERS,
    kubevirt: () => undefined,
    version: 'v0.0.0',
    structure: { problems: () => [], completed: (_kind, object) => object },
    metrics: new Metrics(),
    clock,
    log: silentLogger,
  });
  const server = createHttpsServer({
    tls: { ...ownCa.issue('virt-api'), clientCa: () => proxyCa.pem },
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
    routes: api.routes,
    upgrades: api.upgrades,
  });
  return { server, port: await server.start() };
}

function dialConsole(port: number, name: string, files: TestCertificate): Promise<WebSocket> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/${name}/console`;
  const ws = new WebSocket(`wss://127.0.0.1:${port}${path}`, 'plain.kubevirt.io', {
    rejectUnauthorized: false,
    headers: { 'x-remote-user': 'jane', 'x-remote-group': 'dev' },
    cert: readFileSync(files.certFile),
    key: readFileSync(files.keyFile),
  });
  return new Promise((resolve, reject) => {
    ws.once('open', () => resolve(ws)).once('error', reject);
  });
}

export async function startConsoles(clock: Clock = systemClock): Promise<ConsoleStack> {
  const parts: Parts = { proxyCa: testCa('front-proxy'), ownCa: testCa('own'), dir: scratchDir(), clock };
  const agent = await startAgent(parts);
  const api = await startApi(parts, agent.port);
  const files = parts.proxyCa.issue('front-proxy-client');
  const guests: Server[] = [];
  return {
    async guest(name, onConnection) {
      const folder = join(parts.dir, name, 'var/run/kubevirt-private', uidOf(name));
      await mkdir(folder, { recursive: true });
      const server = createServer(onConnection);
      guests.push(server);
      await new Promise<void>((resolve) => server.listen(join(folder, 'virt-serial0'), () => resolve()));
    },
    dial: (name) => dialConsole(api.port, name, files),
    stopApi: () => api.server.stop(2_000),
    async close() {
      await Promise.all([api.server.stop(100), agent.server.stop(100)]);
      await Promise.all(guests.map((guest) => new Promise((resolve) => guest.close(resolve))));
      await rm(parts.dir, { recursive: true, force: true });
    },
  };
}

/** One console with its guest: what the one sent and the other got. */
interface Session {
  readonly ws: WebSocket;
  readonly guest: Socket;
  readonly sent: ReturnType<typeof createHash>;
  readonly got: ReturnType<typeof createHash>;
  sentBytes: number;
  gotBytes: number;
}

const line = (name: string, tick: number, bytes: number): Buffer => Buffer.from(`[${tick}] ${name} `.repeat(bytes).slice(0, bytes));

interface Guest {
  readonly name: string;
  readonly connected: Promise<Socket>;
}

async function startGuest(stack: ConsoleStack, name: string): Promise<Guest> {
  let connect: (socket: Socket) => void = () => undefined;
  const connected = new Promise<Socket>((resolve) => {
    connect = resolve;
  });
  await stack.guest(name, connect);
  return { name, connected };
}

async function openSession(stack: ConsoleStack, { name, connected }: Guest): Promise<Session> {
  const ws = await stack.dial(name);
  const session: Session = { ws, guest: await connected, sent: createHash('sha1'), got: createHash('sha1'), sentBytes: 0, gotBytes: 0 };
  ws.on('message', (data: Buffer) => {
    session.got.update(data);
    session.gotBytes += data.length;
  });
  // A guest echoes what is typed.
  session.guest.on('data', (typed: Buffer) => write(session, typed));
  return session;
}

function write(session: Session, bytes: Buffer): void {
  session.sent.update(bytes);
  session.sentBytes += bytes.length;
  session.guest.write(bytes);
}

async function playTick(sessions: readonly Session[], tick: number, options: LoadOptions): Promise<void> {
  const due = systemClock.now() + options.tickMs;
  for (const [at, session] of sessions.entries()) {
    write(session, line(`guest-${at}`, tick, options.bytesPerSecond * SECONDS_PER_TICK));
    if (tick % 2 === 0) session.ws.send(Buffer.from('x'), { binary: true });
  }
  const arrived = (): boolean => sessions.every((session) => session.gotBytes >= session.sentBytes);
  while (!arrived() || systemClock.now() < due) {
    const lost = sessions.findIndex(({ ws }) => ws.readyState !== WebSocket.OPEN);
    if (lost >= 0) throw new Error(`console ${lost} ended in tick ${tick}`);
    await wait(1);
  }
}

export async function runConsoleLoad(options: LoadOptions): Promise<LoadFigures> {
  const gc = collect();
  const ticks = Math.ceil(options.seconds / SECONDS_PER_TICK);
  const stack = await startConsoles(quickClock(CLOCK_FACTOR));
  const guests = await Promise.all(Array.from({ length: options.consoles }, (_, at) => startGuest(stack, `guest-${at}`)));
  const before = held(gc);
  const begin = systemClock.now();
  let pings = 0;
  const sessions = await Promise.all(guests.map((guest) => openSession(stack, guest)));
  for (const { ws } of sessions) ws.on('ping', () => pings++);
  let early: Held | undefined;
  for (let tick = 0; tick < ticks; tick++) {
    await playTick(sessions, tick, options);
    if (!early && tick >= ticks / 5) early = held(gc);
  }
  const late = held(gc);
  const realMs = systemClock.now() - begin;
  await Promise.all(sessions.map(({ ws }) => new Promise((resolve) => ws.once('close', resolve) && ws.close(1000))));
  for (let turns = 0; turns < 100 && sessions.some(({ guest }) => !guest.closed); turns++) await wait(10);
  const after = held(gc);
  await stack.close();
  const bytes = sessions.reduce((sum, session) => sum + session.gotBytes, 0);
  const damaged = sessions.filter(({ sent, got }) => sent.digest('hex') !== got.digest('hex')).length;
  return { bytes, realMs, pings, before, early: early ?? late, late, after, damaged };
}
