// The local cluster for other TypeScript code (tests, benchmarks, the demo): brings it up if need be and hands out what
// they work with. The command line is main.ts.
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import { type ClusterConfig, clusterConfig } from './config.js';
import { down } from './down.js';
import { statusReason } from './health.js';
import { loadIntoNode } from './images.js';
import { leaderPid } from './node.js';
import { type Log, timedLog } from './progress.js';
import { run } from './run.js';
import { up } from './up.js';

export interface ClusterNode {
  readonly name: string;
  readonly ip: string;
  /** The first process of the node's namespaces, for nsenter. */
  readonly pid: number;
}

export interface ClusterHandle {
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  readonly logsDir: string;
  /** An image with a shell and the usual small tools, present on every node. */
  readonly toolImage: string;
  readonly nodes: readonly ClusterNode[];
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  /** Loads an OCI or docker archive into every node; does nothing when this very file is there already. */
  readonly load: (archive: string) => Promise<void>;
  readonly down: () => Promise<void>;
}

export interface ClusterOptions {
  readonly log?: Log;
  readonly config?: ClusterConfig;
}

const KUBECTL_TIMEOUT_MS = 600_000;

export async function ensureUp(options: ClusterOptions = {}): Promise<ClusterHandle> {
  const { config, log } = settings(options);
  await up(config, log);
  return openHandle(config, log);
}

/** The running cluster; throws with the reason when it is not up. */
export async function attach(options: ClusterOptions = {}): Promise<ClusterHandle> {
  const { config, log } = settings(options);
  const reason = await statusReason(config);
  if (reason !== undefined) throw new KvError('NotReady', `the cluster is not up (${reason}); start it with \`npm run cluster -- up\``);
  return openHandle(config, log);
}

function settings(options: ClusterOptions): { config: ClusterConfig; log: Log } {
  return {
    config: options.config ?? clusterConfig(process.env),
    log: options.log ?? timedLog((line) => process.stderr.write(`${line}\n`)),
  };
}

function openHandle(config: ClusterConfig, log: Log): ClusterHandle {
  const kubectlPath = join(config.binDir, 'kubectl');
  return {
    kubeconfig: config.kubeconfig,
    kubectlPath,
    logsDir: config.logsDir,
    toolImage: config.toolImage,
    nodes: config.nodes.map((node) => ({ name: node.name, ip: node.ip, pid: nodePid(config, node.name) })),
    kubectl: (args, input) =>
      run([kubectlPath, '--kubeconfig', config.kubeconfig, ...args], {
        timeoutMs: KUBECTL_TIMEOUT_MS,
        ...(input !== undefined && { input }),
      }),
    load: async (archive) => {
      await loadEverywhere(config, archive);
    },
    down: () => down(config, log),
  };
}

export function nodePid(config: ClusterConfig, name: string): number {
  const node = config.nodes.find((each) => each.name === name);
  if (!node) throw new KvError('NotFound', `there is no node ${name}; the nodes are ${config.nodes.map((each) => each.name).join(', ')}`);
  const pid = leaderPid(config, node);
  if (pid === undefined) throw new KvError('NotReady', `${name} does not run; start the cluster with \`npm run cluster -- up\``);
  return pid;
}

export async function loadEverywhere(config: ClusterConfig, archive: string): Promise<string[]> {
  const names = await Promise.all(config.nodes.map((node) => loadIntoNode(config, node, nodePid(config, node.name), archive)));
  return [...new Set(names.flat())];
}
