// Recorded DHCPv4 options, answered by core/network.
import type { DHCPOptions } from '../../../src/api/index.js';
import { toHex } from '../../../src/core/network/dhcp/bytes.js';
import { v4Options } from '../../../src/core/network/dhcp/v4-options.js';
import type { OracleCase } from '../oracle-case.js';

interface DhcpParams {
  readonly mask: string;
  readonly router?: string;
  readonly dns?: readonly string[];
  readonly search?: readonly string[];
  readonly hostname?: string;
  readonly mtu: number;
  readonly routes?: readonly { readonly Dst: string; readonly Gw: string }[];
  readonly custom?: DHCPOptions;
}

export function answer({ params }: OracleCase): unknown {
  const given = params as unknown as DhcpParams;
  const options = v4Options({
    mask: given.mask,
    ...(given.router ? { router: given.router } : {}),
    dns: given.dns ?? [],
    search: given.search ?? [],
    hostname: given.hostname ?? '',
    mtu: given.mtu,
    routes: (given.routes ?? []).map(({ Dst, Gw }) => ({ destination: Dst, ...(Gw ? { gateway: Gw } : {}) })),
    ...(given.custom ? { custom: given.custom } : {}),
  });
  return { options: Object.fromEntries([...options].map(([code, bytes]) => [String(code), toHex(bytes)])) };
}
