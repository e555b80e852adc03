// The cluster's cables: a bridge on the host, one veth pair a node, routes to the nodes' pods, and source translation
// towards the outside. Everything here is found again by its fixed name or range, so `down` needs no records for it.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import { overlaps } from './addresses.js';
import type { ClusterConfig, NodeConfig } from './config.js';
import { type BridgeLink, ownerOfBridge } from './neighbours.js';
import { run, tryRun } from './run.js';

const NFT_TABLE = 'kubevirt_ts_cluster';
const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
const DISABLE_IPV6 = '/proc/sys/net/ipv6/conf/all/disable_ipv6';

interface Route {
  readonly dst: string;
  readonly dev: string;
}

export async function ensureHostNetwork(config: ClusterConfig): Promise<void> {
  await assertRangesFree(config);
  // Both are built into some kernels and modules of others; without br_netfilter a service's own node cannot reach it.
  for (const name of ['br_netfilter', 'overlay', 'nf_tables']) await tryRun(['modprobe', name]);
  if (!(await tryRun(['ip', 'link', 'show', config.bridge]))) {
    await run(['ip', 'link', 'add', config.bridge, 'type', 'bridge']);
  }
  await run(['ip', 'link', 'set', config.bridge, 'alias', config.stateDir]);
  await run(['ip', 'addr', 'replace', `${config.hostIp}/24`, 'dev', config.bridge]);
  await run(['ip', 'link', 'set', config.bridge, 'up']);
  if (hasIpv6()) await run(['ip', 'addr', 'replace', `${config.hostIp6}/64`, 'dev', config.bridge, 'nodad']);
  for (const node of config.nodes) {
    for (const [range, gateway] of podRoutes(node)) await run(['ip', 'route', 'replace', range, 'via', gateway, 'dev', config.bridge]);
  }
  rememberForwarding(config);
  writeFileSync(FORWARDING, '1');
  await run(['nft', '-f', '-'], { input: renderHostNft(config) });
  await allowForwarding(config);
}

/** Pods get IPv6 addresses too where the machine has IPv6 at all; services and the way out of the machine are IPv4's. */
export function hasIpv6(): boolean {
  return existsSync(DISABLE_IPV6) && readFileSync(DISABLE_IPV6, 'utf8').trim() === '0';
}

const podRoutes = (node: NodeConfig): (readonly [range: string, gateway: string])[] => [
  [node.podCidr, node.ip],
  ...(hasIpv6() ? [[node.podCidr6, node.ip6] as const] : []),
];

/** Clear words now instead of a cluster whose packets vanish. */
async function assertRangesFree(config: ClusterConfig): Promise<void> {
  const routes = JSON.parse(await run(['ip', '-json', '-4', 'route', 'show'])) as Route[];
  const taken = findConflict(config, routes);
  if (!taken) return;
  throw new KvError(
    'Terminal',
    `the cluster needs the range ${taken.range}, but this machine already routes ${taken.route.dst} through ${taken.route.dev}; remove that network, then try again`,
  );
}

export function findConflict(config: ClusterConfig, routes: readonly Route[]): { range: string; route: Route } | undefined {
  for (const range of [config.nodeNet, config.podNet, config.serviceNet]) {
    const route = routes.find((each) => each.dev !== config.bridge && each.dst !== 'default' && overlaps(range, each.dst));
    if (route) return { range, route };
  }
  return undefined;
}

export function renderHostNft(config: ClusterConfig): string {
  return `table ip ${NFT_TABLE}
delete table ip ${NFT_TABLE}
table ip ${NFT_TABLE} {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    ip saddr { ${config.nodeNet}, ${config.podNet} } oifname != "${config.bridge}" masquerade
  }
}
`;
}

export function renderNodeNft(config: ClusterConfig): string {
  return `table ip ${NFT_TABLE}
delete table ip ${NFT_TABLE}
table ip ${NFT_TABLE} {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    ip saddr ${config.podNet} ip daddr != { ${config.podNet}, ${config.nodeNet} } masquerade
  }
}
`;
}

/** A container engine on the host sets its FORWARD chain to drop, bridged packets included: let the cluster's bridge through. */
async function allowForwarding(config: ClusterConfig): Promise<void> {
  const policy = await forwardRules();
  if (!policy.includes('-P FORWARD DROP')) return;
  for (const direction of ['-i', '-o']) {
    const rule = ['FORWARD', direction, config.bridge, '-j', 'ACCEPT'];
    if (!(await tryRun(['iptables', '-C', ...rule]))) await run(['iptables', '-I', ...rule]);
  }
}

async function forwardRules(): Promise<string> {
  try {
    return await run(['iptables', '-S', 'FORWARD']);
  } catch {
    // No iptables, no such chain.
    return '';
  }
}

function savedForwarding(config: ClusterConfig): string {
  return join(config.stateDir, 'ip_forward.before');
}

function rememberForwarding(config: ClusterConfig): void {
  if (!existsSync(savedForwarding(config))) writeFileSync(savedForwarding(config), readFileSync(FORWARDING, 'utf8'));
}

/** Gives the node's namespace its cable, address and routes. The far end disappears together with the namespace. */
export async function connectNode(config: ClusterConfig, node: NodeConfig, leader: number): Promise<void> {
  const inside = ['nsenter', '-t', String(leader), '-n', '--'];
  if (await tryRun([...inside, 'ip', 'link', 'show', 'eth0'])) return;
  await tryRun(['ip', 'link', 'del', node.hostLink]);
  await run(['ip', 'link', 'add', node.hostLink, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(leader)]);
  await run(['ip', 'link', 'set', node.hostLink, 'master', config.bridge, 'up']);
  const others = config.nodes.filter((other) => other.name !== node.name);
  const batch = [
    'link set lo up',
    `addr add ${node.ip}/24 dev eth0`,
    ...(hasIpv6() ? [`addr add ${node.ip6}/64 dev eth0 nodad`] : []),
    'link set eth0 up',
    `route add default via ${config.hostIp}`,
    ...others.flatMap(podRoutes).map(([range, gateway]) => `route add ${range} via ${gateway}`),
  ];
  await run([...inside, 'ip', '-batch', '-'], { input: `${batch.join('\n')}\n` });
  await run([...inside, 'nft', '-f', '-'], { input: renderNodeNft(config) });
  await run([...inside, 'sh', '-c', nodeSysctls]);
}

// Bridged packets pass the filters, so that the answer to a pod on the same bridge has its service address restored.
const nodeSysctls = `
echo 1 > /proc/sys/net/ipv4/ip_forward
if [ -e /proc/sys/net/ipv6/conf/all/forwarding ]; then echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; fi
if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables; fi
`;

/** The state folder of the cluster that has the bridge, if there is one that says whose it is. */
export async function bridgeOwner(config: ClusterConfig): Promise<string | undefined> {
  return ownerOfBridge(JSON.parse(await run(['ip', '-json', 'link', 'show'])) as BridgeLink[], config);
}

export async function removeHostNetwork(config: ClusterConfig): Promise<void> {
  const owner = await bridgeOwner(config);
  // Another cluster's names are the same.
  if (owner !== undefined && owner !== config.stateDir) return;
  for (const node of config.nodes) await tryRun(['ip', 'link', 'del', node.hostLink]);
  await tryRun(['ip', 'link', 'del', config.bridge]);
  await tryRun(['nft', 'delete', 'table', 'ip', NFT_TABLE]);
  for (const direction of ['-i', '-o']) {
    while (await tryRun(['iptables', '-D', 'FORWARD', direction, config.bridge, '-j', 'ACCEPT']));
  }
  const saved = savedForwarding(config);
  if (!existsSync(saved)) return;
  writeFileSync(FORWARDING, readFileSync(saved));
  rmSync(saved);
}
