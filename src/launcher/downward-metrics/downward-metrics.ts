// Lets a guest read statistics of itself and its node, as vhostmd does: on a small disk that is rewritten every few seconds (a downwardMetrics
// volume), and on request through a serial channel (the downwardMetrics device). Started with the guest, ends with the launcher.
import { mkdir, open } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { posix } from 'node:path';
import type { VirtualMachineInstance } from '../../api/index.js';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { KvError, messageOf } from '../../base/errors.js';
import { hasDownwardMetricsVolume } from '../../core/resources/devices.js';
import { DOWNWARD_METRICS_DISK, DOWNWARD_METRICS_SOCKET } from '../../core/storage/paths.js';
import type { LibvirtSession } from '../session.js';
import { text } from '../text.js';
import { DISK_BYTES, diskParts, INVALID_REQUEST, metricsOf, NO_METRICS, renderMetrics, takeRequests } from './document.js';
import { type NodeFacts, readNodeFacts } from './host-facts.js';

const REFRESH_MS = 5_000;
/** A guest that asks more often waits. */
const REQUEST_INTERVAL_MS = 1_000;
const RECONNECT_MS = 5_000;
/** A request is a line; whoever writes more wants no metrics. */
const MAX_REQUEST_CHARS = 4_096;

export interface MetricsPaths {
  readonly disk: string;
  readonly socket: string;
}

const HERE: MetricsPaths = { disk: DOWNWARD_METRICS_DISK, socket: DOWNWARD_METRICS_SOCKET };

const hasDevice = ({ spec }: VirtualMachineInstance): boolean => spec.domain.devices.downwardMetrics !== undefined;

/** Before the domain is defined: the disk, still without metrics, and the folder of the channel's socket. A disk that is there stays as it is. */
export async function prepareDownwardMetrics(vmi: VirtualMachineInstance, { disk, socket }: MetricsPaths = HERE): Promise<void> {
  if (hasDevice(vmi)) await mkdir(posix.dirname(socket), { recursive: true });
  if (!hasDownwardMetricsVolume(vmi.spec)) return;
  await mkdir(posix.dirname(disk), { recursive: true });
  if (await isNew(disk)) await writeDisk(disk, renderMetrics([]));
}

/** Makes the file unless it exists. */
async function isNew(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx')).close();
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

async function writeDisk(path: string, document: string): Promise<void> {
  const { busyHeader, body, header } = diskParts(document);
  // Never another file in its place: QEMU holds this very one.
  const file = await open(path, 'r+');
  try {
    await file.truncate(DISK_BYTES);
    await file.write(busyHeader, 0, busyHeader.length, 0);
    await file.sync();
    await file.write(body, 0, body.length, header.length);
    await file.write(header, 0, header.length, 0);
  } finally {
    await file.close();
  }
}

interface Deps {
  readonly ctx: Ctx;
  readonly session: Pick<LibvirtSession, 'withDomain' | 'connection'>;
  readonly domain: string;
  readonly paths?: MetricsPaths;
  /** Replaced in tests. */
  readonly readNode?: () => Promise<NodeFacts>;
}

export class DownwardMetrics {
  readonly #deps: Deps;
  readonly #stop = new AbortController();
  #socket: Socket | undefined;
  #hasDisk = false;
  #hasChannel = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** For a guest that runs; safe to repeat. */
  serve(vmi: VirtualMachineInstance): void {
    const node = vmi.status?.nodeName ?? '';
    if (hasDownwardMetricsVolume(vmi.spec) && !this.#hasDisk) {
      this.#hasDisk = true;
      void this.#refreshDisk(node);
    }
    if (hasDevice(vmi) && !this.#hasChannel) {
      this.#hasChannel = true;
      void this.#keepChannel(node);
    }
  }

  close(): void {
    this.#stop.abort();
    this.#socket?.destroy();
  }

  async #document(node: string): Promise<string> {
    const { session, domain, ctx, readNode = readNodeFacts } = this.#deps;
    const stats = await session.withDomain(domain, (handle) => handle.stats(['vcpu', 'balloon']));
    if (!stats) throw new KvError('NotFound', text.noDomain(domain));
    const [facts, product] = await Promise.all([readNode(), session.connection.hypervisorVersion()]);
    return renderMetrics(metricsOf(stats, { ...facts, node, product, now: Math.floor(ctx.now() / 1000) }));
  }

  async #refreshDisk(node: string): Promise<void> {
    const { ctx, paths = HERE } = this.#deps;
    while (!this.#stop.signal.aborted) {
      try {
        await writeDisk(paths.disk, await this.#document(node));
      } catch (err) {
        // The guest reads the last ones; libvirt may be back in a moment.
        ctx.log.warn({ reason: messageOf(err) }, 'Cannot refresh the metrics that the guest reads');
      }
      await sleep(ctx.clock, REFRESH_MS, this.#stop.signal);
    }
  }

  /** QEMU listens; it may need a moment, and lets go of the connection when the guest is reset. */
  async #keepChannel(node: string): Promise<void> {
    const { ctx, paths = HERE } = this.#deps;
    while (!this.#stop.signal.aborted) {
      const socket = createConnection(paths.socket);
      this.#socket = socket;
      try {
        for await (const chunk of socket.setEncoding('utf8')) await this.#hear(socket, node, String(chunk));
      } catch (err) {
        ctx.log.debug({ reason: messageOf(err) }, 'The channel for metrics is not open');
      }
      this.#received = '';
      await sleep(ctx.clock, RECONNECT_MS, this.#stop.signal);
    }
  }

  #received = '';

  async #hear(socket: Socket, node: string, chunk: string): Promise<void> {
    const { requests, rest } = takeRequests(this.#received + chunk);
    this.#received = rest.length > MAX_REQUEST_CHARS ? '' : rest;
    if (rest.length > MAX_REQUEST_CHARS) socket.write(INVALID_REQUEST);
    for (const request of requests) {
      socket.write(request === 'invalid' ? INVALID_REQUEST : `${await this.#answer(node)}\n\n`);
      await sleep(this.#deps.ctx.clock, REQUEST_INTERVAL_MS, this.#stop.signal);
    }
  }

  async #answer(node: string): Promise<string> {
    try {
      return await this.#document(node);
    } catch (err) {
      this.#deps.ctx.log.warn({ reason: messageOf(err) }, 'Cannot tell the guest its metrics');
      return NO_METRICS;
    }
  }
}
