// One node: a process that is the init of its own network, mount, PID and UTS namespaces (the leader), and inside them
// containerd, kube-proxy and the kubelet, each started from here and each repaired on its own.
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { adoptInto, type CgroupLayout } from './cgroups.js';
import type { ClusterConfig, NodeConfig } from './config.js';
import { connectNode, hasIpv6 } from './network.js';
import * as render from './node-config.js';
import { isAlive, readRecord } from './process-records.js';
import { type Daemon, ended, ensureDaemon, isRunning, logTail, stopRecorded } from './processes.js';
import type { Log } from './progress.js';
import { waitFor } from './wait.js';

export function leaderDaemon(node: NodeConfig): Daemon {
  const unshare = ['unshare', '--mount', '--net', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
  return { name: node.name, command: [...unshare, 'sh', join(node.dir, 'node.sh')], viaChild: true };
}

/** The pid of the node's first process as the host sees it: what nsenter takes. */
export function leaderPid(config: ClusterConfig, node: NodeConfig): number | undefined {
  const record = readRecord(config.pidsDir, node.name);
  return isAlive(record) ? record.pid : undefined;
}

export function containerdDaemon(config: ClusterConfig, node: NodeConfig, leader: number): Daemon {
  const command = [join(config.binDir, 'containerd'), '--config', join(node.dir, 'containerd.toml')];
  // containerd looks for its shim and for runc on its PATH.
  return { ...inNode(`${node.name}-containerd`, leader, command), env: { PATH: `${config.binDir}:${process.env.PATH}` } };
}

export function agentDaemons(config: ClusterConfig, node: NodeConfig, leader: number): Daemon[] {
  return [
    inNode(`${node.name}-kubelet`, leader, [join(config.binDir, 'kubelet'), ...render.kubeletArgs(config, node)]),
    inNode(`${node.name}-kube-proxy`, leader, [join(config.binDir, 'kube-proxy'), ...render.proxyArgs(config, node)]),
  ];
}

function inNode(name: string, leader: number, command: readonly string[]): Daemon {
  return { name, command: ['nsenter', '-t', String(leader), '-m', '-n', '-u', '-p', '--', ...command], viaChild: true };
}

export function isNodeRunning(config: ClusterConfig, node: NodeConfig): boolean {
  const leader = leaderPid(config, node);
  if (leader === undefined || !isRunning(config, leaderDaemon(node))) return false;
  return [containerdDaemon(config, node, leader), ...agentDaemons(config, node, leader)].every((daemon) => isRunning(config, daemon));
}

/** Namespaces, cable and containerd; returns the leader's pid. */
export async function ensureNodeRuntime(config: ClusterConfig, node: NodeConfig, cgroups: CgroupLayout, log: Log): Promise<number> {
  const adopt = adoptInto(cgroups, config.cgroup);
  if (leaderPid(config, node) === undefined) prepareNode(config, node, cgroups);
  const leader = (await ensureDaemon(config, leaderDaemon(node), adopt)).pid;
  await waitFor({
    what: `the namespaces of ${node.name}`,
    timeoutMs: 15_000,
    check: () => (existsSync(render.readyFile(node)) ? undefined : 'its mounts are being set up'),
    hopeless: () => (leaderPid(config, node) === undefined ? ended(config, node.name).message : undefined),
    log,
    pollMs: 10,
  });
  await connectNode(config, node, leader);
  await ensureDaemon(config, containerdDaemon(config, node, leader), adopt);
  await waitForContainerd(config, node, leader, log);
  return leader;
}

function prepareNode(config: ClusterConfig, node: NodeConfig, cgroups: CgroupLayout): void {
  mkdirSync(join(node.dir, 'cgroup'), { recursive: true });
  for (const [path, name] of render.PRIVATE_DIRS) {
    mkdirSync(join(node.dir, name), { recursive: true });
    rememberMade(config, mkdirSync(path, { recursive: true }), path);
  }
  rmSync(render.readyFile(node), { force: true });
  const mounts = cgroups.version === 1 ? cgroups.mounts : [cgroups.mount];
  const script = render.renderNodeScript(node, mounts, config);
  writeFileSync(join(node.dir, 'node.sh'), script);
  writeFileSync(join(node.dir, 'containerd.toml'), render.renderContainerd(config));
  writeFileSync(join(node.dir, 'kubelet.yaml'), render.renderKubelet(config, node, totalmem()));
  writeFileSync(join(node.dir, 'etc-cni-net.d', '10-pods.conflist'), render.renderCni(node, { ipv6: hasIpv6() }));
}

async function waitForContainerd(config: ClusterConfig, node: NodeConfig, leader: number, log: Log): Promise<void> {
  const name = `${node.name}-containerd`;
  await waitFor({
    what: `containerd on ${node.name}`,
    timeoutMs: 30_000,
    check: async () =>
      (await answers(`/proc/${leader}/root${render.CONTAINERD_SOCKET}`)) ? undefined : 'it does not answer on its socket yet',
    hopeless: () => (isAlive(readRecord(config.pidsDir, name)) ? undefined : ended(config, name).message),
    evidence: () => logTail(config, name),
    log,
    pollMs: 20,
  });
}

/** The file alone proves nothing: a killed daemon leaves it behind. */
function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

export async function ensureAgents(config: ClusterConfig, node: NodeConfig, leader: number, cgroups: CgroupLayout): Promise<void> {
  for (const daemon of agentDaemons(config, node, leader)) await ensureDaemon(config, daemon, adoptInto(cgroups, config.cgroup));
}

/** The kernel ends everything in the PID namespace together with its first process, and the mounts and links with it. */
export async function stopNode(config: ClusterConfig, node: NodeConfig): Promise<void> {
  await stopRecorded(config, node.name, 0);
  for (const part of ['kubelet', 'kube-proxy', 'containerd']) await stopRecorded(config, `${node.name}-${part}`, 0);
}

function madeFile(config: Pick<ClusterConfig, 'stateDir'>): string {
  return join(config.stateDir, 'made-dirs');
}

/** Mount points that had to be made on the host: `down` takes them away again. `first` is the topmost new folder. */
function rememberMade(config: ClusterConfig, first: string | undefined, path: string): void {
  if (first === undefined) return;
  const made: string[] = [];
  for (let dir = path; dir.length >= first.length; dir = join(dir, '..')) made.push(dir);
  writeFileSync(madeFile(config), `${made.join('\n')}\n`, { flag: 'a' });
}

/** With neighbours the folders are in use: to remove a mount point takes the mount away in every namespace. One of them inherits the list. */
export function removeMadeDirs(config: Pick<ClusterConfig, 'stateDir'>, [heir]: readonly string[]): void {
  if (!existsSync(madeFile(config))) return;
  if (heir !== undefined) {
    writeFileSync(madeFile({ stateDir: heir }), readFileSync(madeFile(config)), { flag: 'a' });
    return;
  }
  const dirs = readFileSync(madeFile(config), 'utf8').split('\n').filter(Boolean);
  for (const dir of dirs.sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(dir);
    } catch (err) {
      // Somebody uses the folder by now, or removed it: not ours any more.
      if (!['ENOTEMPTY', 'ENOENT', 'EBUSY'].includes((err as NodeJS.ErrnoException).code ?? '')) throw err;
    }
  }
}
