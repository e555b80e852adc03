// What every binding's plan is told about its network: names, the link found in the pod, who owns the tap. Built by plan.ts.
import type { Interface, Network } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { DesiredLink } from '../link-plan.js';
import { linkNamed, type PodLink, type PodNamespace } from '../link-status.js';
import { bridgedNicName, bridgeName, tapName } from '../names.js';

export interface PlanOptions {
  /** False where the kernel has no link type `dummy`. */
  readonly dummySupported: boolean;
  /** True where the DHCP server runs without privileges and needs port 67 opened to it. */
  readonly unprivilegedDhcp: boolean;
}

export interface Attachment {
  readonly iface: Interface;
  readonly network: Network;
  /** Position of the interface in the VMI's spec. */
  readonly position: number;
  /** Name of the pod's link before any binding touched it. */
  readonly podInterface: string;
  readonly now: PodNamespace;
  /** uid and gid of QEMU. */
  readonly ownerId: number;
  /** Queues of a multi-queue tap, 0 for none. */
  readonly queues: number;
  readonly options: PlanOptions;
}

export const isAbsent = (iface: Interface): boolean => iface.state === 'absent';

/** The pod's link, under its own name or the one a bridge binding gave it. */
export const podLinkOf = ({ now, podInterface }: Attachment): PodLink | undefined =>
  linkNamed(now, bridgedNicName(podInterface)) ?? linkNamed(now, podInterface);

/** Throws NotReady when the CNI plugin has not (yet) put the link there. */
export function requirePodLink(at: Attachment): PodLink {
  const link = podLinkOf(at);
  if (!link) throw new KvError('NotReady', `pod link (${at.podInterface}) is missing`, { reason: 'PodLinkMissing' });
  return link;
}

const isVirtio = (iface: Interface): boolean => (iface.model ?? '') === '' || iface.model === 'virtio';

/** Only virtio has more than one queue. */
export function tapLink(at: Attachment, mtu: number | undefined): DesiredLink {
  return {
    network: at.iface.name,
    name: tapName(at.podInterface, at.network),
    kind: 'tap',
    state: 'up',
    ...(mtu === undefined ? {} : { mtu }),
    controller: bridgeName(at.podInterface),
    tap: { uid: at.ownerId, gid: at.ownerId, queues: isVirtio(at.iface) ? at.queues : 0 },
  };
}

/** Unplugging removes what we created; the pod's own link belongs to the CNI plugin. */
export const unplugged = (links: readonly DesiredLink[]): DesiredLink[] =>
  links.filter((link) => link.kind !== 'nic').map((link) => ({ ...link, state: 'absent' as const }));
