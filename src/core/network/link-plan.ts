// The links that a launcher's network namespace shall have, as data: what a binding's plan returns and what the node agent's
// executor carries out. Decides nothing itself but how kernel switches are spelled.
import type { LinkAddress } from './link-status.js';

/** undefined: leave the family alone; []: no addresses; else exactly these. */
export type DesiredAddresses = readonly LinkAddress[] | undefined;

export interface TapOwner {
  readonly uid: number;
  readonly gid: number;
  /** 0: a tap with a single queue. */
  readonly queues: number;
}

export interface DesiredLink {
  /** Name of the VMI's network that the link belongs to. */
  readonly network: string;
  readonly name: string;
  /**
   * bridge, tap: created by us. nic: the pod's own link, found by `index` and renamed to `name`. holder: a link without ports that only
   * keeps the pod's name, MAC and addresses visible while its NIC is bridged away; see `holderType`.
   */
  readonly kind: 'bridge' | 'tap' | 'nic' | 'holder';
  /** up, absent (delete it), or as-created (never set up). */
  readonly state: 'up' | 'absent' | 'as-created';
  readonly index?: number;
  readonly mac?: string;
  /** Takes the MAC of this link, which leaves the pod's own MAC free for the guest. */
  readonly copyMacFrom?: string;
  readonly mtu?: number;
  /** The bridge it is a port of. */
  readonly controller?: string;
  readonly ipv4?: DesiredAddresses;
  readonly ipv6?: DesiredAddresses;
  readonly tap?: TapOwner;
  /** false: the bridge must not learn the pod's own MAC on this port. */
  readonly portLearning?: boolean;
  /** Lets packets from 127.0.0.0/8 cross the bridge, so that the pod's localhost reaches the guest. */
  readonly routeLocalnet?: boolean;
  /** Nobody else on the link can have the router's link-local address: it is usable at once, for the guest's first question. */
  readonly routesV6?: boolean;
  /** Link type of a holder: dummy where the kernel has it, else a bridge without ports, which does the same. */
  readonly holderType?: 'dummy' | 'bridge';
}

/** Switches of the namespace's IP stack; an absent one is left alone. */
export interface StackSettings {
  readonly ipv4Forwarding?: boolean;
  readonly ipv6Forwarding?: boolean;
  /** 1: answer ARP only for addresses of the link that was asked on. */
  readonly arpIgnore?: 0 | 1;
  readonly pingGroupRange?: readonly [number, number];
  readonly unprivilegedPortStart?: number;
}

export interface LinkPlan {
  readonly links: readonly DesiredLink[];
  readonly stack: StackSettings;
}

export interface Sysctl {
  /** Below /proc/sys. */
  readonly path: string;
  readonly value: string;
}

/** The switches as files, in the order in which they are to be written, after the links exist. */
export function sysctlsOf(plan: LinkPlan): Sysctl[] {
  const { ipv4Forwarding, ipv6Forwarding, arpIgnore, pingGroupRange, unprivilegedPortStart } = plan.stack;
  const wanted: [string, string | undefined][] = [
    ['net/ipv4/ip_forward', ipv4Forwarding === undefined ? undefined : ipv4Forwarding ? '1' : '0'],
    ['net/ipv6/conf/all/forwarding', ipv6Forwarding === undefined ? undefined : ipv6Forwarding ? '1' : '0'],
    ['net/ipv4/conf/all/arp_ignore', arpIgnore?.toString()],
    ['net/ipv4/ping_group_range', pingGroupRange?.join(' ')],
    ['net/ipv4/ip_unprivileged_port_start', unprivilegedPortStart?.toString()],
    ...plan.links.filter((link) => link.routeLocalnet).map((link): [string, string] => [`net/ipv4/conf/${link.name}/route_localnet`, '1']),
    ...plan.links.filter((link) => link.routesV6).map((link): [string, string] => [`net/ipv6/conf/${link.name}/accept_dad`, '0']),
  ];
  return wanted.flatMap(([path, value]) => (value === undefined ? [] : [{ path, value }]));
}

export const noLinks: LinkPlan = { links: [], stack: {} };

export function mergePlans(plans: readonly LinkPlan[]): LinkPlan {
  return {
    links: plans.flatMap((plan) => plan.links),
    stack: Object.assign({}, ...plans.map((plan) => plan.stack)) as StackSettings,
  };
}
