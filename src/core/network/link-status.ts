// What the node agent found in a launcher's network namespace: links, addresses, routes. Input of every plan; nothing here decides.
import { isGlobalUnicast } from './ip.js';

export interface LinkAddress {
  readonly ip: string;
  readonly prefix: number;
}

export interface PodLink {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  readonly ipv4: readonly LinkAddress[];
  readonly ipv6: readonly LinkAddress[];
}

export interface PodRoute {
  /** CIDR; 0.0.0.0/0 for the default route. */
  readonly destination: string;
  /** Absent for a route to the link itself. */
  readonly gateway?: string;
  readonly link: string;
}

export interface PodNamespace {
  readonly links: readonly PodLink[];
  readonly routes: readonly PodRoute[];
}

export const linkNamed = (now: PodNamespace, name: string): PodLink | undefined => now.links.find((link) => link.name === name);

export const globalAddresses = (addresses: readonly LinkAddress[]): LinkAddress[] => addresses.filter(({ ip }) => isGlobalUnicast(ip));

export const hasGlobal = (addresses: readonly LinkAddress[]): boolean => globalAddresses(addresses).length > 0;
