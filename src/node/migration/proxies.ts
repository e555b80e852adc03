// The way of a migration between two nodes, which launchers cannot go by themselves: on the source's node unix sockets in the launcher's pod lead
// to the other node agent, by mutual TLS; on the target's node its ports lead to unix sockets in the launcher's pod. One key a VMI. Sockets in pods
// are reached beneath the pod's root, so that no link in there leads elsewhere.
import { lchown, mkdir, unlink } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { withDeadline } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { type Channel, channelSocketName, MIGRATION_SOCKETS_DIR, targetSocket } from '../../core/migration/channels.js';
import { openBeneath, type SafePath, withBeneath } from '../../linux/safe-path.js';
import { link } from './link.js';
import { clientOptions, nameFault, type PeerTls, serverOptions } from './peer-tls.js';
import type { ChannelPorts, SourceRoute } from './plan.js';

/** The launcher's root in the node's view, and whose its files are. */
export interface PodEnd {
  readonly root: string;
  readonly uid: number;
}

export interface MigrationProxiesOptions {
  /** undefined: bytes travel in the clear (disableTLS). */
  readonly tls: () => PeerTls | undefined;
  /** Address to listen on; all by default. */
  readonly listen?: string;
}

interface Side {
  /** What it was opened for; opened anew for anything else. */
  readonly purpose: string;
  readonly ports: ChannelPorts;
  readonly end: AbortController;
  readonly closers: (() => Promise<void>)[];
}

/** Parallel memory streams, one for each disk, libvirt's own, and some to spare. */
const MAX_CONNECTIONS = 64;
const DIAL_MS = 10_000;

type Dial = () => Promise<Socket>;

export class MigrationProxies {
  readonly #ctx: Ctx;
  readonly #options: MigrationProxiesOptions;
  readonly #sources = new Map<string, Promise<Side>>();
  readonly #targets = new Map<string, Promise<Side>>();
  #links = 0;

  constructor(ctx: Ctx, options: MigrationProxiesOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  /** Connections that pass bytes now: a node agent that is to end waits for them. */
  get active(): number {
    return this.#links;
  }

  /** Listens for the other node agent; safe to repeat. Resolves with the port of each channel. */
  async openTarget(key: string, pod: PodEnd, channels: readonly Channel[]): Promise<ChannelPorts> {
    const purpose = JSON.stringify([pod.root, channels]);
    const side = await this.#open(this.#targets, key, purpose, async (end, closers) => {
      const ports: Partial<Record<Channel, number>> = {};
      for (const channel of channels) {
        const server = this.#listener(end.signal, channel, () => dialPod(pod.root, targetSocket(key, channel)));
        closers.push(closerOf(server));
        ports[channel] = await listen(server, { port: 0, ...(this.#options.listen === undefined ? {} : { host: this.#options.listen }) });
      }
      this.#ctx.log.info({ uid: key, ports }, 'Listening for a guest that is to come');
      return ports;
    });
    return side.ports;
  }

  /** Makes the unix sockets in the pod that lead to the target; safe to repeat. */
  async openSource(key: string, pod: PodEnd, route: SourceRoute): Promise<void> {
    await this.#open(this.#sources, key, JSON.stringify([pod.root, route]), async (end, closers) => {
      const dir = await socketDir(pod);
      closers.push(() => dir.close());
      for (const [channel, port] of Object.entries(route.ports) as [Channel, number][]) {
        const path = `${dir.path}/${channelSocketName(key, channel)}`;
        const server = this.#accept(createServer({ allowHalfOpen: true }), end.signal, channel, () => this.#dialNode(route.address, port));
        await removeSocket(path);
        // Closed before the directory, through which its file is removed.
        closers.unshift(closerOf(server));
        await listen(server, { path });
        await lchown(path, pod.uid, pod.uid);
      }
      this.#ctx.log.info({ uid: key, ...route }, 'Leading a guest to another node');
      return route.ports;
    });
  }

  closeTarget = (key: string): Promise<void> => this.#close(this.#targets, key);
  closeSource = (key: string): Promise<void> => this.#close(this.#sources, key);

  async close(): Promise<void> {
    await Promise.all([...[...this.#targets.keys()].map(this.closeTarget), ...[...this.#sources.keys()].map(this.closeSource)]);
  }

  async #open(
    sides: Map<string, Promise<Side>>,
    key: string,
    purpose: string,
    make: (end: AbortController, closers: Side['closers']) => Promise<ChannelPorts>,
  ): Promise<Side> {
    const known = await sides.get(key);
    if (known?.purpose === purpose) return known;
    if (known !== undefined) await this.#close(sides, key);
    const end = new AbortController();
    const closers: Side['closers'] = [];
    const side = make(end, closers).then((ports): Side => ({ purpose, ports, end, closers }));
    sides.set(key, side);
    try {
      return await side;
    } catch (err) {
      sides.delete(key);
      for (const close of closers) await close();
      throw err;
    }
  }

  async #close(sides: Map<string, Promise<Side>>, key: string): Promise<void> {
    const side = await sides.get(key);
    if (side === undefined) return;
    sides.delete(key);
    side.end.abort();
    for (const close of side.closers) await close();
  }

  /** Ends when the peer is no node agent: before it was asked for anything. */
  #listener(signal: AbortSignal, channel: Channel, dial: Dial): Server {
    const tls = this.#options.tls();
    if (tls === undefined) return this.#accept(createServer({ allowHalfOpen: true }), signal, channel, dial);
    const server = createTlsServer({ ...serverOptions(tls), allowHalfOpen: true, handshakeTimeout: DIAL_MS });
    server.maxConnections = MAX_CONNECTIONS;
    server.on('tlsClientError', (err) =>
      this.#ctx.log.warn({ reason: messageOf(err), channel }, 'A connection for a migration was refused'),
    );
    server.on('secureConnection', (socket: TLSSocket) => {
      const fault = nameFault(tls.kinds, socket.getPeerCertificate());
      if (fault === undefined) return void this.#join(socket, dial, signal, channel);
      this.#ctx.log.warn({ reason: fault, channel }, 'A connection for a migration was refused');
      socket.destroy();
    });
    return server;
  }

  #accept(server: Server, signal: AbortSignal, channel: Channel, dial: Dial): Server {
    server.maxConnections = MAX_CONNECTIONS;
    server.on('connection', (socket: Socket) => void this.#join(socket, dial, signal, channel));
    return server;
  }

  async #join(near: Socket, dial: Dial, signal: AbortSignal, channel: Channel): Promise<void> {
    const { clock, log } = this.#ctx;
    // Until both are linked; then the link hears it.
    const isBroken = (): void => void near.destroy();
    near.on('error', isBroken);
    this.#links++;
    try {
      const far = await dial();
      if (near.destroyed) return void far.destroy();
      const bytes = await link(near, far, { clock, signal });
      log.debug({ channel, bytes }, 'A connection of a migration has ended');
    } catch (err) {
      log.warn({ channel, reason: messageOf(err) }, 'A connection of a migration leads nowhere');
      near.destroy();
    } finally {
      this.#links--;
    }
  }

  async #dialNode(host: string, port: number): Promise<Socket> {
    const tls = this.#options.tls();
    const where = `the node agent at ${host}, port ${port}`;
    const to = { host, port, allowHalfOpen: true };
    if (tls === undefined) return connected(this.#ctx, connect(to), 'connect', where);
    return connected(this.#ctx, connectTls({ ...clientOptions(tls), ...to }), 'secureConnect', where);
  }
}

async function connected(ctx: Ctx, socket: Socket, event: 'connect' | 'secureConnect', where: string): Promise<Socket> {
  const work = new Promise<Socket>((resolve, reject) => {
    socket.once(event, () => resolve(socket));
    socket.once('error', (cause) => reject(new KvError('Unavailable', `cannot reach ${where}`, { cause })));
  });
  try {
    return await withDeadline(ctx.clock, DIAL_MS, work, () => new KvError('Timeout', `${where} did not answer within ${DIAL_MS / 1000} s`));
  } catch (err) {
    socket.destroy();
    throw err;
  }
}

/** QEMU opens its sockets when libvirt tells it to; until then there is none. */
function dialPod(root: string, path: string): Promise<Socket> {
  return withBeneath(root, path, ({ path: socketPath }) => {
    const socket = connect({ path: socketPath, allowHalfOpen: true });
    return new Promise<Socket>((resolve, reject) => {
      socket.once('connect', () => resolve(socket));
      socket.once('error', (cause) => reject(new KvError('Unavailable', `nothing listens at ${path} in the launcher's pod`, { cause })));
    });
  });
}

/** The directory in the pod, made if need be and given to the launcher. */
async function socketDir({ root, uid }: PodEnd): Promise<SafePath> {
  const [parent, name] = [MIGRATION_SOCKETS_DIR.replace(/\/[^/]+$/, ''), MIGRATION_SOCKETS_DIR.replace(/^.*\//, '')];
  await withBeneath(root, parent, async ({ path }) => {
    await mkdir(`${path}/${name}`).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'EEXIST')
        throw new KvError('Internal', `cannot make ${MIGRATION_SOCKETS_DIR} in the launcher's pod`, { cause: err });
    });
    await lchown(`${path}/${name}`, uid, uid);
  });
  return openBeneath(root, MIGRATION_SOCKETS_DIR);
}

async function removeSocket(path: string): Promise<void> {
  await unlink(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT')
      throw new KvError('Internal', 'cannot remove a socket that an earlier migration left in the pod', { cause: err });
  });
}

function listen(server: Server, where: { readonly port: number; readonly host?: string } | { readonly path: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    // Later ones concern one connection that could not be taken; without a listener they would end the process.
    server.on('error', (cause) => reject(new KvError('Internal', 'cannot listen for a migration', { cause })));
    server.listen(where, () => {
      const address = server.address() as AddressInfo | string | null;
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

/** Ends the server and what is left of its connections, such as those that have not shaken hands. */
function closerOf(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
}
