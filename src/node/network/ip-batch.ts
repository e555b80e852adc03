// From the links a plan wants and the links that exist to the lines of one `ip -batch` script. Pure, called by execute.ts. Lines only for
// differences, so that running a plan twice does nothing the second time. Never touches a link that the plan does not name.
import type { DesiredLink } from '../../core/network/link-plan.js';
import type { Link, LinkAddress } from '../../linux/ip.js';

/** MACs for bridges whose MAC others copy but the plan leaves open: the kernel's own choice would not be known before the script runs. */
export function withMacs(links: readonly DesiredLink[], randomMac: () => string): DesiredLink[] {
  const sources = new Set(links.map((link) => link.copyMacFrom));
  const named = links.map((link) => (link.mac === undefined && sources.has(link.name) ? { ...link, mac: randomMac() } : link));
  const macs = new Map(named.map((link) => [link.name, link.mac]));
  return named.map((link) => {
    const mac = link.copyMacFrom === undefined ? link.mac : macs.get(link.copyMacFrom);
    return mac === undefined ? link : { ...link, mac };
  });
}

/** The script that leads from `now` to `links`, in the plan's order. */
export function ipBatch(links: readonly DesiredLink[], now: readonly Link[]): string[] {
  return links.flatMap((link) => {
    const current = currentOf(link, now);
    if (link.state === 'absent') return current === undefined ? [] : [`link del dev ${link.name}`];
    return link.kind === 'nic' ? nicLines(link, current) : ownLines(link, current);
  });
}

/** A NIC keeps its index when it is renamed; what we create is known by its name. */
function currentOf(link: DesiredLink, now: readonly Link[]): Link | undefined {
  if (link.kind === 'nic') return now.find((candidate) => candidate.index === link.index);
  const named = now.find((candidate) => candidate.name === link.name);
  return named !== undefined && named.kind === kernelKind(link) ? named : undefined;
}

function kernelKind(link: DesiredLink): string {
  if (link.kind === 'tap') return 'tun';
  if (link.kind === 'holder') return link.holderType ?? 'bridge';
  return link.kind;
}

function ownLines(link: DesiredLink, current: Link | undefined): string[] {
  return [
    ...(current === undefined ? createLines(link) : []),
    ...attributeLines(link, current),
    ...addressLines(link, current?.addresses ?? []),
    ...controllerLines(link, current),
    ...upLines(link, current),
  ];
}

function createLines(link: DesiredLink): string[] {
  if (link.kind !== 'tap') return [`link add name ${link.name} type ${kernelKind(link)}`];
  const { uid = 0, gid = 0, queues = 0 } = link.tap ?? {};
  // libvirt asks for a multi-queue tap only when it wants more than one queue, and the kernel insists that both agree.
  return [`tuntap add dev ${link.name} mode tap user ${uid} group ${gid}${queues > 1 ? ' multi_queue' : ''}`];
}

/** The pod's own link: out of service, renamed, stripped of its identity, then a port of the bridge. */
function nicLines(link: DesiredLink, current: Link | undefined): string[] {
  if (current === undefined || (current.name === link.name && current.master === link.controller && current.isUp)) return [];
  return [
    `link set dev ${current.name} down`,
    ...(current.name === link.name ? [] : [`link set dev ${current.name} name ${link.name}`]),
    ...attributeLines(link, current),
    // Without this the kernel gives the port a link-local address as soon as it is up.
    ...(link.ipv6?.length === 0 ? [`link set dev ${link.name} addrgenmode none`] : []),
    ...stripLines(link, current),
    ...controllerLines(link, current),
    ...(link.portLearning === false ? [`link set dev ${link.name} type bridge_slave learning off`] : []),
    `link set dev ${link.name} up`,
  ];
}

/** With the link the kernel has taken down its IPv6 addresses, or kept them, as it is told to: they cannot be deleted one by one. */
function stripLines(link: DesiredLink, { addresses }: Link): string[] {
  const isBare = link.ipv4?.length === 0 && link.ipv6?.length === 0;
  if (isBare) return addresses.length === 0 ? [] : [`address flush dev ${link.name}`];
  return addressLines(
    link,
    addresses.filter(({ scope }) => scope === 'global'),
  );
}

function attributeLines(link: DesiredLink, current: Link | undefined): string[] {
  const { mac, mtu } = link;
  return [
    ...(mac === undefined || mac === current?.mac ? [] : [`link set dev ${link.name} address ${mac}`]),
    ...(mtu === undefined || mtu === current?.mtu ? [] : [`link set dev ${link.name} mtu ${mtu}`]),
  ];
}

function controllerLines(link: DesiredLink, current: Link | undefined): string[] {
  return link.controller === undefined || link.controller === current?.master
    ? []
    : [`link set dev ${link.name} master ${link.controller}`];
}

function upLines(link: DesiredLink, current: Link | undefined): string[] {
  return link.state !== 'up' || current?.isUp === true ? [] : [`link set dev ${link.name} up`];
}

function addressLines(link: DesiredLink, current: readonly LinkAddress[]): string[] {
  return [...familyLines(link, 'inet', current), ...familyLines(link, 'inet6', current)];
}

function familyLines(link: DesiredLink, family: LinkAddress['family'], current: readonly LinkAddress[]): string[] {
  const wanted = (family === 'inet' ? link.ipv4 : link.ipv6)?.map(({ ip, prefix }) => `${ip}/${prefix}`);
  if (wanted === undefined) return [];
  const have = current.filter((a) => a.family === family && a.scope !== 'link').map((a) => `${a.address}/${a.prefixLength}`);
  // Duplicate address detection would hold the address back until the bridge has a carrier.
  const nodad = family === 'inet6' ? ' nodad' : '';
  return [
    ...have.filter((address) => !wanted.includes(address)).map((address) => `address del ${address} dev ${link.name}`),
    ...wanted.filter((address) => !have.includes(address)).map((address) => `address add ${address} dev ${link.name}${nodad}`),
  ];
}
