// Names of every link in a launcher's network namespace, from the name of the VMI's network. The node agent creates links by them,
// the launcher and the pod template find links by them; the two must agree without talking to each other.
import { createHash } from 'node:crypto';
import type { Network } from '../../api/index.js';

export const PRIMARY_POD_INTERFACE = 'eth0';
export const PRIMARY_TAP = 'tap0';
const HASHED_PREFIX = 'pod';
const HASH_LENGTH = 11;
const ORDINAL = /^net\d+$/;

/** Eleven characters, so that the longest prefix still fits into the kernel's limit of fifteen. */
const hashOf = (networkName: string): string => createHash('sha256').update(networkName).digest('hex').slice(0, HASH_LENGTH);

export const hashedPodInterface = (networkName: string): string => `${HASHED_PREFIX}${hashOf(networkName)}`;

/** Names like net1 were given by position before names were hashed; a running VMI keeps them. */
export const isOrdinalName = (podInterface: string): boolean => ORDINAL.test(podInterface);

const withoutPrefix = (podInterface: string): string =>
  podInterface.startsWith(HASHED_PREFIX) ? podInterface.slice(HASHED_PREFIX.length) : podInterface;

export const bridgeName = (podInterface: string): string => `k6t-${withoutPrefix(podInterface)}`;

/** What the pod's own NIC is called once a bridge binding has taken its place. */
export const bridgedNicName = (podInterface: string): string => `${withoutPrefix(podInterface)}-nic`;

export const isSecondary = (network: Network): boolean => network.multus !== undefined && network.multus.default !== true;

export const isPrimary = (network: Network): boolean => network.pod !== undefined || network.multus?.default === true;

export const tapName = (podInterface: string, network: Network): string =>
  isSecondary(network) ? `tap${podInterface.slice(3)}` : PRIMARY_TAP;

export type NameScheme = ReadonlyMap<string, string>;

function scheme(networks: readonly Network[], secondaryName: (network: Network, position: number) => string): NameScheme {
  const names = new Map<string, string>();
  let position = 0;
  for (const network of networks) {
    if (isPrimary(network)) names.set(network.name, PRIMARY_POD_INTERFACE);
    else if (isSecondary(network)) names.set(network.name, secondaryName(network, ++position));
  }
  return names;
}

/** Network name → pod interface, as new pods get them. Networks that are devices (resource claims) have none. */
export const hashedScheme = (networks: readonly Network[]): NameScheme => scheme(networks, (network) => hashedPodInterface(network.name));

/** Network name → pod interface by position among the secondary networks. */
export const ordinalScheme = (networks: readonly Network[]): NameScheme => scheme(networks, (_, position) => `net${position}`);

/**
 * The scheme of a pod that exists: hashed unless one of its interfaces has an ordinal name; `primary` renames the first interface
 * where the cluster's CNI calls it otherwise.
 */
export function schemeOf(
  networks: readonly Network[],
  present: { readonly interfaces: readonly string[]; readonly primary?: string },
): NameScheme {
  const ordinal = present.interfaces.some(isOrdinalName);
  const names = new Map(ordinal ? ordinalScheme(networks) : hashedScheme(networks));
  if (present.primary) for (const network of networks.filter(isPrimary)) names.set(network.name, present.primary);
  return names;
}
