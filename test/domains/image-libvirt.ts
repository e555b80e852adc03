// The launcher image's libvirt on this machine: its daemon in the image's root file system, in namespaces of its own, so that nothing of it is
// left behind. Needs root.
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KvError } from '../../src/base/errors.js';
import { silentLogger } from '../../src/base/logger.js';
import { type Connection, createLibvirt } from '../../src/libvirt/index.js';
import { scratchDir } from '../fakes/scratch.js';

/** The launcher's user. */
const USER = 107;
const START_MS = 60_000;

/** $1 is the image's root, $2 the scratch folder. tini reaps the QEMUs that libvirt asks for their abilities: it waits for them to be gone. */
const ENTER = `
set -e
mount --bind "$2" "$1/tmp"
mount --bind /dev "$1/dev"
mount -t proc proc "$1/proc"
exec chroot --userspec=${USER}:${USER} "$1" /usr/bin/tini -- /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/tmp XDG_RUNTIME_DIR=/tmp/run XDG_CONFIG_HOME=/tmp \\
  XDG_CACHE_HOME=/tmp XDG_DATA_HOME=/tmp /usr/sbin/libvirtd -f /tmp/libvirtd.conf
`;

const DAEMON = 'listen_tls = 0\nlisten_tcp = 0\nlog_outputs = "4:stderr"\n';
const DRIVER = 'stdio_handler = "file"\nnamespaces = []\ncgroup_controllers = []\nsecurity_driver = "none"\n';

export interface ImageLibvirt {
  readonly conn: Connection;
  stop(): Promise<void>;
}

export async function startImageLibvirt(root: string): Promise<ImageLibvirt> {
  if (process.getuid?.() !== 0) throw new KvError('Invalid', "the image's libvirt runs in namespaces of its own, which takes root");
  const scratch = scratchDir();
  for (const dir of [scratch, join(scratch, 'run'), join(scratch, 'libvirt')]) {
    mkdirSync(dir, { recursive: true });
    chownSync(dir, USER, USER);
  }
  writeFileSync(join(scratch, 'libvirtd.conf'), DAEMON);
  writeFileSync(join(scratch, 'libvirt', 'qemu.conf'), DRIVER);
  const child = spawn('unshare', ['--mount', '--pid', '--fork', 'sh', '-c', ENTER, 'sh', root, scratch], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const libvirt = createLibvirt(silentLogger);
  try {
    const conn = await libvirt.open(`qemu+unix:///session?socket=${await socketOf(child, scratch)}`);
    return { conn, stop: async () => await stop(child, () => conn.close().then(() => libvirt.shutdown())) };
  } catch (err) {
    await stop(child, () => libvirt.shutdown());
    throw err;
  }
}

async function socketOf(child: ChildProcess, scratch: string): Promise<string> {
  let said = '';
  child.stderr?.on('data', (data: Buffer) => {
    said += data.toString('utf8');
  });
  const socket = join(scratch, 'run/libvirt/libvirt-sock');
  for (const end = Date.now() + START_MS; Date.now() < end; await sleep(50)) {
    if (existsSync(socket)) return socket;
    if (child.exitCode !== null || child.signalCode !== null) break;
  }
  throw new KvError('Internal', `the launcher image's libvirt does not start: ${said.trim() || 'it says nothing'}`);
}

const childrenOf = (pid: number | undefined): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

async function stop(child: ChildProcess, disconnect: () => Promise<void>): Promise<void> {
  await disconnect();
  if (child.exitCode === null && child.signalCode === null) {
    const over = new Promise((resolve) => child.once('exit', resolve));
    // The first process of the namespace takes all others with it, and unshare ends when it does. The daemon has nothing to lose.
    const first = childrenOf(child.pid);
    for (const pid of first) process.kill(pid, 'SIGKILL');
    if (first.length === 0) child.kill('SIGKILL');
    await over;
  }
}
