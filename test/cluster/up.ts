// Brings the cluster up, or repairs what of it died: every step first looks whether its result is there already.
// A cluster that cannot be repaired is torn down and built anew, once.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KvError, messageOf } from '../../src/base/errors.js';
import { type Api, openApi } from './api.js';
import { ensureBinaries, linkBinaries } from './binaries.js';
import { adoptInto, type CgroupLayout, createCgroups, readCgroupLayout } from './cgroups.js';
import type { ClusterConfig } from './config.js';
import { controlPlane, renderAuditPolicy, renderCorefile } from './control-plane.js';
import { tearDown } from './down.js';
import { type Fresh, isHealthy, unhealthyReason, unreadyReason } from './health.js';
import { loadIntoNode, writeOwnImages } from './images.js';
import { withLock } from './lock.js';
import { assertBridgeIsOurs, register } from './neighbours.js';
import { bridgeOwner, ensureHostNetwork } from './network.js';
import { ensureAgents, ensureNodeRuntime, isNodeRunning } from './node.js';
import { baseObjects } from './objects.js';
import { ensurePki } from './pki.js';
import { isAlive, readRecord, readRecords } from './process-records.js';
import { type Daemon, ended, ensureDaemon, logTail } from './processes.js';
import { type Log, seconds } from './progress.js';
import { storageFiles } from './storage.js';
import { waitFor } from './wait.js';

const TIMEOUT_MS = 90_000;

export async function up(config: ClusterConfig, log: Log): Promise<void> {
  assertRoot();
  const binaries = (await ensureBinaries(config, log)).join('\n');
  await withLock(`${config.stateDir}.lock`, log, async () => {
    assertBridgeIsOurs(await bridgeOwner(config), config);
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
  register(config);
  if (!existsSync(config.binDir)) linkBinaries(config);
  writeFileSync(binariesFile(config), binaries);
  writeFileSync(join(config.stateDir, 'audit-policy.yaml'), renderAuditPolicy());
  writeFileSync(join(config.stateDir, 'Corefile'), renderCorefile(config, readText('/etc/resolv.conf')));
  for (const [file, content] of Object.entries(storageFiles(config))) writeFileSync(file, content);
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
  const start = (daemon: Daemon) => ensureDaemon(config, daemon, adoptInto(cgroups, config.cgroup));
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
    evidence: () => evidence(config, [...daemons.filter((name) => /-(containerd|kubelet)$/.test(name)), 'coredns']),
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
  return record && !isAlive(record) ? ended(config, name).message : undefined;
}

function evidence(config: ClusterConfig, names: readonly string[]): string {
  return names.map((name) => `--- ${name}\n${logTail(config, name, 5)}`).join('\n');
}

function binariesFile(config: ClusterConfig): string {
  return join(config.stateDir, 'binaries');
}

function readText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
