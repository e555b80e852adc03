// The way between two nodes with real sockets: two pods are directories, two node agents two objects.
import { mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCa, testCa } from '../../../test/fakes/certificates.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { nameFault, type PeerTls } from './peer-tls.js';
import { channelsOf, sourceRoute, statusPorts } from './plan.js';
import { MigrationProxies, type PodEnd } from './proxies.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
const DIR = 'var/run/kubevirt/migrationproxy';
const uid = process.getuid?.() ?? 0;
let ca: TestCa;
let good: PeerTls;
let dir: string;
const opened: MigrationProxies[] = [];
const servers: Server[] = [];

beforeAll(() => {
  ca = testCa();
  good = tlsOf('kubevirt.io:system:client:migration');
});
const tlsOf = (name: string, from = ca): PeerTls => ({ ...from.issue(name), ca: () => ca.pem, kinds: ['virt-handler', 'migration'] });

beforeEach(async () => {
  dir = scratchDir();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((proxies) => proxies.close()));
  for (const server of servers.splice(0)) server.close();
});

async function pod(name: string): Promise<PodEnd> {
  const root = join(dir, name);
  await mkdir(join(root, DIR), { recursive: true });
  await mkdir(join(root, 'var/run/libvirt'), { recursive: true });
  return { root, uid };
}

function agent(tls: PeerTls | undefined): MigrationProxies {
  const proxies = new MigrationProxies(ctx, { tls: () => tls, listen: '127.0.0.1' });
  opened.push(proxies);
  return proxies;
}

/** Answers everything with its name before it, and ends when the other side does. */
async function echo(path: string, name: string): Promise<Socket[]> {
  const seen: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    seen.push(socket);
    socket.on('error', () => undefined);
    socket.write(`${name}:`);
    socket.pipe(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return seen;
}

/** Sends, ends its own direction, and gives what came back. */
function ask(path: string, text: string | Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks)));
    socket.on('close', () => resolve(Buffer.concat(chunks)));
    socket.on('error', reject);
    socket.end(text);
  });
}

interface Ends {
  readonly source: PodEnd;
  readonly target: PodEnd;
  readonly from: MigrationProxies;
  readonly to: MigrationProxies;
}

/** undefined: without TLS. */
async function wayOf(from: PeerTls | undefined, to: PeerTls | undefined): Promise<Ends> {
  const ends = { source: await pod('source'), target: await pod('target'), from: agent(from), to: agent(to) };
  const ports = await ends.to.openTarget('u1', ends.target, ['libvirt', 'memory', 'disks']);
  await ends.from.openSource('u1', ends.source, { address: '127.0.0.1', ports });
  return ends;
}

const way = (): Promise<Ends> => wayOf(good, good);
const sourceSocket = ({ source }: Ends, name: string): string => join(source.root, DIR, `u1-${name}source.sock`);

describe('the way of a migration', () => {
  it.each<[string, boolean]>([
    ['with mutual TLS', true],
    ['in the clear', false],
  ])('leads each channel to its socket, %s', async (_title, isSecret) => {
    const ends = await (isSecret ? way() : wayOf(undefined, undefined));
    await echo(join(ends.target.root, 'var/run/libvirt/libvirt-sock'), 'libvirt');
    await echo(join(ends.target.root, DIR, 'u1-49152-source.sock'), 'memory');
    await echo(join(ends.target.root, DIR, 'u1-49153-source.sock'), 'disks');
    for (const [name, channel] of [
      ['', 'libvirt'],
      ['49152-', 'memory'],
      ['49153-', 'disks'],
    ] as const) {
      expect((await ask(sourceSocket(ends, name), 'hello')).toString()).toBe(`${channel}:hello`);
    }
    await expect.poll(() => ends.from.active + ends.to.active).toBe(0);
  });

  it('passes on many bytes on several connections at once', async () => {
    const ends = await way();
    await echo(join(ends.target.root, DIR, 'u1-49152-source.sock'), 'm');
    const bytes = Buffer.alloc(3_000_000, 'x');
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(sourceSocket(ends, '49152-'), bytes)));
    expect(answers.map(({ length }) => length)).toEqual(Array(8).fill(bytes.length + 2));
  });

  it('ends connections when nothing listens in the pod yet', async () => {
    const ends = await way();
    expect((await ask(sourceSocket(ends, '49152-'), 'x')).length).toBe(0);
    await expect.poll(() => ends.from.active + ends.to.active).toBe(0);
  });

  it('cuts what is under way when it is closed, and leaves no socket behind', async () => {
    const ends = await way();
    const seen = await echo(join(ends.target.root, DIR, 'u1-49152-source.sock'), 'm');
    const socket = connect(sourceSocket(ends, '49152-'));
    const closed = new Promise((resolve) => socket.resume().once('close', resolve));
    await expect.poll(() => seen.length).toBe(1);
    await ends.from.closeSource('u1');
    await closed;
    await expect.poll(() => seen[0]?.destroyed).toBe(true);
    expect(await readdir(join(ends.source.root, DIR))).toEqual([]);
    await expect(ends.from.closeSource('u1')).resolves.toBeUndefined();
  });

  it('breaks the other side when one breaks', async () => {
    const ends = await way();
    const seen = await echo(join(ends.target.root, DIR, 'u1-49152-source.sock'), 'm');
    const socket = connect(sourceSocket(ends, '49152-'));
    const closed = new Promise((resolve) => socket.resume().once('close', resolve));
    socket.on('error', () => undefined);
    await expect.poll(() => seen.length).toBe(1);
    seen[0]?.destroy();
    await closed;
  });

  it('opens once for the same, and anew for something else', async () => {
    const ends = await way();
    const ports = await ends.to.openTarget('u1', ends.target, ['libvirt', 'memory', 'disks']);
    expect(await ends.to.openTarget('u1', ends.target, ['libvirt', 'memory', 'disks'])).toEqual(ports);
    const other = await ends.to.openTarget('u1', ends.target, ['libvirt']);
    expect(Object.keys(other)).toEqual(['libvirt']);
    await ends.from.openSource('u1', ends.source, { address: '127.0.0.1', ports: other });
    expect(await readdir(join(ends.source.root, DIR))).toEqual(['u1-source.sock']);
    expect((await stat(join(ends.source.root, DIR, 'u1-source.sock'))).isSocket()).toBe(true);
  });

  it('takes the place of what a dead node agent left', async () => {
    const ends = await way();
    await ends.from.closeSource('u1');
    await writeFile(sourceSocket(ends, ''), '');
    await ends.from.openSource('u1', ends.source, { address: '127.0.0.1', ports: { libvirt: 1 } });
    expect((await stat(sourceSocket(ends, ''))).isSocket()).toBe(true);
  });
});

describe('strangers', () => {
  it.each<[string, () => PeerTls, () => PeerTls]>([
    ['a client of another name', () => tlsOf('kubevirt.io:system:client:vsock'), () => good],
    ['a client of another authority', () => tlsOf('kubevirt.io:system:client:migration', testCa()), () => good],
    ['a server of another name', () => good, () => tlsOf('kubevirt.io:system:client:monitoring')],
    ['a server of another authority', () => good, () => tlsOf('kubevirt.io:system:node:virt-handler', testCa())],
  ])('are not led anywhere: %s', async (_title, from, to) => {
    const ends = await wayOf(from(), to());
    const seen = await echo(join(ends.target.root, 'var/run/libvirt/libvirt-sock'), 'libvirt');
    expect((await ask(sourceSocket(ends, ''), 'hello')).length).toBe(0);
    expect(seen).toEqual([]);
  });

  it('knows node agents by the end of their name', () => {
    const fault = (CN: string): boolean => nameFault(['virt-handler', 'migration'], { subject: { CN } } as never) !== undefined;
    expect(
      ['kubevirt.io:system:node:virt-handler', 'kubevirt.io:system:client:migration', 'x:migration', 'kubevirt.io:system:client:other'].map(
        fault,
      ),
    ).toEqual([false, false, true, true]);
  });

  it('says what is missing before it listens', async () => {
    const proxies = agent({ ...good, ca: () => undefined });
    await expect(proxies.openTarget('u1', await pod('target'), ['libvirt'])).rejects.toMatchObject({ code: 'NotReady' });
    const other = agent({ ...good, certFile: '/nowhere' });
    await expect(other.openTarget('u1', await pod('target'), ['libvirt'])).rejects.toMatchObject({
      message: expect.stringContaining('/nowhere'),
    });
  });

  it('does not follow links out of the pod', async () => {
    const ends = await way();
    const outside = join(dir, 'outside');
    await mkdir(outside);
    const seen = await echo(join(outside, 'u1-49152-source.sock'), 'outside');
    await rm(join(ends.target.root, DIR), { recursive: true });
    await symlink(outside, join(ends.target.root, DIR));
    expect((await ask(sourceSocket(ends, '49152-'), 'x')).length).toBe(0);
    expect(seen).toEqual([]);
  });
});

describe('the status', () => {
  const vmi = (migrationState: object, bus: object = { containerDisk: { image: 'x' } }): VirtualMachineInstance => ({
    metadata: { name: 'web', namespace: 'shop' },
    spec: { domain: { devices: { disks: [{ name: 'root', disk: {} }] } }, volumes: [{ name: 'root', ...bus }] },
    status: { migrationState },
  });

  it.each<[string, object, unknown]>([
    ['without address', { targetDirectMigrationNodePorts: { 4001: 0 } }, undefined],
    ['without ports', { targetNodeAddress: '10.0.0.2' }, undefined],
    [
      'of a node agent that listens',
      { targetNodeAddress: '10.0.0.2', targetDirectMigrationNodePorts: { 4001: 0, 4002: 49152 } },
      { address: '10.0.0.2', ports: { libvirt: 4001, memory: 4002 } },
    ],
    [
      'of another cluster',
      { targetState: { nodeAddress: '10.0.0.3', directMigrationNodePorts: { 4003: 49153 } } },
      { address: '10.0.0.3', ports: { disks: 4003 } },
    ],
  ])('%s', (_title, state, expected) => {
    expect(sourceRoute(vmi(state))).toEqual(expected);
  });

  it.each<[string, object]>([
    ['an unknown channel', { 4001: 7 }],
    ['a port that is none', { x: 0 }],
  ])('refuses %s', (_title, targetDirectMigrationNodePorts) => {
    expect(() => sourceRoute(vmi({ targetNodeAddress: 'a', targetDirectMigrationNodePorts }))).toThrow(
      expect.objectContaining({ code: 'Invalid' }),
    );
  });

  it('has a channel for disks where some are copied', () => {
    expect(channelsOf(vmi({}))).toEqual(['libvirt', 'memory', 'disks']);
    expect(channelsOf(vmi({}, { persistentVolumeClaim: { claimName: 'c' } }))).toEqual(['libvirt', 'memory']);
    expect(statusPorts({ libvirt: 4001, disks: 4003 })).toEqual({ 4001: 0, 4003: 49153 });
  });
});
