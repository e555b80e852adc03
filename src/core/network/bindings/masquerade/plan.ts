// Masquerade: the guest sits behind an in-pod bridge with fixed addresses; the pod's own NIC stays the pod's, and nft.ts translates
// between the two. Called for each masquerade interface by plan.ts; touches no kernel.
import { type InsideAddresses, masqueradeAddresses } from '../../addressing.js';
import type { DesiredLink, LinkPlan } from '../../link-plan.js';
import { globalAddresses, hasGlobal, type PodLink } from '../../link-status.js';
import { BRIDGE_MAC } from '../../mac.js';
import { bridgeName } from '../../names.js';
import { type Attachment, isAbsent, requirePodLink, tapLink, unplugged } from '../attachment.js';
import { type MasqueradeFacts, masqueradeRules } from './nft.js';

const address = (inside: InsideAddresses) => [{ ip: inside.gateway, prefix: inside.prefix }];

function bridgeLink(at: Attachment, pod: PodLink): DesiredLink {
  const v4 = hasGlobal(pod.ipv4);
  const v6 = hasGlobal(pod.ipv6);
  return {
    network: at.iface.name,
    name: bridgeName(at.podInterface),
    kind: 'bridge',
    state: 'up',
    mac: BRIDGE_MAC,
    mtu: pod.mtu,
    ipv4: v4 ? address(masqueradeAddresses(at.network, 4)) : [],
    ipv6: v6 ? address(masqueradeAddresses(at.network, 6)) : [],
    ...(v4 ? { routeLocalnet: true } : {}),
    ...(v6 ? { routesV6: true } : {}),
  };
}

/** What we made goes even when the CNI plugin has taken the pod's link away already. */
function planRemoval(at: Attachment): LinkPlan {
  const bridge: DesiredLink = { network: at.iface.name, name: bridgeName(at.podInterface), kind: 'bridge', state: 'up' };
  return { links: unplugged([bridge, tapLink(at, undefined)]), stack: {} };
}

export function planMasquerade(at: Attachment): LinkPlan {
  if (isAbsent(at.iface)) return planRemoval(at);
  const pod = requirePodLink(at);
  return {
    links: [bridgeLink(at, pod), tapLink(at, pod.mtu)],
    stack: {
      ...(hasGlobal(pod.ipv4) ? { ipv4Forwarding: true } : {}),
      ...(hasGlobal(pod.ipv6) ? { ipv6Forwarding: true } : {}),
      ...(at.options.unprivilegedDhcp ? { unprivilegedPortStart: 0 } : {}),
    },
  };
}

/** Settings of the VMI and the cluster that shape the address translation. */
export interface MasqueradeSettings {
  readonly istio: boolean;
  /** A launcher that migrates over TCP ports of its own pod: they must not be sent to the guest. */
  readonly legacyMigrationPorts: boolean;
  readonly portRangesGate: boolean;
}

/** The nft commands of one masquerade interface, in order. */
export function natOf(at: Attachment, settings: MasqueradeSettings): string[] {
  const pod = requirePodLink(at);
  const facts: MasqueradeFacts = {
    podInterface: at.podInterface,
    bridge: bridgeName(at.podInterface),
    ports: at.iface.ports ?? [],
    portRanges: settings.portRangesGate ? (at.iface.portRanges ?? []) : [],
    istio: settings.istio,
    legacyMigrationPorts: settings.legacyMigrationPorts,
  };
  const [pod4] = globalAddresses(pod.ipv4);
  const [pod6] = globalAddresses(pod.ipv6);
  return [
    ...(pod4 ? masqueradeRules({ family: 4, gateway: masqueradeAddresses(at.network, 4).gateway, pod: pod4.ip }, facts) : []),
    ...(pod6 ? masqueradeRules({ family: 6, gateway: masqueradeAddresses(at.network, 6).gateway, pod: pod6.ip }, facts) : []),
  ];
}
