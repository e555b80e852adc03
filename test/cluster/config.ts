// What the local cluster looks like: names, addresses, folders and versions, as one typed value that every other file here
// takes. Pure but for the two environment overrides, which clusterConfig() is handed by its callers.
import { createHash } from 'node:crypto';
import { basename, join, resolve } from 'node:path';

export interface NodeConfig {
  readonly name: string;
  readonly ip: string;
  readonly podCidr: string;
  readonly podGateway: string;
  /** The same of IPv6, for pods; the cluster itself talks IPv4. */
  readonly ip6: string;
  readonly podCidr6: string;
  readonly podGateway6: string;
  /** The host's end of the node's cable; at most 15 characters. */
  readonly hostLink: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The node's own folder below the state folder. */
  readonly dir: string;
}

export interface ClusterConfig {
  readonly stateDir: string;
  readonly logsDir: string;
  readonly pkiDir: string;
  readonly pidsDir: string;
  readonly binDir: string;
  readonly kubeconfig: string;
  readonly cacheDir: string;
  readonly bridge: string;
  readonly hostIp: string;
  readonly nodeNet: string;
  readonly podNet: string;
  /** The host's address of IPv6 on the nodes' network. */
  readonly hostIp6: string;
  readonly podNet6: string;
  readonly serviceNet: string;
  readonly apiServiceIp: string;
  readonly dnsServiceIp: string;
  readonly dnsPort: number;
  readonly apiPort: number;
  readonly domain: string;
  readonly pauseImage: string;
  readonly toolImage: string;
  readonly cgroup: string;
  /** Where the machine's local clusters find each other. */
  readonly registerDir: string;
  /** Nodes see the machine's /dev/kvm. */
  readonly kvm: boolean;
  readonly nodes: readonly NodeConfig[];
}

export interface ClusterEnv {
  readonly KUBEVIRT_TS_CLUSTER_DIR?: string | undefined;
  readonly KUBEVIRT_TS_CACHE?: string | undefined;
  /** `1` lets guests use the machine's KVM; without, a device that may be useless is not offered. */
  readonly KUBEVIRT_TS_CLUSTER_KVM?: string | undefined;
  readonly XDG_CACHE_HOME?: string | undefined;
  readonly HOME?: string | undefined;
}

const STATE_DIR = '/var/lib/kubevirt-ts-cluster';
const NODE_COUNT = 2;
/** Unique local addresses (RFC 4193). */
const NODE_NET6 = 'fd6b:7674:ac1e';
const POD_NET6 = 'fd6b:7674:aaf4';

export function cacheDir(env: ClusterEnv): string {
  return env.KUBEVIRT_TS_CACHE || join(env.XDG_CACHE_HOME || join(env.HOME || '/root', '.cache'), 'kubevirt-ts');
}

export function clusterConfig(env: ClusterEnv): ClusterConfig {
  const stateDir = resolve(env.KUBEVIRT_TS_CLUSTER_DIR || STATE_DIR);
  return {
    stateDir,
    logsDir: join(stateDir, 'logs'),
    pkiDir: join(stateDir, 'pki'),
    pidsDir: join(stateDir, 'pids'),
    binDir: join(stateDir, 'bin'),
    kubeconfig: join(stateDir, 'kubeconfig'),
    cacheDir: cacheDir(env),
    bridge: 'kvts0',
    hostIp: '172.30.0.1',
    nodeNet: '172.30.0.0/24',
    podNet: '10.244.0.0/16',
    hostIp6: `${NODE_NET6}::1`,
    podNet6: `${POD_NET6}::/48`,
    serviceNet: '10.96.0.0/16',
    apiServiceIp: '10.96.0.1',
    dnsServiceIp: '10.96.0.10',
    dnsPort: 5353,
    apiPort: 6443,
    domain: 'cluster.local',
    pauseImage: 'localhost/kubevirt-ts/pause:1',
    toolImage: 'localhost/kubevirt-ts/busybox:1',
    cgroup: groupName(stateDir),
    registerDir: '/run/kubevirt-ts-clusters',
    kvm: env.KUBEVIRT_TS_CLUSTER_KVM === '1',
    nodes: Array.from({ length: NODE_COUNT }, (_, at) => nodeConfig(stateDir, at + 1)),
  };
}

/** Unlike for every folder: `down` ends whatever is in its group, and two folders may have one name. */
function groupName(stateDir: string): string {
  if (stateDir === STATE_DIR) return basename(stateDir);
  return `${basename(stateDir)}-${createHash('sha256').update(stateDir).digest('hex').slice(0, 8)}`;
}

function nodeConfig(stateDir: string, number: number): NodeConfig {
  const name = `node${number}`;
  return {
    name,
    ip: `172.30.0.${10 + number}`,
    podCidr: `10.244.${number}.0/24`,
    podGateway: `10.244.${number}.1`,
    ip6: `${NODE_NET6}::${10 + number}`,
    podCidr6: `${POD_NET6}:${number}::/64`,
    podGateway6: `${POD_NET6}:${number}::1`,
    hostLink: `kvts-${name}`,
    // Components with an affinity to the control plane must find a node; there is no taint, so that both nodes take VMs.
    labels: number === 1 ? { 'node-role.kubernetes.io/control-plane': '' } : {},
    dir: join(stateDir, name),
  };
}

export function apiUrl(config: ClusterConfig): string {
  return `https://${config.hostIp}:${config.apiPort}`;
}
