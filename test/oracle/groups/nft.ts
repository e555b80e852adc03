// Recorded nft commands of a masquerade interface, answered by core/network.
import type { Interface } from '../../../src/api/index.js';
import { type FamilyAddresses, type MasqueradeFacts, masqueradeRules } from '../../../src/core/network/bindings/masquerade/nft.js';
import type { OracleCase } from '../oracle-case.js';

interface NftParams {
  readonly IPv4: boolean;
  readonly IPv6: boolean;
  readonly Istio: boolean;
  readonly Legacy: boolean;
  readonly portRangesGate: boolean;
  readonly PodIface: string;
  readonly BridgeIface: string;
  readonly Pod4: string;
  readonly Pod6: string;
  readonly Bridge4: string;
  readonly Bridge6: string;
  readonly iface: Interface;
}

export function answer({ params }: OracleCase): unknown {
  const given = params as unknown as NftParams;
  const facts: MasqueradeFacts = {
    podInterface: given.PodIface,
    bridge: given.BridgeIface,
    ports: given.iface.ports ?? [],
    portRanges: given.portRangesGate ? (given.iface.portRanges ?? []) : [],
    istio: given.Istio,
    legacyMigrationPorts: given.Legacy,
  };
  const families: FamilyAddresses[] = [
    ...(given.IPv4 ? [{ family: 4 as const, gateway: given.Bridge4, pod: given.Pod4 }] : []),
    ...(given.IPv6 ? [{ family: 6 as const, gateway: given.Bridge6, pod: given.Pod6 }] : []),
  ];
  return { commands: families.flatMap((family) => masqueradeRules(family, facts)) };
}
