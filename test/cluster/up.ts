// Brings the cluster up, or repairs what of it died: every step first looks whether its result is there already.
// A cluster that cannot be repaired is torn down and built anew, once.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KvError, messageOf } from '../../src/base/errors.js';
import { type Api, openApi } from './api.js';
import { ensureBinaries, linkBinaries } from './binaries.js';
import { adoptProcess, type CgroupLayout, createCgroups, readCgroupLayout } from './cgroups.js';
import type { ClusterConfig } from './config.js';
import { controlPlane, renderAuditPolicy, renderCorefile } from './control-plane.js';
import { tearDown } from './down.js';
import { loadIntoNode, writeOwnImages } from './images.js';
import { withLock } from './lock.js';
import { ensureHostNetwork } from './network.js';
import { ensureAgents, ensureNodeRuntime, isNodeRunning } from './node.js';
import { baseObjects } from './objects.js';
import { ensurePki } from './pki.js';
import { isAlive, readRecord, readRecords } from './process-records.js';
import { type Daemon, ensureDaemon, isRunning, logTail } from './processes.js';
import { type Log, seconds } from './progress.js';
import { waitFor } from './wait.js';

const TIMEOUT_MS = 90_000;

export async function up(config: ClusterConfig, log: Log): Promise<void> {
  assertRoot();
  const binaries = (await ensureBinaries(config, log)).join('\n');
  await withLock(`${config.stateDir}.lock`, log, async () => {
    if (await isHealthy(config)) {
      log(`the cluster is up already: ${config.nodes.length} nodes Ready`);
      if (readText(binariesFile(config)) !== binaries) log('it runs programs of other sources; `cluster down` and `up` renew them');
      return;
    }
    await bringUpOrRebuild(config, binaries, log);
  });
}

function assertRoot(): void {
  if (process.getuid?.() !== 0)
    throw new KvError('Forbidden', 'the local cluster needs root (namespaces, mounts, control groups): run it with sudo');
}

async function bringUpOrRebuild(config: ClusterConfig, binaries: string, log: Log): Promise<void> {
  const started = Date.now();
  const partly = readRecords(config.pidsDir).some((record) => isAlive(record)) && readText(binariesFile(config)) === binaries;
  if (!partly) await tearDown(config, log);
  else log('the cluster is up in part: repairing it');
  try {
    await bringUp(config, binaries, log);
  } catch (err) {
    if (!partly) throw err;
    log(`the repair failed (${messageOf(err)}): tearing the cluster down to build it anew`);
    await tearDown(config, log);
    await bringUp(config, binaries, log);
  }
  log(`the cluster is up after ${seconds(Date.now() - started)}; kubeconfig: ${config.kubeconfig}`);
}

async function bringUp(config: ClusterConfig, binaries: string, log: Log): Promise<void> {
  mkdirSync(config.stateDir, { recursive: true, mode: 0o700 });
  mkdirSync(config.logsDir, { recursive: true });
  if (!existsSync(config.binDir)) linkBinaries(config);
  writeFileSync(binariesFile(config), binaries);
  writeFileSync(join(config.stateDir, 'audit-policy.yaml'), renderAuditPolicy());
  writeFileSync(join(config.stateDir, 'Corefile'), renderCorefile(config, readText('/etc/resolv.conf')));
  await ensurePki(config);
  const cgroups = readCgroupLayout();
  createCgroups(
    cgroups,
    config.cgroup,
    config.nodes.map((node) => node.name),
  );
  await ensureHostNetwork(config);
  log(`certificates, bridge and control groups (version ${cgroups.version}) are ready`);
  const archives = writeOwnImages(config);
  const api = openApi(config);
  try {
    const [, leaders] = await Promise.all([startControlPlane(config, api, cgroups, log), startRuntimes(config, cgroups, archives, log)]);
    const restarted = config.nodes.filter((node) => !isNodeRunning(config, node)).map((node) => node.name);
    const since = Date.now();
    for (const [at, node] of config.nodes.entries()) await ensureAgents(config, node, leaders[at] ?? 0, cgroups);
    await waitForCluster({ config, api, log, fresh: { nodes: restarted, since } });
  } finally {
    api.close();
  }
}

async function startControlPlane(config: ClusterConfig, api: Api, cgroups: CgroupLayout, log: Log): Promise<void> {
  const { etcd, apiserver, followers } = controlPlane(config);
  const start = async (daemon: Daemon) => adoptProcess(cgroups, config.cgroup, (await ensureDaemon(config, daemon)).pid);
  await start(etcd);
  await start(apiserver);
  await waitFor({
    what: 'the API server',
    timeoutMs: TIMEOUT_MS,
    check: async () => unreadyReason(await api.get('/readyz?verbose')),
    hopeless: () => [etcd, apiserver].map((daemon) => endedReason(config, daemon.name)).find((reason) => reason !== undefined),
    evidence: () => evidence(config, ['etcd', 'kube-apiserver']),
    log,
  });
  log('the API server is ready');
  for (const { collection, object } of baseObjects(config)) await api.apply(collection, object);
  for (const daemon of followers) await start(daemon);
}

/** The failed checks out of the verbose health answer. */
export function unreadyReason(answer: { status: number; body: string }): string | undefined {
  if (answer.status === 200) return undefined;
  const failed = [...answer.body.matchAll(/^\[-\](\S+)/gm)].map((match) => match[1]);
  return failed.length > 0 ? `not ready: ${failed.slice(0, 4).join(', ')}` : `it answers ${answer.status}`;
}

async function startRuntimes(config: ClusterConfig, cgroups: CgroupLayout, archives: readonly string[], log: Log): Promise<number[]> {
  return await Promise.all(
    config.nodes.map(async (node) => {
      const leader = await ensureNodeRuntime(config, node, cgroups, log);
      for (const archive of archives) await loadIntoNode(config, node, leader, archive);
      log(`${node.name}: namespaces and containerd are ready`);
      return leader;
    }),
  );
}

/** Nodes whose kubelet was started at `since`: what was reported before counts for nothing. */
interface Fresh {
  readonly nodes: readonly string[];
  readonly since: number;
}

interface ClusterWait {
  readonly config: ClusterConfig;
  readonly api: Api;
  readonly log: Log;
  readonly fresh: Fresh;
}

async function waitForCluster({ config, api, log, fresh }: ClusterWait): Promise<void> {
  const daemons = daemonNames(config);
  await waitFor({
    what: 'the nodes',
    timeoutMs: TIMEOUT_MS,
    check: () => unhealthyReason(config, api, fresh),
    hopeless: () => daemons.map((name) => endedReason(config, name)).find((reason) => reason !== undefined),
    evidence: () => evidence(config, daemons),
    log,
  });
}

function daemonNames(config: ClusterConfig): string[] {
  const { etcd, apiserver, followers } = controlPlane(config);
  const agents = config.nodes.flatMap((node) => ['', '-containerd', '-kubelet', '-kube-proxy'].map((part) => `${node.name}${part}`));
  return [etcd, apiserver, ...followers].map((daemon) => daemon.name).concat(agents);
}

function endedReason(config: ClusterConfig, name: string): string | undefined {
  const record = readRecord(config.pidsDir, name);
  return record && !isAlive(record) ? `${name} ended; the end of its log:\n${logTail(config, name)}` : undefined;
}

/** The ends of the logs of those that are not well, or of all of them when all live. */
function evidence(config: ClusterConfig, names: readonly string[]): string {
  return names.map((name) => `--- ${name}\n${logTail(config, name, 5)}`).join('\n');
}

export interface NodeStatus {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly NodeCondition[] };
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** Why a node is not Ready; a node that never reported has no such condition. */
export function notReadyReason(node: NodeStatus): string | undefined {
  const ready = node.status?.conditions?.find((condition) => condition.type === 'Ready');
  if (ready?.status === 'True') return undefined;
  return `${node.metadata.name}: ${ready?.message ?? 'its kubelet has not reported yet'}`;
}

/** A kubelet renews its lease at its start, but repeats an unchanged status only minutes later. */
async function staleReason(api: Api, fresh: Fresh): Promise<string | undefined> {
  for (const node of fresh.nodes) {
    const answer = await api.get(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`);
    const lease = answer.status === 200 ? (JSON.parse(answer.body) as { spec: { renewTime?: string } }) : undefined;
    if (!(Date.parse(lease?.spec.renewTime ?? '') >= fresh.since)) return `${node}: its kubelet has not reported since it was started`;
  }
  return undefined;
}

const ACCOUNTS = ['default', 'kube-system'];

async function unhealthyReason(config: ClusterConfig, api: Api, fresh?: Fresh): Promise<string | undefined> {
  const unready = unreadyReason(await api.get('/readyz?verbose'));
  if (unready !== undefined) return `API server ${unready}`;
  const nodes = await api.read<{ items: NodeStatus[] }>('/api/v1/nodes');
  const reason = nodes.items.map(notReadyReason).find((each) => each !== undefined);
  if (reason !== undefined) return reason;
  if (nodes.items.length < config.nodes.length) return `${nodes.items.length} of ${config.nodes.length} nodes are there`;
  for (const namespace of ACCOUNTS) {
    // Without the account every pod of the namespace is refused.
    const account = await api.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`);
    if (account.status !== 200) return `namespace ${namespace} has no default service account yet`;
  }
  return (fresh && (await staleReason(api, fresh))) ?? (await dnsReason(config));
}

async function dnsReason(config: ClusterConfig): Promise<string | undefined> {
  const answer = await fetch(`http://${config.hostIp}:${config.dnsPort + 2}/ready`, { signal: AbortSignal.timeout(2000) });
  return answer.ok ? undefined : 'cluster DNS is not ready';
}

export async function isHealthy(config: ClusterConfig): Promise<boolean> {
  return (await statusReason(config)) === undefined;
}

/** Nothing when all is well, else the first thing that is not. */
export async function statusReason(config: ClusterConfig): Promise<string | undefined> {
  if (!existsSync(join(config.pkiDir, 'complete'))) return 'it was not started';
  const { etcd, apiserver, followers } = controlPlane(config);
  const dead = [etcd, apiserver, ...followers].find((daemon) => !isRunning(config, daemon));
  if (dead) return `${dead.name} does not run`;
  const node = config.nodes.find((each) => !isNodeRunning(config, each));
  if (node) return `a part of ${node.name} does not run`;
  const api = openApi(config);
  try {
    return await unhealthyReason(config, api);
  } catch (err) {
    return messageOf(err);
  } finally {
    api.close();
  }
}

function binariesFile(config: ClusterConfig): string {
  return join(config.stateDir, 'binaries');
}

function readText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
