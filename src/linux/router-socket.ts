// A socket for router advertisements in a pod: an ICMPv6 socket of the pod's network, bound to one link. It takes the node agent's rights
// to make it, and none to use it; so the agent makes it and hands it to the launcher over a unix socket, and keeps nothing.
// Here are both ends of that and the way to use it. What is sent on it is decided in core/network.

import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { KvError } from '../base/errors.js';
import { bindToDevice } from './ffi.js';
import { icmp6SocketOf, receiveDescriptor, replaceDescriptor, sendDescriptor, setOption, udpSocket } from './ffi-sockets.js';
import { descriptorOf, dial } from './peercred.js';

const SOL_ICMPV6 = 58;
const SOL_IPV6 = 41;
const ICMP6_FILTER = [SOL_ICMPV6, 1] as const;
const UNICAST_HOPS = [SOL_IPV6, 16] as const;
const MULTICAST_HOPS = [SOL_IPV6, 18] as const;
const MULTICAST_LOOP = [SOL_IPV6, 19] as const;
const RECEIVE_BUFFER = [1, 8] as const;

/** Neighbour discovery is only believed when it comes from the link itself: nobody can forward a packet with this. */
const HOPS = 255;
const SOLICITATION = 133;
/** A guest that floods its router fills no memory. */
const QUEUE_BYTES = 4096;
const LINK_NAME_BYTES = 15;
const HANDOVER_MS = 5_000;

/** One bit a type: set for those that the socket does not get. */
function allTypesBut(type: number): Uint8Array {
  const words = new Uint32Array(8).fill(0xffffffff);
  words[type >>> 5] = ~(1 << (type & 31)) >>> 0;
  return new Uint8Array(words.buffer);
}

/** Gets router solicitations that come in on the link, and nothing else; sends out through it only. The caller closes it. */
export const openRouterSocket = (netNs: string, link: string): number =>
  icmp6SocketOf(netNs, (fd) => {
    bindToDevice(fd, link);
    setOption(fd, ICMP6_FILTER, allTypesBut(SOLICITATION));
    setOption(fd, UNICAST_HOPS, HOPS);
    setOption(fd, MULTICAST_HOPS, HOPS);
    setOption(fd, MULTICAST_LOOP, 0);
    setOption(fd, RECEIVE_BUFFER, QUEUE_BYTES);
  });

/** Opens the socket and gives it to whoever listens at `path`; resolves once it was taken. */
export async function handOverRouterSocket(netNs: string, link: string, path: string): Promise<void> {
  const connection = await dial(path, HANDOVER_MS);
  try {
    const fd = openRouterSocket(netNs, link);
    try {
      sendDescriptor(descriptorOf(connection), fd, link);
    } finally {
      closeSync(fd);
    }
    // The other side says nothing; it hangs up when it has it.
    connection.resume();
    await once(connection, 'close', { signal: AbortSignal.timeout(HANDOVER_MS) });
  } catch (cause) {
    throw new KvError('Internal', `handing the router socket of ${link} to the launcher failed`, { cause });
  } finally {
    connection.destroy();
  }
}

/** The receiving end: keeps each link's socket until it is asked for. */
export class RouterSocketInbox {
  readonly #sockets = new Map<string, number>();
  #server: Server | undefined;

  /** `failed` hears of connections that brought nothing. */
  async listen(path: string, failed: (err: unknown) => void): Promise<void> {
    await rm(path, { force: true });
    const server = createServer({ pauseOnConnect: true }, (connection) => void this.#receive(connection).catch(failed));
    this.#server = server;
    server.listen(path);
    await once(server, 'listening');
    server.on('error', failed);
  }

  async #receive(connection: Socket): Promise<void> {
    connection.on('error', () => connection.destroy());
    try {
      const received = await receiveDescriptor(descriptorOf(connection), LINK_NAME_BYTES, HANDOVER_MS);
      if (received === undefined) throw new KvError('Invalid', 'a connection for router sockets brought none');
      const before = this.#sockets.get(received.words);
      if (before !== undefined) closeSync(before);
      this.#sockets.set(received.words, received.descriptor);
    } finally {
      connection.destroy();
    }
  }

  /** The socket for the link, once: it is the caller's now. undefined when none came (yet). */
  take(link: string): number | undefined {
    const fd = this.#sockets.get(link);
    this.#sockets.delete(link);
    return fd;
  }

  close(): void {
    this.#server?.close();
    for (const fd of this.#sockets.values()) closeSync(fd);
    this.#sockets.clear();
  }
}

/** The port of ICMPv6 sockets, as far as the kernel cares: it must be the protocol's number. */
export const ICMP6_PORT = SOL_ICMPV6;

/**
 * The socket as an object of Node, which only knows datagram sockets of UDP. It is given one and starts to listen; before the event loop
 * looks at it for the first time, the descriptor names the other socket. Closes it with the object.
 */
export function asDatagramSocket(fd: number): DatagramSocket {
  const socket = createSocket('udp6');
  const placeholder = udpSocket('udp6');
  socket.bind({ fd: placeholder });
  replaceDescriptor(placeholder, fd);
  return socket;
}
