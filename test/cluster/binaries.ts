// The programs of the cluster, built from the Go modules under go/ and kept in the cache folder under the hash of their
// sources, so that another clone with the same sources finds them. Prints what it builds and how far it is.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { KvError } from '../../src/base/errors.js';
import type { ClusterConfig } from './config.js';
import { withLock } from './lock.js';
import { type Log, seconds } from './progress.js';
import { run } from './run.js';

export interface GoModule {
  readonly name: string;
  readonly packages: readonly string[];
  readonly ldflags: string;
  /** Program of the module → the names under which it is called. */
  readonly programs: Readonly<Record<string, readonly string[]>>;
}

const CONTAINERD = 'github.com/containerd/containerd/v2';

const kubernetesVersion = (version: string) =>
  ['k8s.io/client-go/pkg/version', 'k8s.io/component-base/version']
    .flatMap((at) => [
      `-X ${at}.gitVersion=v${version}`,
      `-X ${at}.gitMajor=${version.split('.')[0]}`,
      `-X ${at}.gitMinor=${version.split('.')[1]}`,
    ])
    .join(' ');

export const MODULES: readonly GoModule[] = [
  {
    name: 'kubernetes',
    packages: ['.'],
    ldflags: `-s -w ${kubernetesVersion('1.36.3')}`,
    programs: { kubernetes: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'kubelet', 'kubectl'] },
  },
  { name: 'etcd', packages: ['.'], ldflags: '-s -w', programs: { etcd: ['etcd'] } },
  {
    name: 'containerd',
    packages: ['containerd', 'ctr', 'containerd-shim-runc-v2'].map((command) => `${CONTAINERD}/cmd/${command}`),
    ldflags: `-s -w -X ${CONTAINERD}/version.Version=v2.2.9`,
    programs: { containerd: ['containerd'], ctr: ['ctr'], 'containerd-shim-runc-v2': ['containerd-shim-runc-v2'] },
  },
  { name: 'coredns', packages: ['.'], ldflags: '-s -w', programs: { coredns: ['coredns'] } },
  {
    name: 'storage',
    packages: ['.', 'github.com/rancher/local-path-provisioner'],
    ldflags: '-s -w',
    programs: { storage: ['loop-provisioner'], 'local-path-provisioner': ['local-path-provisioner'] },
  },
];

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), 'go');
const REPORT_MS = 10_000;

/** One key for the module's sources and the way it is built. */
export function moduleKey(module: GoModule, files: ReadonlyMap<string, Buffer>, architecture: string): string {
  const hash = createHash('sha256').update(JSON.stringify([module.packages, module.ldflags, architecture]));
  for (const [name, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(`\0${name}\0`).update(content);
  return `${module.name}-${hash.digest('hex').slice(0, 16)}`;
}

function readSources(module: GoModule): Map<string, Buffer> {
  const dir = join(SOURCES, module.name);
  return new Map(readdirSync(dir).map((file) => [file, readFileSync(join(dir, file))]));
}

export function moduleDir(config: ClusterConfig, module: GoModule): string {
  return join(config.cacheDir, 'bin', moduleKey(module, readSources(module), process.arch));
}

/** Builds what the cache does not have and returns the keys of the programs in use. */
export async function ensureBinaries(config: ClusterConfig, log: Log): Promise<string[]> {
  const dirs: string[] = [];
  for (const module of MODULES) {
    const dir = moduleDir(config, module);
    if (!existsSync(dir)) {
      await withLock(`${dir}.lock`, log, async () => {
        if (!existsSync(dir)) await build(module, dir, log);
      });
    }
    dirs.push(dir);
  }
  return dirs;
}

/** Every program under its names in one folder, which the components' command lines use. */
export function linkBinaries(config: ClusterConfig): void {
  rmSync(config.binDir, { recursive: true, force: true });
  mkdirSync(config.binDir, { recursive: true });
  for (const module of MODULES) {
    for (const [program, names] of Object.entries(module.programs)) {
      for (const name of names) symlinkSync(join(moduleDir(config, module), program), join(config.binDir, name));
    }
  }
}

async function build(module: GoModule, dir: string, log: Log): Promise<void> {
  const cwd = join(SOURCES, module.name);
  log(`building ${module.name}: looking up its packages (first time on this machine: they are downloaded)`);
  const env = { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -trimpath -buildvcs=false' };
  const total = (await run(['go', 'list', '-deps', ...module.packages], { cwd, env, timeoutMs: 900_000 })).split('\n').length;
  const partial = `${dir}.partial-${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    await compile({ module, partial, cwd, env, total, log });
    renameSync(partial, dir);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

interface Compilation {
  readonly module: GoModule;
  readonly partial: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly total: number;
  readonly log: Log;
}

async function compile({ module, partial, cwd, env, total, log }: Compilation): Promise<void> {
  const started = Date.now();
  const output = module.packages.length > 1 ? `${partial}/` : join(partial, module.name);
  const child = spawn('go', ['build', '-v', '-ldflags', module.ldflags, '-o', output, ...module.packages], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const other: string[] = [];
  let built = 0;
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (/^\S+$/.test(line)) built++;
    else other.push(line);
  });
  const report = () => log(`building ${module.name}: ${built} packages compiled of at most ${total}, ${seconds(Date.now() - started)}`);
  const timer = setInterval(report, REPORT_MS);
  // Whoever ends this process early does not leave a compiler running.
  const kill = () => child.kill();
  process.once('exit', kill);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) throw new KvError('Terminal', `\`go build\` of ${module.name} in ${cwd} failed:\n${other.slice(-20).join('\n')}`);
  } finally {
    clearInterval(timer);
    process.off('exit', kill);
  }
  log(`built ${module.name} in ${seconds(Date.now() - started)}`);
}
