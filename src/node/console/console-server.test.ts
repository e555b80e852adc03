// The console server over real TLS, with unix sockets in the place of QEMU's.
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { nodeVmi, POD_UID, UID } from '../../../test/builders/node-vm.js';
import { type TestCa, type TestCertificate, testCa } from '../../../test/fakes/certificates.js';
import { scratchDir } from '../../../test/fakes/scratch.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import { silentLogger } from '../../base/logger.js';
import { type HttpsServer, requestOnce } from '../../http/index.js';
import type { CmdClient } from '../../rpc/index.js';
import { type Launcher, newLauncher } from '../launchers/launcher.js';
import { createConsoleServer } from './console-server.js';
import { durationSeconds } from './duration.js';
import { createSessions } from './sessions.js';

const CLIENT = 'kubevirt.io:system:client:virt-handler';
const BASE = '/v1/namespaces/default/virtualmachineinstances/vm';

let ca: TestCa;
let files: Record<'server' | 'client' | 'stranger', TestCertificate>;
let dir: string;
let server: HttpsServer;
let port: number;
let calls: unknown[][];
let launcher: Launcher;
/** Whether the guest has a VSOCK device, and what of it was asked for. */
let vsock: boolean | undefined;
let dialled: { port: number; tls: boolean }[];

function vsockVmi(): VirtualMachineInstance {
  const vmi = nodeVmi({ metadata: { uid: UID } });
  if (vsock !== undefined) vmi.spec.domain.devices.autoattachVSOCK = vsock;
  return vmi;
}

beforeAll(() => {
  ca = testCa();
  files = { server: ca.issue('server'), client: ca.issue(CLIENT), stranger: ca.issue('somebody') };
});

const client = (): CmdClient =>
  ({
    pauseVirtualMachine: async () => void calls.push(['pause']),
    resetVirtualMachine: async () => {
      throw new KvError('Conflict', 'the guest is not running');
    },
    freezeVirtualMachine: async (_vmi: unknown, seconds: number) => void calls.push(['freeze', seconds]),
    getUsers: async () => [{ userName: 'root' }],
    getScreenshot: async () => ({ mime: 'image/png', data: new Uint8Array([137, 80]) }),
    getSEVInfo: async () => ({ pdh: 'P' }),
    injectLaunchSecret: async (_vmi: unknown, options: unknown) => void calls.push(['secret', options]),
    redefineCheckpoint: async () => true,
    backupVirtualMachine: async () => {
      throw new KvError('NotImplemented', 'backup is not implemented');
    },
  }) as unknown as CmdClient;

beforeEach(async () => {
  dir = scratchDir();
  calls = [];
  launcher = newLauncher({ uid: UID, namespace: 'default', name: 'vm', podUid: POD_UID }, systemClock);
  launcher.client = client();
  launcher.isolation = { process: { pid: 1, startTime: '1' }, uid: 107 };
  vsock = undefined;
  dialled = [];
  server = createConsoleServer(
    {
      log: silentLogger,
      clock: systemClock,
      rootOf: () => dir,
      find: (_, name) => (name === 'vm' ? { vmi: vsockVmi(), launcher } : undefined),
      dialVsock: async ({ port: asked, tls }) => {
        if (asked === 1) throw new KvError('Unavailable', 'nobody listens');
        dialled.push({ port: asked, tls });
        return new PassThrough();
      },
    },
    { tls: { ...files.server, clientCa: () => ca.pem }, host: '127.0.0.1', port: 0, clientName: CLIENT },
  );
  port = await server.start();
});

afterEach(async () => {
  await server.stop(50);
});

const request = (method: 'GET' | 'PUT', path: string, body = '', who: 'client' | 'stranger' = 'client') =>
  requestOnce({ ...files[who], ca: () => ca.pem, serverName: 'server' }, { method, url: `https://127.0.0.1:${port}${path}`, body });

describe('commands', () => {
  it.each([
    ['pause', '', 202, ''],
    ['reset', '', 409, 'the guest is not running'],
    ['freeze', '{"unfreezeTimeout":"5m"}', 202, ''],
    ['freeze', '{}', 400, 'Unfreeze timeout in freeze request is not set'],
    ['freeze', 'no json', 400, 'Unfreeze timeout in freeze request is not set'],
    ['sev/injectlaunchsecret', '{"header":"h","secret":"s"}', 202, ''],
    ['sev/injectlaunchsecret', '', 400, 'failed to retrieve SEV secret parameters from request'],
    ['backup', '{}', 501, 'backup is not implemented'],
    ['redefine-checkpoint', '{}', 422, 'the checkpoint no longer fits the disks of the VMI'],
    ['unknown', '', 404, 'nothing is served at /v1/namespaces/default/virtualmachineinstances/vm/unknown'],
  ])('PUT %s %s → %d', async (verb, body, status, message) => {
    const answer = await request('PUT', `${BASE}/${verb}`, body);
    expect({ status: answer.status, body: answer.body.toString() }).toEqual({ status, body: message });
  });

  it('passes the time of a freeze on in seconds', async () => {
    await request('PUT', `${BASE}/freeze`, '{"unfreezeTimeout":"1m30s"}');
    expect(calls).toEqual([['freeze', 90]]);
  });

  it('answers with a picture', async () => {
    const answer = await request('GET', `${BASE}/vnc/screenshot`);
    expect([answer.status, [...answer.body]]).toEqual([200, [137, 80]]);
  });

  it('answers questions with JSON', async () => {
    expect((await request('GET', `${BASE}/sev/fetchcertchain`)).body.toString()).toBe('{"pdh":"P"}');
    const answer = await request('GET', `${BASE}/userlist`);
    expect(JSON.parse(answer.body.toString())).toEqual([{ userName: 'root' }]);
  });

  it('knows only its own VMs', async () => {
    const answer = await request('PUT', '/v1/namespaces/default/virtualmachineinstances/other/pause');
    expect({ status: answer.status, body: answer.body.toString() }).toEqual({
      status: 404,
      body: 'VMI default/other does not run on this node',
    });
  });

  it.each([
    ['pause', `?uid=${UID}`, 202],
    ['pause', '?uid=of-an-earlier-one', 404],
    ['userlist', '?uid=of-an-earlier-one', 404],
  ])('%s%s: means one VMI, not whoever has its name', async (verb, query, status) => {
    const answer = await request(verb === 'pause' ? 'PUT' : 'GET', `${BASE}/${verb}${query}`);
    expect(answer.status).toBe(status);
    expect(calls).toHaveLength(status === 202 ? 1 : 0);
  });

  it('refuses clients with another name', async () => {
    expect((await request('PUT', `${BASE}/pause`, '', 'stranger')).status).toBe(403);
    expect(calls).toEqual([]);
  });
});

interface Guest {
  readonly server: Server;
  readonly sockets: Socket[];
}

/** QEMU's end of a device, below the directory that the launcher's root is replaced by. */
async function guestDevice(name: string): Promise<Guest> {
  const folder = join(dir, 'var/run/kubevirt-private', UID);
  await mkdir(folder, { recursive: true });
  const sockets: Socket[] = [];
  const guest = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (data) => socket.write(`guest heard ${data}`));
  }).listen(join(folder, name));
  await new Promise((resolve) => guest.once('listening', resolve));
  return { server: guest, sockets };
}

function open(device: string): { ws: WebSocket; heard: string[]; closed: Promise<string> } {
  const ws = new WebSocket(`wss://127.0.0.1:${port}${BASE}/${device}`, ['plain.kubevirt.io'], {
    ca: ca.pem,
    cert: readFileSync(files.client.certFile),
    key: readFileSync(files.client.keyFile),
  });
  const heard: string[] = [];
  ws.on('message', (data) => heard.push(String(data)));
  ws.on('error', () => undefined);
  return { ws, heard, closed: new Promise((resolve) => ws.once('close', (code, reason) => resolve(`${code} ${reason}`))) };
}

describe('streams', () => {
  let guest: Guest;
  beforeEach(async () => {
    guest = await guestDevice('virt-serial0');
  });
  afterEach(async () => {
    for (const socket of guest.sockets) socket.destroy();
    guest.server.close();
  });

  it('carries bytes both ways', async () => {
    const { ws, heard } = open('console');
    await new Promise((resolve) => ws.once('open', resolve));
    ws.send(Buffer.from('hello'), { binary: true });
    await vi.waitFor(() => expect(heard).toEqual(['guest heard hello']));
    ws.close();
    await vi.waitFor(() => expect(guest.sockets[0]?.closed).toBe(true));
  });

  it('gives the console to the newcomer', async () => {
    const first = open('console');
    await new Promise((resolve) => first.ws.once('open', resolve));
    const second = open('console');
    await new Promise((resolve) => second.ws.once('open', resolve));
    expect(await first.closed).toBe('4000 another connection to this device took over');
    second.ws.send(Buffer.from('me'), { binary: true });
    await vi.waitFor(() => expect(second.heard).toEqual(['guest heard me']));
    second.ws.close();
  });

  it('says that the guest has gone', async () => {
    const { ws, closed } = open('console');
    await new Promise((resolve) => ws.once('open', resolve));
    await vi.waitFor(() => expect(guest.sockets).toHaveLength(1));
    guest.sockets[0]?.end();
    expect(await closed).toBe('4000 the guest stopped or restarted');
  });

  it('leaves the device when the client’s handshake fails', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'no key' };
    const [cert, key] = [readFileSync(files.client.certFile), readFileSync(files.client.keyFile)];
    const tls = { ca: ca.pem, cert, key, agent: false, checkServerIdentity: () => undefined };
    const asked = httpsRequest(`https://127.0.0.1:${port}${BASE}/console`, { ...tls, headers }).end();
    asked.on('error', () => undefined);
    await vi.waitFor(() => expect(guest.sockets).toHaveLength(1));
    await vi.waitFor(() => expect(guest.sockets[0]?.closed).toBe(true));
  });

  const refusalOf = ({ ws }: { ws: WebSocket }): Promise<number> =>
    new Promise((resolve) => ws.once('unexpected-response', (_req, res) => resolve(res.statusCode ?? 0)));

  it('says when the guest has no such device', async () => {
    expect(await refusalOf(open('vnc'))).toBe(404);
  });

  it.each([
    ['vsock?port=1024', undefined, 400],
    ['vsock', true, 400],
    ['vsock?port=4294967296', true, 400],
    ['vsock?port=1', true, 500],
  ])('refuses %s of a guest with VSOCK %s', async (device, autoattachVSOCK, status) => {
    vsock = autoattachVSOCK;
    expect(await refusalOf(open(device))).toBe(status);
  });

  it('connects to programs in the guest by VSOCK, as many as want to', async () => {
    vsock = true;
    const opened = [open('vsock?port=1024&tls=false'), open('vsock?port=1024&tls=true')];
    for (const { ws } of opened) await new Promise((resolve) => ws.once('open', resolve));
    expect(dialled).toEqual([
      { port: 1024, tls: false },
      { port: 1024, tls: true },
    ]);
    const echo = new Promise<string>((resolve) => opened[0]?.ws.once('message', (data) => resolve(String(data))));
    opened[0]?.ws.send(Buffer.from('hello'));
    expect(await echo).toBe('hello');
    for (const { ws } of opened) ws.close();
  });

  it('has four places for USB devices; none is taken over', async () => {
    const slots = await Promise.all([0, 1, 2, 3].map((slot) => guestDevice(`virt-usbredir-${slot}`)));
    const opened: WebSocket[] = [];
    for (let i = 0; i < 4; i++) {
      const { ws } = open('usbredir');
      await new Promise((resolve) => ws.once('open', resolve));
      opened.push(ws);
    }
    expect(slots.map(({ sockets }) => sockets.length)).toEqual([1, 1, 1, 1]);
    expect(await refusalOf(open('usbredir'))).toBe(503);
    opened[2]?.close();
    await vi.waitFor(() => expect(slots[2]?.sockets[0]?.closed).toBe(true));
    const again = open('usbredir');
    await new Promise((resolve) => again.ws.once('open', resolve));
    expect(slots[2]?.sockets).toHaveLength(2);
    for (const ws of [...opened, again.ws]) ws.close();
    for (const { server: device, sockets } of slots) {
      for (const socket of sockets) socket.destroy();
      device.close();
    }
  });
});

describe('sessions', () => {
  it('end the one before', () => {
    const sessions = createSessions();
    const first = sessions.take('console/a');
    const second = sessions.take('console/a');
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
    first.end();
    expect(sessions.isActive('console/a')).toBe(true);
    second.end();
    expect(sessions.isActive('console/a')).toBe(false);
  });
});

describe('durationSeconds', () => {
  it.each([
    ['5m', 300],
    ['1h30m', 5400],
    ['1.5s', 2],
    ['100ms', 1],
    ['0', 0],
    ['0s', 0],
    ['', undefined],
    ['5', undefined],
    ['5m!', undefined],
  ])('%s → %s', (text, expected) => {
    expect(durationSeconds(text)).toBe(expected);
  });
});
