// The DHCP servers of one guest: a socket on each in-pod bridge, whose datagrams core/network/dhcp answers. Started before the guest is,
// kept until the launcher ends. The node agent has allowed unprivileged port numbers in this network namespace.
import dgram from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { VirtualMachineInstance } from '../../api/index.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { type DhcpV4Config, dhcpStartedPath, type LauncherInterface } from '../../core/network/caches.js';
import type { ResolvConf } from '../../core/network/dhcp/resolv-conf.js';
import { v4Lease } from '../../core/network/dhcp/v4-lease.js';
import { answerV4 } from '../../core/network/dhcp/v4-server.js';
import { answerV6, type V6Lease } from '../../core/network/dhcp/v6-server.js';
import { formatIp, parseIp } from '../../core/network/ip.js';
import { BRIDGE_MAC, parseMac } from '../../core/network/mac.js';
import { bindToDevice } from '../../linux/ffi.js';

const V4_SERVER_PORT = 67;
const V4_CLIENT_PORT = 68;
const V6_SERVER_PORT = 547;
const V6_CLIENT_PORT = 546;
const BROADCAST = '255.255.255.255';
/** All DHCPv6 servers and relays (RFC 8415). */
const V6_SERVERS = 'ff02::1:2';

/** Node has no public way to a datagram socket's descriptor. */
function descriptorOf(socket: dgram.Socket): number {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'state symbol');
  const state = symbol && (socket as unknown as Record<symbol, { handle?: { fd?: number } }>)[symbol];
  const fd = state?.handle?.fd;
  if (fd === undefined || fd < 0)
    throw new KvError('Internal', 'this Node version hides the descriptor of datagram sockets; use the one of the image');
  return fd;
}

async function openSocket(family: 'udp4' | 'udp6', port: number, device: string): Promise<dgram.Socket> {
  const socket = dgram.createSocket({ type: family, reuseAddr: true, ipv6Only: family === 'udp6' });
  try {
    socket.bind(port, family === 'udp4' ? '0.0.0.0' : '::');
    await once(socket, 'listening');
    bindToDevice(descriptorOf(socket), device);
    return socket;
  } catch (err) {
    socket.close();
    throw new KvError(
      'CriticalNetwork',
      `cannot serve DHCP on ${device}, port ${port}; the node agent must prepare the pod's network first`,
      { cause: err },
    );
  }
}

const hasV4 = (file: LauncherInterface): file is LauncherInterface & { dhcp4: DhcpV4Config } => file.dhcp4 !== undefined;

export class DhcpServers {
  readonly #ctx: Ctx;
  readonly #sockets = new Map<string, dgram.Socket[]>();

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
  }

  /** Serves the interfaces that are not served yet. */
  async serve(vmi: VirtualMachineInstance, interfaces: readonly LauncherInterface[], resolv: ResolvConf): Promise<void> {
    for (const file of interfaces) {
      if (this.#sockets.has(file.bridge)) continue;
      this.#sockets.set(file.bridge, await this.#serveInterface(vmi, file, resolv));
      await writeFile(dhcpStartedPath(file.podInterface), '');
    }
  }

  async #serveInterface(vmi: VirtualMachineInstance, file: LauncherInterface, resolv: ResolvConf): Promise<dgram.Socket[]> {
    const v4 = hasV4(file) ? [await this.#serveV4(vmi, file, resolv)] : [];
    try {
      return file.dhcp6 ? [...v4, await this.#serveV6(file, resolv)] : v4;
    } catch (err) {
      for (const socket of v4) socket.close();
      throw err;
    }
  }

  async #serveV4(
    vmi: VirtualMachineInstance,
    file: LauncherInterface & { dhcp4: DhcpV4Config },
    resolv: ResolvConf,
  ): Promise<dgram.Socket> {
    const lease = v4Lease(vmi, file, resolv);
    const socket = await openSocket('udp4', V4_SERVER_PORT, file.bridge);
    socket.setBroadcast(true);
    this.#answer(socket, file, (datagram) => {
      const answer = answerV4(datagram, lease);
      return answer && { packet: answer.packet, to: answer.to ? formatIp(answer.to) : BROADCAST, port: V4_CLIENT_PORT };
    });
    this.#ctx.log.info({ bridge: file.bridge, client: file.dhcp4.client, mac: file.mac }, 'Serving DHCP');
    return socket;
  }

  async #serveV6(file: LauncherInterface, resolv: ResolvConf): Promise<dgram.Socket> {
    const client = parseIp(file.dhcp6?.client ?? '');
    const serverMac = parseMac(BRIDGE_MAC);
    if (client?.family !== 6 || !serverMac) throw new KvError('Invalid', `'${file.dhcp6?.client}' is no IPv6 address for the guest`);
    const lease: V6Lease = { client, serverMac, dns: resolv.nameservers, search: resolv.search };
    const socket = await openSocket('udp6', V6_SERVER_PORT, file.bridge);
    socket.addMembership(V6_SERVERS, `::%${file.bridge}`);
    this.#answer(socket, file, (datagram, from) => {
      const packet = answerV6(datagram, lease);
      return packet && { packet, to: from, port: V6_CLIENT_PORT };
    });
    return socket;
  }

  #answer(
    socket: dgram.Socket,
    { bridge }: LauncherInterface,
    answer: (datagram: Uint8Array, from: string) => { packet: Uint8Array; to: string; port: number } | undefined,
  ): void {
    const complain = (err: unknown): void => this.#ctx.log.warn({ reason: messageOf(err), bridge }, 'A DHCP message was not answered');
    socket.on('error', complain);
    socket.on('message', (datagram, { address }) => {
      try {
        const reply = answer(datagram, address);
        if (reply) socket.send(reply.packet, reply.port, reply.to, (err) => err && complain(err));
      } catch (err) {
        // A guest may send anything; it must not end the server.
        complain(err);
      }
    });
  }

  close(): void {
    for (const socket of [...this.#sockets.values()].flat()) socket.close();
    this.#sockets.clear();
  }
}
