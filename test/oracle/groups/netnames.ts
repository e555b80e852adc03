// Recorded names, MACs, masquerade addresses and host names, answered by core/network.
import type { Network, VirtualMachineInstance } from '../../../src/api/index.js';
import { messageOf } from '../../../src/base/errors.js';
import { masqueradeAddresses } from '../../../src/core/network/addressing.js';
import { domainFromSearch, guestHostname } from '../../../src/core/network/hostname.js';
import type { Family } from '../../../src/core/network/ip.js';
import { isReservedMac, isValidMac } from '../../../src/core/network/mac.js';
import * as names from '../../../src/core/network/names.js';
import type { OracleCase } from '../oracle-case.js';

function name(text: string): unknown {
  const podInterface = names.hashedPodInterface(text);
  const primary = names.PRIMARY_POD_INTERFACE;
  return {
    podInterface,
    bridge: names.bridgeName(podInterface),
    bridgePrimary: names.bridgeName(primary),
    bridgedPodInterface: names.bridgedNicName(podInterface),
    bridgedPodInterfacePrimary: names.bridgedNicName(primary),
    isOrdinal: names.isOrdinalName(text),
    tapPrimary: names.tapName(primary, { name: text, pod: {} }),
    tapSecondary: names.tapName(podInterface, { name: text, multus: { networkName: text } }),
  };
}

function inside(network: Network, family: Family): unknown {
  try {
    const { gateway, guest, prefix } = masqueradeAddresses(network, family);
    return { gateway: `${gateway}/${prefix}`, guest: `${guest}/${prefix}` };
  } catch (err) {
    return { error: messageOf(err) };
  }
}

export function answer({ op, params, object }: OracleCase): unknown {
  const given: unknown = params;
  switch (op) {
    case 'name':
      return name(given as string);
    case 'scheme':
      return {
        hashed: Object.fromEntries(names.hashedScheme(object as Network[])),
        ordinal: Object.fromEntries(names.ordinalScheme(object as Network[])),
      };
    case 'mac':
      return { valid: isValidMac(given as string), reserved: isReservedMac(given as string) };
    case 'masqueradeCIDR':
      return { ipv4: inside(object as Network, 4), ipv6: inside(object as Network, 6) };
    case 'hostname':
      return { hostname: guestHostname(object as VirtualMachineInstance) };
    case 'domainname':
      return { domain: domainFromSearch(given as string[]) };
    default:
      throw new Error(`unknown op ${op}`);
  }
}
