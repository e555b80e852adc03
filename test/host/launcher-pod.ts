// A launcher as in its pod, but on this machine: the bundled process under tini, as user 107, in namespaces of its own, with a scratch
// directory for /run. The test plays the node agent: it reaches the sockets through the scratch directory.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import type { VirtualMachineInstance } from '../../src/api/index.js';
import {
  type CmdClient,
  createCmdClient,
  type DomainEvent,
  type LauncherEvent,
  type NotifyServer,
  serveNotify,
} from '../../src/rpc/index.js';
import { scratchDir } from '../fakes/scratch.js';

const QEMU_USER = 107;
const TOOLS = [
  '/usr/sbin/libvirtd',
  '/usr/bin/qemu-system-x86_64',
  '/usr/bin/qemu-img',
  '/usr/bin/xorrisofs',
  '/usr/bin/tini',
  '/usr/bin/setpriv',
];
const DIRS = ['kubevirt-private', 'kubevirt', 'kubevirt/sockets', 'kubevirt/container-disks', 'kubevirt-ephemeral-disks', 'libvirt'];

/** Says what this machine lacks, so that a run without it fails with a reason. */
export function checkPrerequisites(): void {
  const missing = TOOLS.filter((path) => !existsSync(path));
  if (process.getuid?.() !== 0) missing.unshift('root rights');
  if (missing.length > 0)
    throw new Error(
      `the launcher tests need ${missing.join(', ')}: install libvirt-daemon-driver-qemu, qemu-system-x86, qemu-utils, xorriso, tini`,
    );
}

/** Runs as the namespaces' first process; $1 is the scratch directory. The image has user 107, this machine need not. */
const ENTER = `
set -e
printf 'root:x:0:0:root:/root:/bin/sh\\nqemu:x:107:107:qemu:/var/run/kubevirt-private:/usr/sbin/nologin\\n' > "$1/passwd"
printf 'root:x:0:\\nqemu:x:107:\\n' > "$1/group"
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/group" /etc/group
mount --bind "$1" /run
mount -t sysfs sysfs /sys
ip link set lo up
if [ -f "$1/network.sh" ]; then . "$1/network.sh"; fi
node="$2"; main="$3"; shift 3
exec tini -s -- setpriv --reuid 107 --regid 107 --clear-groups env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  XDG_RUNTIME_DIR=/var/run XDG_CONFIG_HOME=/var/run/kubevirt-private XDG_CACHE_HOME=/var/run/kubevirt-private UV_THREADPOOL_SIZE=16 \\
  "$node" --lite-mode "$main" "$@"
`;

/** For the launcher's user. */
const READABLE = 0o755;

let bundle: Promise<string> | undefined;

async function makeBundle(): Promise<string> {
  const dir = scratchDir(READABLE);
  // koffi is native: the bundle finds it beside itself, as in the image.
  await symlink(resolve('node_modules'), join(dir, 'node_modules'));
  await build({
    entryPoints: ['virt-launcher', 'virt-probe', 'virt-freezer'].map((name) => `src/main/${name}.ts`),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['koffi'],
    outdir: dir,
    outExtension: { '.js': '.cjs' },
    logLevel: 'error',
  });
  return join(dir, 'virt-launcher.cjs');
}

const exec = promisify(execFile);

function makeBundleOnce(): Promise<string> {
  bundle ??= makeBundle();
  return bundle;
}

async function descendants(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.trim().split(' ').filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendants))).flat()];
}

export interface Exit {
  readonly code: number | null;
  /** The last line of what the kubelet would show. */
  readonly lastLine: string;
}

export class LauncherPod {
  readonly dir: string;
  readonly events: DomainEvent[] = [];
  readonly k8sEvents: LauncherEvent[] = [];
  readonly client: CmdClient;
  readonly #child: ChildProcess;
  readonly #notify: NotifyServer;
  readonly #exit: Promise<Exit>;
  output = '';

  private constructor(dir: string, child: ChildProcess) {
    this.dir = dir;
    this.#child = child;
    this.client = createCmdClient(join(dir, 'kubevirt/sockets/launcher-sock'));
    this.#notify = serveNotify({
      domainEvent: (event) => void this.events.push(event),
      k8sEvent: (event) => void this.k8sEvents.push(event),
    });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.#exit = new Promise((done) => {
      child.once('close', (code) => done({ code, lastLine: this.output.trim().split('\n').at(-1) ?? '' }));
    });
  }

  /** `prepare` fills the scratch directory: files for /run, and network.sh, which makes the pod's links. */
  static async start(flags: readonly string[] = [], prepare: (dir: string) => Promise<void> = async () => undefined): Promise<LauncherPod> {
    const launcher = await makeBundleOnce();
    const dir = scratchDir(READABLE);
    for (const sub of DIRS) {
      await mkdir(join(dir, sub));
      await chown(join(dir, sub), QEMU_USER, QEMU_USER);
    }
    await prepare(dir);
    await writeFile(join(dir, 'enter.sh'), ENTER);
    const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
    const identity = ['--name', 'vm1', '--namespace', 'default', '--uid', 'uid-1', '--allow-emulation'];
    const command = ['sh', join(dir, 'enter.sh'), dir, process.execPath, launcher, ...identity, ...flags];
    return new LauncherPod(dir, spawn('unshare', [...namespaces, ...command], { stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** The node agent is there and listens. */
  async listen(): Promise<void> {
    await this.#notify.listen(join(this.dir, 'kubevirt/domain-notify-pipe.sock'), { owner: { uid: QEMU_USER, gid: QEMU_USER } });
  }

  get isReady(): boolean {
    return existsSync(join(this.dir, 'kubevirt/sockets/launcher-sock'));
  }

  /** Process ids of the pod by program. */
  async pidsOf(program: string): Promise<number[]> {
    const all = await descendants(this.#child.pid ?? 0);
    const names = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
    return all.filter((_, i) => names[i]?.split('\0')[0]?.endsWith(program));
  }

  /** Runs a command in the pod's network. */
  async inNetwork(...command: string[]): Promise<string> {
    const [pid] = await this.pidsOf('tini');
    return execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, '--', ...command], { encoding: 'utf8' });
  }

  /** Runs one of the small programs of the image, as the kubelet does. */
  async runTool(name: 'virt-probe' | 'virt-freezer', ...args: string[]): Promise<Exit> {
    const file = join(dirname(await makeBundleOnce()), `${name}.cjs`);
    const command = [file, '--socket', join(this.dir, 'kubevirt/sockets/launcher-sock'), ...args];
    const { code, stderr } = await exec(process.execPath, command).then(
      (done) => ({ ...done, code: 0 }),
      (err: { code: number; stderr: string }) => err,
    );
    return { code, lastLine: stderr.trim().split('\n').at(-1) ?? '' };
  }

  async kill(program: string, signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.pidsOf(program)) process.kill(pid, signal);
  }

  exited(): Promise<Exit> {
    return this.#exit;
  }

  get states(): string[] {
    return this.events.map(
      ({ type, domain }) => `${type} ${domain?.status.status}${domain?.status.reason === 'Unknown' ? '' : `/${domain?.status.reason}`}`,
    );
  }

  /** Ends everything, whatever state it is in. */
  async remove(): Promise<void> {
    this.client.close();
    await this.#notify.close();
    // With the namespaces' first process all others go.
    this.#child.kill('SIGKILL');
    await this.#exit;
  }
}

/** A guest without an operating system: it runs, which is all these tests need. */
export function emptyGuest(patch: Partial<VirtualMachineInstance['spec']> = {}): VirtualMachineInstance {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm1', namespace: 'default', uid: 'uid-1' },
    spec: {
      architecture: 'amd64',
      terminationGracePeriodSeconds: 5,
      domain: {
        machine: { type: 'q35' },
        memory: { guest: '64Mi' },
        cpu: { cores: 1 },
        firmware: { uuid: '5d307ca9-b3ef-428c-8861-06e72d69f223' },
        devices: {
          disks: [
            { name: 'scratch', disk: { bus: 'virtio' } },
            { name: 'init', disk: { bus: 'virtio' } },
          ],
          interfaces: [],
        },
      },
      volumes: [
        { name: 'scratch', emptyDisk: { capacity: '32Mi' } },
        { name: 'init', cloudInitNoCloud: { userData: '#!/bin/sh\n' } },
      ],
      ...patch,
    },
    status: { runtimeUser: QEMU_USER },
  };
}
