// QEMU's helper for SCSI persistent reservations as virt-handler's pod runs it, and a QEMU of the launchers' user that connects to it. What a
// guest then reserves needs a SCSI device, which this machine need not have.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { offerSocket } from '../../src/node/devices/shared-socket.js';
import { scratchDir } from '../fakes/scratch.js';

const QEMU_USER = 107;
const HELPER = '/usr/bin/qemu-pr-helper';
const QEMU = '/usr/bin/qemu-system-x86_64';

/** For the launchers' user, who need not write here. */
const READABLE = 0o755;

const COMMANDS = ['qmp_capabilities', 'query-pr-managers', 'quit'].map((execute) => JSON.stringify({ execute })).join('\n');

let socket: string;
let helper: ChildProcess | undefined;

beforeAll(() => {
  const missing = [HELPER, QEMU, '/usr/bin/setpriv'].filter((path) => !existsSync(path));
  if (missing.length > 0) throw new Error(`missing ${missing.join(', ')}: install qemu-system-x86 and qemu-system-common`);
});

async function startHelper(): Promise<void> {
  helper = spawn(HELPER, ['-k', socket], { stdio: 'ignore' });
  await vi.waitFor(async () => expect((await stat(socket)).isSocket()).toBe(true));
}

function killHelper(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown> {
  const ended = new Promise((resolve) => helper?.once('exit', resolve));
  helper?.kill(signal);
  return ended;
}

beforeEach(async () => {
  socket = join(scratchDir(READABLE), 'pr-helper.sock');
  await startHelper();
});

afterEach(() => void helper?.kill('SIGKILL'));

/** What a QEMU of the launchers' user says of its connection, or why it does not start. */
async function askQemu(): Promise<string> {
  const manager = `pr-manager-helper,id=pr-helper0,path=${socket}`;
  const qemu = ['-machine', 'none', '-nodefaults', '-display', 'none', '-object', manager, '-qmp', 'stdio'];
  const child = spawn('/usr/bin/setpriv', ['--reuid', `${QEMU_USER}`, '--regid', `${QEMU_USER}`, '--clear-groups', QEMU, ...qemu], {
    cwd: dirname(socket),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.on('error', () => undefined); // it ended without reading
  child.stdin.end(COMMANDS);
  await new Promise((resolve) => child.once('close', resolve));
  return output;
}

const CONNECTED = /"connected": true, "id": "pr-helper0"|"id": "pr-helper0", "connected": true/;

describe('the helper for reservations', () => {
  it('takes connections of a launcher once the socket is its own', async () => {
    expect(await askQemu()).toMatch(/Permission denied/);
    expect(await offerSocket('/', socket, QEMU_USER)).toBe(true);
    expect(await askQemu()).toMatch(CONNECTED);
  });

  it('is known to be away when it was killed, and back when it was started again', async () => {
    await killHelper('SIGKILL');
    expect((await stat(socket)).isSocket()).toBe(true);
    expect(await offerSocket('/', socket, QEMU_USER)).toBe(false);
    await startHelper();
    await vi.waitFor(async () => expect(await offerSocket('/', socket, QEMU_USER)).toBe(true));
    expect(await askQemu()).toMatch(CONNECTED);
  });

  it('ends when it is told to, although somebody is connected', async () => {
    await offerSocket('/', socket, QEMU_USER);
    const guest = connect(socket).on('error', () => undefined); // reset by the helper's end
    await new Promise((resolve) => guest.once('connect', resolve));
    guest.write(Buffer.alloc(4)); // the handshake: no features
    await killHelper('SIGTERM');
    guest.destroy();
    expect(await offerSocket('/', socket, QEMU_USER)).toBe(false);
  });
});
