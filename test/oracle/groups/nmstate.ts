// Recorded pod network set-ups, answered by core/network. Only translates between the recording's words and ours.
import type { Interface, Network } from '../../../src/api/index.js';
import { hasCode, messageOf } from '../../../src/base/errors.js';
import type { RegisteredBindings } from '../../../src/core/network/bindings/index.js';
import type { NetworkState } from '../../../src/core/network/caches.js';
import type { DesiredAddresses, DesiredLink, LinkPlan } from '../../../src/core/network/link-plan.js';
import type { LinkAddress, PodLink } from '../../../src/core/network/link-status.js';
import { planPodNetwork } from '../../../src/core/network/plan.js';
import type { OracleCase } from '../oracle-case.js';

interface RecordedIp {
  readonly enabled?: boolean;
  readonly address?: readonly { readonly IP: string; readonly 'prefix-length': number }[];
}

interface RecordedLink {
  readonly name: string;
  readonly index: number;
  readonly mtu: number;
  readonly 'mac-address': string;
  readonly IPv4: RecordedIp;
  readonly IPv6: RecordedIp;
}

interface RecordedRoute {
  readonly destination: string;
  readonly 'next-hop-address'?: string;
  readonly 'next-hop-interface': string;
}

interface SetupParams {
  readonly interfaces: readonly Interface[];
  readonly networks: readonly Network[];
  readonly interfaceStatuses?: readonly {
    readonly name: string;
    readonly podInterfaceName?: string;
    readonly infoSource?: string;
    readonly queueCount?: number;
  }[];
  readonly bindings?: RegisteredBindings;
  readonly finished?: readonly string[];
  readonly started?: readonly string[];
  readonly ownerID: number;
  readonly queuesCapacity: number;
  readonly status: { readonly interfaces: readonly RecordedLink[]; readonly routes: { readonly running?: readonly RecordedRoute[] } };
}

const addresses = (ip: RecordedIp): LinkAddress[] => (ip.address ?? []).map((a) => ({ ip: a.IP, prefix: a['prefix-length'] }));

const podLink = (link: RecordedLink): PodLink => ({
  index: link.index,
  name: link.name,
  mac: link['mac-address'],
  mtu: link.mtu,
  ipv4: addresses(link.IPv4),
  ipv6: addresses(link.IPv6),
});

const recordedIp = (wanted: DesiredAddresses): RecordedIp => {
  if (wanted === undefined) return {};
  return wanted.length === 0
    ? { enabled: false }
    : { enabled: true, address: wanted.map(({ ip, prefix }) => ({ IP: ip, 'prefix-length': prefix })) };
};

function recordedLink(link: DesiredLink): unknown {
  const type = { bridge: 'bridge', tap: 'tap', nic: undefined, holder: link.holderType }[link.kind];
  return {
    name: link.name,
    ...(type === undefined ? {} : { type }),
    ...(link.state === 'as-created' ? {} : { state: link.state }),
    index: link.index,
    'mac-address': link.mac,
    'copy-mac-from': link.copyMacFrom,
    mtu: link.mtu,
    controller: link.controller,
    IPv4: recordedIp(link.ipv4),
    IPv6: recordedIp(link.ipv6),
    tap: link.tap && { UID: link.tap.uid, GID: link.tap.gid, queues: link.tap.queues || undefined },
    'linux-stack': { 'port-learning': link.portLearning, 'ip4-route-local-net': link.routeLocalnet },
    Metadata: { NetworkName: link.network, Pid: 0 },
  };
}

const recordedSpec = ({ links, stack }: LinkPlan): unknown => ({
  interfaces: links.map(recordedLink),
  'linux-stack': {
    ipv4: {
      forwarding: stack.ipv4Forwarding,
      'arp-ignore': stack.arpIgnore,
      'ping-group-range': stack.pingGroupRange,
      'unprivileged-port-start': stack.unprivilegedPortStart,
    },
    ipv6: { forwarding: stack.ipv6Forwarding },
  },
});

function states(given: SetupParams, configured: readonly string[], removed: readonly string[]): Record<string, string> {
  const before = [...(given.finished ?? []).map((n) => [n, '2']), ...(given.started ?? []).map((n) => [n, '1'])] as [string, string][];
  const after = new Map([...before, ...configured.map((n) => [n, '2'] as [string, string])]);
  for (const name of removed) after.delete(name);
  return Object.fromEntries(after);
}

function journal(given: SetupParams): Map<string, NetworkState> {
  return new Map([...(given.finished ?? []).map((n) => [n, 2] as const), ...(given.started ?? []).map((n) => [n, 1] as const)]);
}

export function answer({ params }: OracleCase): unknown {
  const given = params as unknown as SetupParams;
  const primary = given.networks.find((n) => n.pod || n.multus?.default)?.name;
  const primaryName = given.interfaceStatuses?.find((s) => s.name === primary)?.podInterfaceName;
  try {
    const plan = planPodNetwork({
      interfaces: given.interfaces,
      networks: given.networks,
      now: {
        links: given.status.interfaces.map(podLink),
        routes: (given.status.routes.running ?? []).map((route) => ({
          destination: route.destination,
          link: route['next-hop-interface'],
          ...(route['next-hop-address'] ? { gateway: route['next-hop-address'] } : {}),
        })),
      },
      states: journal(given),
      bindings: given.bindings ?? {},
      ...(primaryName ? { primaryName } : {}),
      ownerId: given.ownerID,
      queues: given.queuesCapacity,
      queueCounts: new Map(
        (given.interfaceStatuses ?? [])
          .filter(({ infoSource }) => infoSource?.split(', ').includes('domain'))
          .map(({ name, queueCount = 0 }) => [name, queueCount]),
      ),
      nat: { istio: false, legacyMigrationPorts: false, portRangesGate: false },
      options: { dummySupported: true, unprivilegedDhcp: false },
    });
    return {
      spec: recordedSpec(plan.desired),
      masquerade: plan.nat.map(({ network, podInterface, bridge }) => ({ iface: network, pod: podInterface, bridge })),
      states: states(given, plan.configure, plan.remove),
    };
  } catch (err) {
    if (!hasCode(err, 'CriticalNetwork', 'NotReady', 'Invalid')) throw err;
    return { error: messageOf(err), states: states(given, [], []) };
  }
}
