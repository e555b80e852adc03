// The lines of an `ip -batch` script that bring a plan's links about, and the translation of what iproute2 shows into a plan's input.
// Pure text: the node agent runs the script inside the launcher's network namespace. Links that are there already are not created again,
// so a script cut short may be planned and run anew.
import { createHash } from 'node:crypto';
import type { DesiredAddresses, DesiredLink } from './link-plan.js';
import { type LinkAddress, linkNamed, type PodLink, type PodNamespace } from './link-status.js';
import { formatMac } from './mac.js';

/** What reading a namespace gives (linux/ip.ts). */
export interface IproutePicture {
  readonly links: readonly {
    readonly index: number;
    readonly name: string;
    readonly mac: string;
    readonly mtu: number;
    readonly addresses: readonly { readonly family: 'inet' | 'inet6'; readonly address: string; readonly prefixLength: number }[];
  }[];
  readonly routes: readonly { readonly destination: string; readonly gateway?: string; readonly device: string }[];
}

/** iproute2 writes `default` and leaves /32 out. */
function cidrOf(destination: string): string {
  if (destination === 'default') return '0.0.0.0/0';
  return destination.includes('/') ? destination : `${destination}/32`;
}

export function podNamespace({ links, routes }: IproutePicture): PodNamespace {
  const of = (link: IproutePicture['links'][number], family: string): LinkAddress[] =>
    link.addresses.filter((a) => a.family === family).map((a) => ({ ip: a.address, prefix: a.prefixLength }));
  return {
    links: links.map((link): PodLink => {
      const { index, name, mac, mtu } = link;
      return { index, name, mac, mtu, ipv4: of(link, 'inet'), ipv6: of(link, 'inet6') };
    }),
    routes: routes.map(({ destination, gateway, device }) => ({
      destination: cidrOf(destination),
      link: device,
      ...(gateway === undefined ? {} : { gateway }),
    })),
  };
}

/** Locally administered and unlike the pod's own MAC, which becomes the guest's; the same each time, so that a second run agrees. */
export function bridgeMacFor(seed: string): string {
  const [...bytes] = createHash('sha256').update(seed).digest().subarray(0, 5);
  return formatMac(Uint8Array.of(0x02, ...bytes));
}

/** Spelled out, so that a link named like a keyword of iproute2 is no keyword. */
const dev = (name: string): string => `dev ${name}`;

function addresses(name: string, wanted: DesiredAddresses, have: readonly LinkAddress[]): string[] {
  return (wanted ?? [])
    .filter(({ ip, prefix }) => !have.some((a) => a.ip === ip && a.prefix === prefix))
    .map(({ ip, prefix }) => `address add ${ip}/${prefix} ${dev(name)}${ip.includes(':') ? ' nodad' : ''}`);
}

function common(link: DesiredLink, have: PodLink | undefined): string[] {
  return [
    ...addresses(link.name, link.ipv4, have?.ipv4 ?? []),
    ...addresses(link.name, link.ipv6, have?.ipv6 ?? []),
    ...(link.controller ? [`link set ${dev(link.name)} master ${link.controller}`] : []),
    ...(link.state === 'up' ? [`link set ${dev(link.name)} up`] : []),
  ];
}

function creation(link: DesiredLink, mac: string | undefined): string {
  const words = [mac ? ` address ${mac}` : '', link.mtu ? ` mtu ${link.mtu}` : ''].join('');
  return `link add ${dev(link.name)}${words} type ${link.kind === 'holder' ? (link.holderType ?? 'dummy') : 'bridge'}`;
}

function tap(link: DesiredLink, have: PodLink | undefined): string[] {
  const { uid, gid, queues } = link.tap ?? { uid: 0, gid: 0, queues: 0 };
  const create = `tuntap add ${dev(link.name)} mode tap user ${uid} group ${gid}${queues > 0 ? ' multi_queue' : ''}`;
  return [...(have ? [] : [create]), ...(link.mtu ? [`link set ${dev(link.name)} mtu ${link.mtu}`] : []), ...common(link, have)];
}

/** The pod's NIC must be down to be renamed; every address goes, so that only the guest answers for them. */
function nic(link: DesiredLink, now: PodNamespace, mac: string | undefined): string[] {
  const present = now.links.find(({ index }) => index === link.index);
  const from = present?.name ?? link.name;
  return [
    `link set ${dev(from)} down`,
    ...(from === link.name ? [] : [`link set ${dev(from)} name ${link.name}`]),
    ...(mac ? [`link set ${dev(link.name)} address ${mac}`] : []),
    `address flush ${dev(link.name)}`,
    ...common(link, undefined),
    ...(link.portLearning === false ? [`link set ${dev(link.name)} type bridge_slave learning off`] : []),
  ];
}

/** MACs that the plan leaves open but that the script must name: of bridges that a NIC copies from. */
function openMacs(links: readonly DesiredLink[]): ReadonlyMap<string, string> {
  const holders = new Map(links.filter(({ kind }) => kind === 'holder').map((link) => [link.network, link.mac ?? '']));
  return new Map(
    links.flatMap((link) => (link.copyMacFrom ? [[link.copyMacFrom, bridgeMacFor(`${link.network} ${holders.get(link.network)}`)]] : [])),
  );
}

function linesOf(link: DesiredLink, now: PodNamespace, macs: ReadonlyMap<string, string>): string[] {
  const have = linkNamed(now, link.name);
  if (link.state === 'absent') return have ? [`link delete ${dev(link.name)}`] : [];
  switch (link.kind) {
    case 'tap':
      return tap(link, have);
    case 'nic':
      return nic(link, now, macs.get(link.copyMacFrom ?? ''));
    case 'holder':
      // The pod's own NIC still has this name now; it is renamed earlier in the same script.
      return [creation(link, link.mac), ...common(link, undefined)];
    default:
      return [...(have ? [] : [creation(link, link.mac ?? macs.get(link.name))]), ...common(link, have)];
  }
}

export function ipBatch(links: readonly DesiredLink[], now: PodNamespace): string[] {
  const macs = openMacs(links);
  return links.flatMap((link) => linesOf(link, now, macs));
}
