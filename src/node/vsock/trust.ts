// Tells guests whom to trust: a service on port 1 of the host's VSOCK, which a program in a guest asks for the certificate authorities before it
// lets virt-handler in. Offered while the gate VSOCK is on; where namespaces have VSOCK addresses of their own, in the guest's as well while a
// connection to it is made. Never ends virt-handler: what fails is logged and tried again.
import { mkdir, rm } from 'node:fs/promises';
import { posix } from 'node:path';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import { type Listener, listenBySocat } from '../../linux/socat.js';
import { type LightServer, serveLight } from '../../rpc/light/server.js';
import { vsockSystemService } from '../../rpc/light/vsock-system.js';

export interface TrustOptions {
  readonly socketPath: string;
  /** PEM; undefined until it is known. */
  readonly caBundle: () => string | undefined;
  readonly isWanted: () => boolean;
  /** Where guests ask; replaced in tests. */
  readonly address?: string;
  readonly pollMs?: number;
}

const HOST_PORT = 'VSOCK-LISTEN:1';
const POLL_MS = 5_000;

interface Shared {
  readonly listener: Listener;
  users: number;
}

export class VsockTrust {
  readonly #ctx: Ctx;
  readonly #options: TrustOptions;
  readonly #shared = new Map<string, Shared>();
  #server: Promise<LightServer> | undefined;

  constructor(ctx: Ctx, options: TrustOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  get #address(): string {
    return this.#options.address ?? HOST_PORT;
  }

  get #target(): string {
    return `UNIX-CONNECT:${this.#options.socketPath}`;
  }

  /** Until the process ends. */
  async run(): Promise<void> {
    const { isWanted, pollMs = POLL_MS } = this.#options;
    const { signal, clock } = this.#ctx;
    while (!signal.aborted) {
      if (isWanted()) await this.#offer().catch((err: unknown) => this.#note(messageOf(err)));
      await sleep(clock, pollMs, signal);
    }
    await (await this.#server)?.close();
  }

  #note(reason: string): void {
    this.#ctx.log.info({ reason }, 'Guests cannot ask over VSOCK whom to trust; trying again');
  }

  /** Until the gate goes off or the listener fails. */
  async #offer(): Promise<void> {
    const { isWanted, pollMs = POLL_MS } = this.#options;
    await this.#serve();
    const listener = listenBySocat(this.#address, this.#target);
    let reason: string | undefined;
    void listener.ended.then((why) => {
      reason = why;
    });
    while (reason === undefined && isWanted() && !this.#ctx.signal.aborted) await sleep(this.#ctx.clock, pollMs, this.#ctx.signal);
    if (reason === undefined) listener.stop();
    else this.#note(reason);
  }

  #serve(): Promise<LightServer> {
    this.#server ??= this.#start().catch((err: unknown) => {
      this.#server = undefined;
      throw err;
    });
    return this.#server;
  }

  async #start(): Promise<LightServer> {
    const { socketPath, caBundle } = this.#options;
    await mkdir(posix.dirname(socketPath), { recursive: true });
    await rm(socketPath, { force: true });
    return serveLight(
      socketPath,
      vsockSystemService(() => caBundle() ?? ''),
    );
  }

  /** Has the service in a namespace while `work` goes on. */
  async within<T>(ns: string, work: () => Promise<T>): Promise<T> {
    await this.#serve();
    const shared = this.#shared.get(ns) ?? { listener: listenBySocat(this.#address, this.#target, ns), users: 0 };
    this.#shared.set(ns, shared);
    shared.users += 1;
    try {
      return await work();
    } finally {
      shared.users -= 1;
      if (shared.users === 0) {
        this.#shared.delete(ns);
        shared.listener.stop();
      }
    }
  }
}
