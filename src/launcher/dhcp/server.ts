// The DHCP servers of one guest: a socket on each in-pod bridge, whose datagrams core/network/dhcp answers; and the router's advertisements
// where there is IPv6. Started before the guest is, kept until its interface or the launcher ends. The node agent has allowed unprivileged
// port numbers in this network namespace, and brings the sockets for advertisements.
import type { Socket } from 'node:dgram';
import { rm, writeFile } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { type DhcpV4Config, type DhcpV6Config, dhcpStartedPath, type LauncherInterface } from '../../core/network/caches.js';
import type { ResolvConf } from '../../core/network/dhcp/resolv-conf.js';
import { routerAdvertisement } from '../../core/network/dhcp/router-advertisement.js';
import { v4Lease } from '../../core/network/dhcp/v4-lease.js';
import { answerV4 } from '../../core/network/dhcp/v4-server.js';
import { v6Lease, v6Router } from '../../core/network/dhcp/v6-lease.js';
import { answerV6 } from '../../core/network/dhcp/v6-server.js';
import { formatIp } from '../../core/network/ip.js';
import { ROUTER_SOCKETS } from '../../core/storage/paths.js';
import { linkSocket } from '../../linux/datagram.js';
import { asDatagramSocket, ICMP6_PORT, RouterSocketInbox } from '../../linux/router-socket.js';
import { Advertiser, ROUTER_LIFETIME_SECONDS } from './advertiser.js';

const V4_SERVER_PORT = 67;
const V4_CLIENT_PORT = 68;
const V6_SERVER_PORT = 547;
const V6_CLIENT_PORT = 546;
/** No client says more; reading what a hostile guest sends must not take long. */
const LARGEST = 4096;
const QUIET_MS = 60_000;
const BROADCAST = '255.255.255.255';
/** All DHCPv6 servers and relays (RFC 8415). */
const V6_SERVERS = 'ff02::1:2';

interface Closable {
  close(): void;
}

type WithV4 = LauncherInterface & { readonly dhcp4: DhcpV4Config };
type WithV6 = LauncherInterface & { readonly dhcp6: DhcpV6Config };
const hasV4 = (file: LauncherInterface): file is WithV4 => file.dhcp4 !== undefined;
const hasV6 = (file: LauncherInterface): file is WithV6 => file.dhcp6 !== undefined;

function openSocket(family: 'udp4' | 'udp6', port: number, device: string): Socket {
  try {
    return linkSocket(family, port, device);
  } catch (cause) {
    throw new KvError(
      'CriticalNetwork',
      `cannot serve DHCP on ${device}, port ${port}; the node agent must prepare the pod's network first`,
      { cause },
    );
  }
}

interface Served {
  readonly podInterface: string;
  readonly parts: readonly Closable[];
}

export class DhcpServers {
  readonly #ctx: Ctx;
  readonly #served = new Map<string, Served>();
  readonly #inbox = new RouterSocketInbox();

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
  }

  /** From now on the node agent can bring sockets for advertisements. */
  listen(): Promise<void> {
    return this.#inbox.listen(ROUTER_SOCKETS, (err) => this.#ctx.log.warn({ reason: messageOf(err) }, 'A router socket did not arrive'));
  }

  /** Serves these interfaces and no others: one that was unplugged may come back with another link and another lease. */
  async serve(vmi: VirtualMachineInstance, interfaces: readonly LauncherInterface[], resolver: () => Promise<ResolvConf>): Promise<void> {
    const wanted = new Set(interfaces.map(({ bridge }) => bridge));
    for (const bridge of this.#served.keys()) if (!wanted.has(bridge)) await this.#end(bridge);
    const fresh = interfaces.filter(({ bridge }) => !this.#served.has(bridge));
    if (fresh.length === 0) return;
    const resolv = await resolver();
    for (const file of fresh) {
      this.#served.set(file.bridge, { podInterface: file.podInterface, parts: this.#start(vmi, file, resolv) });
      await writeFile(dhcpStartedPath(file.podInterface), '');
    }
  }

  #start(vmi: VirtualMachineInstance, file: LauncherInterface, resolv: ResolvConf): Closable[] {
    const parts: Closable[] = [];
    try {
      if (hasV4(file)) parts.push(this.#serveV4(vmi, file, resolv));
      // One by one: what was opened before the other failed is closed again.
      if (hasV6(file)) parts.push(this.#serveV6(vmi, file, resolv));
      if (hasV6(file)) parts.push(this.#advertise(file));
      return parts;
    } catch (err) {
      for (const part of parts) part.close();
      throw err;
    }
  }

  #serveV4(vmi: VirtualMachineInstance, file: WithV4, resolv: ResolvConf): Socket {
    const lease = v4Lease(vmi, file, resolv);
    const socket = openSocket('udp4', V4_SERVER_PORT, file.bridge);
    socket.setBroadcast(true);
    this.#answer(socket, file, (datagram) => {
      const answer = answerV4(datagram, lease);
      return answer && { packet: answer.packet, to: answer.to ? formatIp(answer.to) : BROADCAST, port: V4_CLIENT_PORT };
    });
    this.#ctx.log.info({ bridge: file.bridge, client: file.dhcp4.client, mac: file.mac }, 'Serving DHCP');
    return socket;
  }

  #serveV6(vmi: VirtualMachineInstance, file: WithV6, resolv: ResolvConf): Socket {
    const lease = v6Lease(vmi, file, resolv);
    const socket = openSocket('udp6', V6_SERVER_PORT, file.bridge);
    socket.addMembership(V6_SERVERS, `::%${file.bridge}`);
    this.#answer(socket, file, (datagram, from) => {
      const packet = answerV6(datagram, lease);
      return packet && { packet, to: from, port: V6_CLIENT_PORT };
    });
    this.#ctx.log.info({ bridge: file.bridge, client: file.dhcp6.client }, 'Serving DHCPv6');
    return socket;
  }

  #advertise(file: WithV6): Advertiser {
    const { bridge } = file;
    const fd = this.#inbox.take(bridge);
    if (fd === undefined)
      throw new KvError('CriticalNetwork', `the node agent brought no socket to advertise the IPv6 router on ${bridge}`, {
        retry: 'never',
      });
    const packet = routerAdvertisement({ ...v6Router(file), lifetimeSeconds: ROUTER_LIFETIME_SECONDS });
    return new Advertiser(this.#ctx, asDatagramSocket(fd), { bridge, packet, port: ICMP6_PORT });
  }

  #answer(
    socket: Socket,
    { bridge }: LauncherInterface,
    answer: (datagram: Uint8Array, from: string) => { packet: Uint8Array; to: string; port: number } | undefined,
  ): void {
    let quietUntil = 0;
    // A guest may ask for what cannot be answered as often as it likes; the log is the node's.
    const complain = (err: unknown): void => {
      if (this.#ctx.now() < quietUntil) return;
      quietUntil = this.#ctx.now() + QUIET_MS;
      this.#ctx.log.warn({ reason: messageOf(err), bridge }, 'A DHCP message was not answered');
    };
    socket.on('error', complain);
    socket.on('message', (datagram, { address }) => {
      if (datagram.length > LARGEST) return;
      try {
        const reply = answer(datagram, address);
        if (reply) socket.send(reply.packet, reply.port, reply.to, (err) => err && complain(err));
      } catch (err) {
        // A guest may send anything; it must not end the server.
        complain(err);
      }
    });
  }

  async #end(bridge: string): Promise<void> {
    const served = this.#served.get(bridge);
    if (served === undefined) return;
    for (const part of served.parts) part.close();
    this.#served.delete(bridge);
    await rm(dhcpStartedPath(served.podInterface), { force: true });
  }

  close(): void {
    for (const part of [...this.#served.values()].flatMap(({ parts }) => parts)) part.close();
    this.#served.clear();
    this.#inbox.close();
  }
}
