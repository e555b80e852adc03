// The files that phase 1 leaves behind, as types and paths: the node agent's own journal, and what the launcher reads to finish an
// interface (domain XML, DHCP). Written by the node agent only; both sides compute the path from here.
import { posix } from 'node:path';
import { PRIVATE_DIR } from '../storage/paths.js';

export { dhcpStartedFile as dhcpStartedPath, PRIVATE_DIR } from '../storage/paths.js';

/** 0 pending, 1 started, 2 finished. Found at 1 again, a network is half done and cannot be repaired. */
export type NetworkState = 0 | 1 | 2;

/** `<private dir>/network-info-cache/<vmi uid>/<network>`: the node agent's journal of one network. */
export interface PodInterfaceCache {
  readonly iface: string;
  /** The pod's address before the binding took the link; preferred family first. */
  readonly podIP: string;
  readonly podIPs: readonly string[];
  readonly networkState: NetworkState;
}

export interface CachedRoute {
  /** CIDR; 0.0.0.0/0 for the default route. */
  readonly destination: string;
  readonly gateway?: string;
}

export interface DhcpV4Config {
  /** Server identifier and source address, on the bridge. */
  readonly server: string;
  readonly client: string;
  readonly prefix: number;
  readonly router?: string;
  readonly routes?: readonly CachedRoute[];
}

export interface DhcpV6Config {
  readonly client: string;
  /** Of the network on the in-pod bridge, which the guest is told is on its link. */
  readonly prefix: number;
}

/** `/var/run/kubevirt-private/vif-cache-<pod interface>.json` inside the launcher: what it needs for one interface. */
export interface LauncherInterface {
  readonly network: string;
  /** Name of the pod's link before the binding. */
  readonly podInterface: string;
  readonly tap: string;
  readonly bridge: string;
  /** The guest's MAC. */
  readonly mac: string;
  readonly mtu: number;
  /** Absent: the pod's link has no IPv4 address, the guest gets none from us. */
  readonly dhcp4?: DhcpV4Config;
  readonly dhcp6?: DhcpV6Config;
}

/** One file a network; names of networks may hold slashes, which no file name may. */
export const podInterfaceCachePath = (vmiUid: string, network: string): string =>
  posix.join(PRIVATE_DIR, 'network-info-cache', vmiUid, encodeURIComponent(network));

export const podInterfaceCacheDir = (vmiUid: string): string => posix.join(PRIVATE_DIR, 'network-info-cache', vmiUid);

/** As the launcher sees it; the node agent prefixes /proc/<pid>/root. */
export const launcherInterfacePath = (podInterface: string): string => posix.join(PRIVATE_DIR, `vif-cache-${podInterface}.json`);
