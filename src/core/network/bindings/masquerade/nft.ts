// The nftables commands that translate between a pod's address and its guest's, one list an address family. Each string is one `nft`
// command; order matters. Pure text: the node agent feeds it to nft inside the launcher's network namespace.
import type { Port, PortRange } from '../../../../api/index.js';
import { guestOf } from '../../addressing.js';
import type { Family } from '../../ip.js';

export interface MasqueradeFacts {
  readonly podInterface: string;
  readonly bridge: string;
  readonly ports: readonly Port[];
  /** Already empty where the cluster does not allow them. */
  readonly portRanges: readonly PortRange[];
  readonly istio: boolean;
  readonly legacyMigrationPorts: boolean;
}

export interface FamilyAddresses {
  readonly family: Family;
  /** Of the in-pod bridge. */
  readonly gateway: string;
  readonly pod: string;
}

const MIGRATION_PORTS = [49152, 49153];
const ISTIO_PORTS = [15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090];
const SSH_PORT = 22;
/** Envoy's source address for traffic that it hands to an application in its own pod. */
const ENVOY_SOURCE = '127.0.0.6';

const HOOKS = [
  ['prerouting', -100],
  ['input', 100],
  ['output', -100],
  ['postrouting', 100],
] as const;

const set = (items: readonly (string | number)[]): string => `{ ${items.join(', ')} }`;

interface Words {
  readonly table: 'ip' | 'ip6';
  readonly rule: (chain: string, text: string) => string;
  readonly loopback: string;
  readonly guest: string;
  readonly sources: string;
  readonly destinations: string;
}

function wordsOf({ family, pod, gateway }: FamilyAddresses, istio: boolean): Words {
  const table = family === 4 ? 'ip' : 'ip6';
  const loopback = family === 4 ? '127.0.0.1' : '::1';
  return {
    table,
    rule: (chain, text) => `add rule ${table} nat ${chain} ${text}`,
    loopback,
    guest: guestOf(gateway),
    sources: set(istio && family === 4 ? [loopback, ENVOY_SOURCE] : [loopback]),
    destinations: set(istio && family === 4 ? [loopback, pod] : [loopback]),
  };
}

function skeleton({ table, rule, guest }: Words, { podInterface, bridge }: MasqueradeFacts): string[] {
  return [
    `add table ${table} nat`,
    ...HOOKS.map(([name, priority]) => `add chain ${table} nat ${name} { type nat hook ${name} priority ${priority}; }`),
    `add chain ${table} nat KUBEVIRT_PREINBOUND`,
    `add chain ${table} nat KUBEVIRT_POSTINBOUND`,
    rule('postrouting', `${table} saddr ${guest} counter masquerade`),
    rule('prerouting', `iifname ${podInterface} counter jump KUBEVIRT_PREINBOUND`),
    rule('postrouting', `oifname ${bridge} counter jump KUBEVIRT_POSTINBOUND`),
  ];
}

/** Ports that stay with the pod even when its own localhost asks for them. */
function skipPorts({ table, rule, loopback }: Words, ports: readonly number[]): string[] {
  const text = `tcp dport ${set(ports)} ${table} saddr ${loopback} counter return`;
  return [rule('output', text), rule('KUBEVIRT_POSTINBOUND', text)];
}

/** Everything goes to the guest; under Istio only SSH comes in directly, the rest through the proxy on localhost. */
function allPorts(words: Words, gateway: string, istio: boolean): string[] {
  const { table, rule, guest, sources, destinations } = words;
  const inbound = istio ? `tcp dport ${set([SSH_PORT])} ` : '';
  return [
    rule('KUBEVIRT_PREINBOUND', `${inbound}counter dnat to ${guest}`),
    rule('KUBEVIRT_POSTINBOUND', `${table} saddr ${sources} counter snat to ${gateway}`),
    rule('output', `${table} daddr ${destinations} counter dnat to ${guest}`),
  ];
}

interface PortMatch {
  readonly protocol: string;
  readonly port: string;
  /** What comes in from outside without a proxy in between, as nft writes it; absent when all of it goes through the proxy. */
  readonly inbound?: string;
}

function onePort(words: Words, gateway: string, { protocol, inbound, port }: PortMatch): string[] {
  const { table, rule, guest, sources, destinations } = words;
  return [
    ...(inbound ? [rule('KUBEVIRT_PREINBOUND', `${protocol} dport ${inbound} counter dnat to ${guest}`)] : []),
    rule('KUBEVIRT_POSTINBOUND', `${protocol} dport ${port} ${table} saddr ${sources} counter snat to ${gateway}`),
    rule('output', `${table} daddr ${destinations} ${protocol} dport ${port} counter dnat to ${guest}`),
  ];
}

function match(protocol: string | undefined, [start, end]: readonly [number, number], istio: boolean): PortMatch {
  const single = start === end;
  const direct = single ? set([start]) : `${start}-${end}`;
  const throughProxy = start <= SSH_PORT && SSH_PORT <= end ? { inbound: set([SSH_PORT]) } : {};
  return {
    protocol: (protocol || 'TCP').toLowerCase(),
    port: single ? String(start) : direct,
    ...(istio ? throughProxy : { inbound: direct }),
  };
}

function matches({ ports, portRanges, istio }: MasqueradeFacts): PortMatch[] {
  return [
    ...ports.map(({ port, protocol }) => match(protocol, [port, port], istio)),
    ...portRanges.map(({ start, end, protocol }) => match(protocol, [start, end], istio)),
  ];
}

export function masqueradeRules(addresses: FamilyAddresses, facts: MasqueradeFacts): string[] {
  const words = wordsOf(addresses, facts.istio);
  const listed = matches(facts);
  return [
    ...skeleton(words, facts),
    ...(facts.legacyMigrationPorts ? skipPorts(words, MIGRATION_PORTS) : []),
    ...(facts.istio && listed.length === 0 ? skipPorts(words, ISTIO_PORTS) : []),
    ...(listed.length === 0 ? allPorts(words, addresses.gateway, facts.istio) : []),
    ...listed.flatMap((each) => onePort(words, addresses.gateway, each)),
  ];
}
