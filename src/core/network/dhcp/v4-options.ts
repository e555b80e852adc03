// The DHCPv4 options that a guest gets, from its interface, its pod's resolv.conf and its lease: option code → bytes. Called by the
// launcher's DHCP server once an interface; refuses what no client would understand, never talks to a socket.
import type { DHCPOptions } from '../../../api/index.js';
import { KvError } from '../../../base/errors.js';
import type { CachedRoute } from '../caches.js';
import { domainFromSearch } from '../hostname.js';
import { ipBytes, networkAddress, parseCidr, parseIp } from '../ip.js';
import { type Bytes, concat, dnsName, u8, u16, utf8 } from './bytes.js';

export const OPTION = {
  mask: 1,
  router: 3,
  dns: 6,
  hostname: 12,
  domain: 15,
  mtu: 26,
  ntp: 42,
  requestedAddress: 50,
  leaseTime: 51,
  messageType: 53,
  serverId: 54,
  parameterList: 55,
  message: 56,
  tftpServer: 66,
  bootFile: 67,
  search: 119,
  routes: 121,
} as const;

export interface V4Settings {
  readonly mask: string;
  readonly router?: string;
  readonly dns: readonly string[];
  readonly search: readonly string[];
  readonly hostname: string;
  readonly mtu: number;
  readonly routes?: readonly CachedRoute[];
  readonly custom?: DHCPOptions;
}

export type V4Options = ReadonlyMap<number, Bytes>;

const MAPPED = 0xffffn;

/** Of an IPv4 address, also one in IPv6's words (::ffff:192.0.2.1). */
function v4Bytes(text: string): Bytes | undefined {
  const ip = parseIp(text);
  if (!ip) return undefined;
  return ip.family === 4 || ip.value >> 32n === MAPPED ? ipBytes(ip).subarray(-4) : undefined;
}

const v4List = (addresses: readonly string[]): Bytes => concat(...addresses.flatMap((address) => v4Bytes(address) ?? []));

const LONGEST_DOMAIN = 253;
const SEARCH_LIMIT = 255;
const LABEL = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const INNER_LABEL = /^[_a-z0-9](?:[_a-z0-9-]{0,61}[a-z0-9])?$/;

/** Lower-case DNS names; the last label starts with a letter, the others with a digit or an underscore too. A final dot is allowed. */
function isSearchDomain(domain: string): boolean {
  const labels = domain.split('.');
  const last = labels.pop() ?? '';
  return domain.length <= LONGEST_DOMAIN && labels.every((label) => INNER_LABEL.test(label)) && (last === '' || LABEL.test(last));
}

/** Option 119, or undefined without search domains. */
export function searchOption(search: readonly string[]): Bytes | undefined {
  const bad = search.find((domain) => !isSearchDomain(domain));
  if (bad !== undefined) throw new KvError('Invalid', `Search domain is not valid: '${bad}'`);
  // A final dot stands for one more name, the root, as KubeVirt's guests know it.
  const bytes = concat(...search.map((domain) => concat(dnsName(domain), new Uint8Array(/(?:^|\.)$/.test(domain) ? 1 : 0))));
  if (bytes.length > SEARCH_LIMIT) throw new KvError('Invalid', `Search domains length exceeded allowable size: was ${bytes.length} long`);
  return bytes.length > 0 ? bytes : undefined;
}

const DEFAULT_ROUTE = '0.0.0.0/0';
const isDefault = (route: CachedRoute): boolean => route.destination === '' || route.destination === DEFAULT_ROUTE;

function routeBytes(route: CachedRoute): Bytes {
  const destination = parseCidr(isDefault(route) ? DEFAULT_ROUTE : route.destination);
  const { prefix } = destination;
  const significant = Math.ceil(prefix / 8);
  return concat(
    u8(prefix),
    ipBytes(networkAddress(destination)).subarray(0, significant),
    v4Bytes(route.gateway ?? '') ?? new Uint8Array(4),
  );
}

/** Option 121 (RFC 3442). The default route comes last: clients add routes in order, and its gateway may need one of the others. */
export function routesOption(routes: readonly CachedRoute[]): Bytes | undefined {
  if (routes.length === 0) return undefined;
  return concat(...[...routes.filter((r) => !isDefault(r)), ...routes.filter(isDefault)].map(routeBytes));
}

function ntpOption(servers: readonly string[]): Bytes {
  const bad = servers.find((server) => v4Bytes(server) === undefined);
  if (bad !== undefined) throw new KvError('Invalid', `Could not parse NTP server as IPv4 address: ${bad}`);
  return v4List(servers);
}

const FIRST_PRIVATE = 224;
const LAST_PRIVATE = 254;

function customOptions(custom: DHCPOptions): [number, Bytes][] {
  const { tftpServerName, bootFileName, ntpServers = [], privateOptions = [] } = custom;
  return [
    ...(tftpServerName ? [[OPTION.tftpServer, utf8(tftpServerName)] as [number, Bytes]] : []),
    ...(bootFileName ? [[OPTION.bootFile, utf8(bootFileName)] as [number, Bytes]] : []),
    ...(ntpServers.length > 0 ? [[OPTION.ntp, ntpOption(ntpServers)] as [number, Bytes]] : []),
    ...privateOptions
      .filter(({ option }) => option >= FIRST_PRIVATE && option <= LAST_PRIVATE)
      .map(({ option, value }): [number, Bytes] => [option, utf8(value)]),
  ];
}

/** Throws Invalid naming the value that no client could use. */
export function v4Options(settings: V4Settings): V4Options {
  const domain = domainFromSearch(settings.search);
  const wanted: [number, Bytes | undefined][] = [
    [OPTION.mask, v4Bytes(settings.mask)],
    [OPTION.router, v4Bytes(settings.router ?? '')],
    [OPTION.dns, v4List(settings.dns)],
    [OPTION.hostname, utf8(settings.hostname)],
    [OPTION.domain, domain ? utf8(domain) : undefined],
    [OPTION.mtu, u16(settings.mtu)],
    [OPTION.search, searchOption(settings.search)],
    [OPTION.routes, routesOption(settings.routes ?? [])],
    ...customOptions(settings.custom ?? {}),
  ];
  return new Map(wanted.flatMap(([code, bytes]) => (bytes === undefined ? [] : [[code, bytes]])));
}
