// Whether the cluster is well, and if not, the first thing that is not: processes, API server, nodes, accounts, DNS.
// Only looks; up.ts acts on it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../src/base/errors.js';
import { type Api, openApi } from './api.js';
import type { ClusterConfig } from './config.js';
import { controlPlane } from './control-plane.js';
import { isNodeRunning } from './node.js';
import { isRunning } from './processes.js';

/** The failed checks out of the verbose health answer. */
export function unreadyReason(answer: { status: number; body: string }): string | undefined {
  if (answer.status === 200) return undefined;
  const failed = [...answer.body.matchAll(/^\[-\](\S+)/gm)].map((match) => match[1]);
  return failed.length > 0 ? `not ready: ${failed.slice(0, 4).join(', ')}` : `it answers ${answer.status}`;
}

/** Nodes whose kubelet was started at `since`: what was reported before counts for nothing. */
export interface Fresh {
  readonly nodes: readonly string[];
  readonly since: number;
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

export async function unhealthyReason(config: ClusterConfig, api: Api, fresh?: Fresh): Promise<string | undefined> {
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
