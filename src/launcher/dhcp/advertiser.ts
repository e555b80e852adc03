// Tells one guest who its IPv6 router is: at once when it asks, and now and then unasked, so that what it knows never runs out. Owned by the
// DHCP servers, on the socket that the node agent made. Reads nothing of a question but that it is one, and answers no faster than a
// guest with good intentions asks.
import type { Socket } from 'node:dgram';
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import { ALL_NODES, isSolicitation } from '../../core/network/dhcp/router-advertisement.js';

const UNASKED_EVERY_MS = 10 * 60_000;
/** A router that the guest has not heard of for so long is none: longer than any pause of a guest for a snapshot, a dump, a migration. */
export const ROUTER_LIFETIME_SECONDS = 9000;
const SPACING_MS = 200;
/** Who asks before it has an address is answered by multicast, which has the longer limit of RFC 4861. */
const MULTICAST_SPACING_MS = 3000;
const NO_ADDRESS = '::';

export interface AdvertiserOptions {
  readonly bridge: string;
  readonly packet: Uint8Array;
  /** The port that the kernel wants to see for ICMPv6. */
  readonly port: number;
}

type AdvertiserSocket = Pick<Socket, 'on' | 'send' | 'close'>;

export class Advertiser {
  readonly #ctx: Ctx;
  readonly #socket: AdvertiserSocket;
  readonly #options: AdvertiserOptions;
  readonly #closed = new AbortController();
  #lastAnswer = Number.NEGATIVE_INFINITY;
  #lastMulticast = Number.NEGATIVE_INFINITY;

  constructor(ctx: Ctx, socket: AdvertiserSocket, options: AdvertiserOptions) {
    this.#ctx = ctx;
    this.#socket = socket;
    this.#options = options;
    socket.on('error', (err) => this.#complain(err));
    socket.on('message', (message, { address }) => {
      if (isSolicitation(message)) this.#answer(address);
    });
    void this.#repeat();
  }

  #answer(from: string): void {
    const now = this.#ctx.now();
    const isAnonymous = from.split('%')[0] === NO_ADDRESS;
    if (now - this.#lastAnswer < SPACING_MS) return;
    if (isAnonymous && now - this.#lastMulticast < MULTICAST_SPACING_MS) return;
    this.#lastAnswer = now;
    this.#send(isAnonymous ? ALL_NODES : from);
  }

  #send(to: string): void {
    if (to === ALL_NODES) this.#lastMulticast = this.#ctx.now();
    this.#socket.send(this.#options.packet, this.#options.port, to, (err) => {
      if (err && !this.#closed.signal.aborted) this.#complain(err);
    });
  }

  /** Not at the start: no guest hears it then. One that came from another node still knows its router, which has the same address here. */
  async #repeat(): Promise<void> {
    const { signal } = this.#closed;
    for (;;) {
      await sleep(this.#ctx.clock, UNASKED_EVERY_MS, signal);
      if (signal.aborted) return;
      this.#send(ALL_NODES);
    }
  }

  #complain(err: unknown): void {
    this.#ctx.log.warn({ reason: messageOf(err), bridge: this.#options.bridge }, 'A router advertisement was not sent');
  }

  close(): void {
    this.#closed.abort();
    this.#socket.close();
  }
}
