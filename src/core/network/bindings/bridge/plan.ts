// Bridge: the guest takes the pod's place on the pod's network. The pod's NIC is renamed and becomes a port of an in-pod bridge next to
// the guest's tap; the guest gets the pod's own address by DHCP. Also the links of managedTap plugin bindings, which serve no DHCP.
//
// A holder link keeps the pod's interface name, MAC and addresses, because the CNI plugin looks for them when the pod ends. Upstream
// makes it of type dummy; a bridge without ports does the same on kernels that have no dummy. It is never set up, so it receives
// nothing; arp_ignore keeps the pod from answering ARP for the address that the guest now owns.
import type { DesiredLink, LinkPlan } from '../../link-plan.js';
import { hasGlobal, type PodLink } from '../../link-status.js';
import { bridgedNicName, bridgeName } from '../../names.js';
import { type Attachment, isAbsent, podLinkOf, requirePodLink, tapLink, unplugged } from '../attachment.js';

const FAKE_ADDRESS_BASE = '169.254.75.1';

/** The DHCP server's address on the in-pod bridge: one that no pod network uses. */
export const bridgeServerAddress = (position: number): string => `${FAKE_ADDRESS_BASE}${position}`;

function bridgeLink(at: Attachment, pod: PodLink | undefined, servesDhcp: boolean): DesiredLink {
  return {
    network: at.iface.name,
    name: bridgeName(at.podInterface),
    kind: 'bridge',
    state: 'up',
    ...(servesDhcp && pod && hasGlobal(pod.ipv4) ? { ipv4: [{ ip: bridgeServerAddress(at.position), prefix: 32 }] } : {}),
  };
}

function nicLink(at: Attachment, pod: PodLink): DesiredLink {
  const bridge = bridgeName(at.podInterface);
  return {
    network: at.iface.name,
    name: bridgedNicName(at.podInterface),
    kind: 'nic',
    state: 'up',
    index: pod.index,
    copyMacFrom: bridge,
    controller: bridge,
    ipv4: [],
    ipv6: [],
    portLearning: false,
  };
}

function holderLink(at: Attachment, pod: PodLink | undefined): DesiredLink {
  return {
    network: at.iface.name,
    name: at.podInterface,
    kind: 'holder',
    holderType: at.options.dummySupported ? 'dummy' : 'bridge',
    state: 'as-created',
    ...(pod ? { mac: pod.mac, mtu: pod.mtu, ipv4: pod.ipv4, ipv6: pod.ipv6 } : {}),
  };
}

/** What we made goes even when the CNI plugin has taken the pod's link away already. */
function planRemoval(at: Attachment, servesDhcp: boolean): LinkPlan {
  const pod = podLinkOf(at);
  const hasAddress = pod !== undefined && hasGlobal(pod.ipv4);
  return {
    links: unplugged([bridgeLink(at, pod, servesDhcp), tapLink(at, pod?.mtu), holderLink(at, pod)]),
    stack: hasAddress ? { arpIgnore: 1 } : {},
  };
}

function planLinks(at: Attachment, servesDhcp: boolean): LinkPlan {
  if (isAbsent(at.iface)) return planRemoval(at, servesDhcp);
  const pod = requirePodLink(at);
  const hasAddress = hasGlobal(pod.ipv4);
  return {
    links: [bridgeLink(at, pod, servesDhcp), nicLink(at, pod), tapLink(at, pod.mtu), holderLink(at, pod)],
    stack: {
      ...(hasAddress ? { arpIgnore: 1 } : {}),
      ...(hasAddress && servesDhcp && at.options.unprivilegedDhcp ? { unprivilegedPortStart: 0 } : {}),
    },
  };
}

export const planBridge = (at: Attachment): LinkPlan => planLinks(at, true);

export const planManagedTap = (at: Attachment): LinkPlan => planLinks(at, false);
