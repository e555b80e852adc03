// Links, addresses and routes of one network namespace, read and changed through iproute2. Reading gives plain values
// (the JSON of `ip -json` is parsed here and nowhere else); changing takes the lines of an `ip -batch` script.
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import { type NetNs, runInNetNs } from './netns.js';

export interface LinkAddress {
  readonly family: 'inet' | 'inet6';
  readonly address: string;
  readonly prefixLength: number;
  /** global, link, host. */
  readonly scope: string;
}

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  readonly isUp: boolean;
  /** bridge, tun, veth, …; empty for loopback and real devices. */
  readonly kind: string;
  /** Name of the bridge the link is a port of. */
  readonly master?: string;
  readonly addresses: readonly LinkAddress[];
}

export interface Route {
  /** 'default' or a CIDR. */
  readonly destination: string;
  readonly gateway?: string;
  readonly device: string;
}

export interface NetState {
  readonly links: readonly Link[];
  /** IPv4 routes of the main table. */
  readonly routes: readonly Route[];
}

interface IpLinkJson {
  ifindex?: number;
  ifname?: string;
  flags?: string[];
  mtu?: number;
  address?: string;
  master?: string;
  linkinfo?: { info_kind?: string };
  addr_info?: { family?: string; local?: string; prefixlen?: number; scope?: string }[];
}

interface IpRouteJson {
  dst?: string;
  gateway?: string;
  dev?: string;
}

/** What the namespace holds now. */
export async function readNetState(ctx: Ctx, ns: NetNs): Promise<NetState> {
  const [links, routes] = await Promise.all([
    runInNetNs(ctx, ns, ['ip', '-json', '-details', 'address', 'show']),
    runInNetNs(ctx, ns, ['ip', '-json', '-4', 'route', 'show']),
  ]);
  return { links: parseLinks(links.stdout), routes: parseRoutes(routes.stdout) };
}

/** Runs the lines as one `ip -batch` script; stops at the first that fails. No lines, no process. */
export async function applyIpBatch(ctx: Ctx, ns: NetNs, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  try {
    await runInNetNs(ctx, ns, ['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
  } catch (cause) {
    throw new KvError('Internal', `changing links in ${ns} failed (batch: ${lines.join('; ')})`, { cause });
  }
}

export function parseLinks(json: string): Link[] {
  // Old iproute2 pads filtered entries as {}.
  return parseList<IpLinkJson>(json, 'ip address').flatMap((link) => (link.ifname === undefined ? [] : [toLink(link, link.ifname)]));
}

function toLink(link: IpLinkJson, name: string): Link {
  return {
    index: link.ifindex ?? 0,
    name,
    mac: link.address ?? '',
    mtu: link.mtu ?? 0,
    isUp: link.flags?.includes('UP') === true,
    kind: link.linkinfo?.info_kind ?? '',
    ...(link.master === undefined ? {} : { master: link.master }),
    addresses: (link.addr_info ?? []).flatMap(toAddress),
  };
}

function toAddress(info: NonNullable<IpLinkJson['addr_info']>[number]): LinkAddress[] {
  if ((info.family !== 'inet' && info.family !== 'inet6') || info.local === undefined) return [];
  return [{ family: info.family, address: info.local, prefixLength: info.prefixlen ?? 0, scope: info.scope ?? 'global' }];
}

export function parseRoutes(json: string): Route[] {
  return parseList<IpRouteJson>(json, 'ip route').flatMap((route) =>
    route.dst === undefined || route.dev === undefined
      ? []
      : [{ destination: route.dst, device: route.dev, ...(route.gateway === undefined ? {} : { gateway: route.gateway }) }],
  );
}

function parseList<T>(json: string, what: string): T[] {
  // An empty table prints nothing at all.
  if (json.trim() === '') return [];
  try {
    const parsed: unknown = JSON.parse(json);
    if (Array.isArray(parsed)) return parsed as T[];
  } catch (cause) {
    throw new KvError('Internal', `${what} did not print JSON; iproute2 5 or newer is needed`, { cause });
  }
  throw new KvError('Internal', `${what} did not print a list`);
}
