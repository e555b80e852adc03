// The launcher as its image has it, on this machine and without a cluster: the image's root with its own node, libvirt and QEMU, in namespaces of
// its own, as user 107. For benchmarks: tells when it became ready and what its processes take, and answers commands.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KvError } from '../../src/base/errors.js';
import { type CmdClient, createCmdClient } from '../../src/rpc/index.js';
import { scratchDir } from '../fakes/scratch.js';
import { familyOf, type ProcessMemory, processMemory } from './memory.js';

export const QEMU_USER = 107;
const DIRS = ['kubevirt-private', 'kubevirt', 'kubevirt/sockets', 'kubevirt/container-disks', 'kubevirt-ephemeral-disks', 'libvirt'];
const POLL_MS = 5;
const TIMEOUT_MS = 60_000;
const OUTSIDE = ['sh', 'unshare'];

/** $1 is the scratch directory, $2 the image's root. The file `started` is made at the last moment before the container's command. */
const ENTER = `
set -e
dir="$1"; root="$2"; shift 2
mount --bind "$root" "$dir/root"
mount --bind "$dir/run" "$dir/root/run"
mount -t tmpfs tmpfs "$dir/root/tmp"
mount -t proc proc "$dir/root/proc"
mount -t sysfs sysfs "$dir/root/sys"
mount --rbind /dev "$dir/root/dev"
if [ -f "$dir/virt-launcher.js" ]; then mount --bind "$dir/virt-launcher.js" "$dir/root/app/virt-launcher.js"; fi
ip link set lo up
: > "$dir/started"
exec chroot --userspec=${QEMU_USER}:${QEMU_USER} --groups= "$dir/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  XDG_RUNTIME_DIR=/var/run XDG_CONFIG_HOME=/var/run/kubevirt-private XDG_CACHE_HOME=/var/run/kubevirt-private \\
  /usr/bin/tini -s -- /usr/bin/virt-launcher "$@"
`;

export interface Readiness {
  /** From the start of the container's command to the published command socket. */
  readonly ms: number;
  /** Processor time of its processes until then. */
  readonly cpuMs: number;
}

/** Nanoseconds on a processor, the first figure of schedstat, of all threads. */
function cpuNs(pid: number): number {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    return tasks.reduce((sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]), 0);
  } catch {
    // The process, or one of its threads, ended meanwhile: what it took is left out.
    return 0;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (err) {
    // Ended with the one before.
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

interface Options {
  readonly program?: string;
  /** Fills the container's /run before it starts. */
  readonly prepare?: (run: string) => Promise<void>;
}

export class ImageLauncher {
  readonly client: CmdClient;
  /** The container's /run. */
  readonly run: string;
  readonly #dir: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #output = '';

  private constructor(dir: string, child: ChildProcess) {
    this.#dir = dir;
    this.run = join(dir, 'run');
    this.#child = child;
    this.client = createCmdClient(this.#socket);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#exit = new Promise((done) => child.once('close', done));
  }

  /** `root` is the image's file system; nothing is written to it. `program` takes the place of the image's bundle. */
  static async start(root: string, { program, prepare }: Options = {}): Promise<ImageLauncher> {
    const dir = scratchDir();
    await chmod(dir, 0o755);
    for (const sub of ['root', 'run']) await mkdir(join(dir, sub));
    for (const sub of DIRS) {
      await mkdir(join(dir, 'run', sub));
      await chown(join(dir, 'run', sub), QEMU_USER, QEMU_USER);
    }
    if (program !== undefined) await copyFile(program, join(dir, 'virt-launcher.js'));
    await prepare?.(join(dir, 'run'));
    const namespaces = ['--mount', '--net', '--pid', '--fork', '--propagation', 'private'];
    const identity = ['--name', 'vm1', '--namespace', 'default', '--uid', 'uid-1', '--allow-emulation'];
    const command = ['sh', '-c', ENTER, 'sh', dir, root, ...identity];
    return new ImageLauncher(dir, spawn('unshare', [...namespaces, ...command], { stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  get #socket(): string {
    return join(this.run, 'kubevirt/sockets/launcher-sock');
  }

  async ready(): Promise<Readiness> {
    const deadline = Date.now() + TIMEOUT_MS;
    while (!existsSync(this.#socket)) {
      if (this.#child.exitCode !== null || Date.now() > deadline)
        throw new KvError('Timeout', `the launcher did not become ready; it said: ${this.#output.trim() || 'nothing'}`);
      await sleep(POLL_MS);
    }
    const cpu = this.#pids.reduce((sum, pid) => sum + cpuNs(pid), 0);
    // Publishing is a renaming, which the socket's change time tells.
    return { ms: statSync(this.#socket).ctimeMs - statSync(join(this.#dir, 'started')).mtimeMs, cpuMs: cpu / 1e6 };
  }

  /** What it printed so far. */
  get output(): string {
    return this.#output;
  }

  get #pids(): number[] {
    return familyOf(this.#child.pid ?? 0);
  }

  /** The processes of the container. */
  get processes(): ProcessMemory[] {
    return this.#pids.map(processMemory).filter(({ program, rss }) => rss > 0 && !OUTSIDE.includes(program));
  }

  async remove(): Promise<void> {
    this.client.close();
    // With the namespaces' first process all others go. It is killed by itself: it changed its user, and the kernel forgot whose child it is.
    for (const pid of this.#pids.toReversed()) kill(pid);
    await this.#exit;
    await rm(this.#dir, { recursive: true, force: true });
  }
}
