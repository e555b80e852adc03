// The launcher's link to libvirt: one connection for the domain, one for slow guest-agent calls, both opened again when the daemon was
// restarted. Domain events pass through here in order. Decides nothing about the domain.
import { Backoff } from '../base/backoff.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import type { Connection, Domain, DomainEvent, Libvirt } from '../libvirt/index.js';

export interface SessionHandlers {
  event(event: DomainEvent): void;
  /** The connection is back; events may have been missed. */
  reconnected(): void;
}

export class LibvirtSession {
  readonly #ctx: Ctx;
  readonly #libvirt: Libvirt;
  readonly #uri: string;
  readonly #handlers: SessionHandlers;
  #main: Connection | undefined;
  #agent: Promise<Connection> | undefined;
  /** Opened and not closed yet, those of jobs included. */
  readonly #open = new Set<Connection>();
  #closing = false;

  constructor(ctx: Ctx, libvirt: Libvirt, uri: string, handlers: SessionHandlers) {
    this.#ctx = ctx;
    this.#libvirt = libvirt;
    this.#uri = uri;
    this.#handlers = handlers;
  }

  /** Opens the connection; waits until the daemon's drivers are ready. */
  async open(): Promise<void> {
    const conn = await this.#connect();
    try {
      await conn.subscribe((event) => this.#handlers.event(event));
    } catch (err) {
      await this.#drop(conn);
      throw err;
    }
    this.#main = conn;
    conn.onClose((reason) => this.#lost(conn, reason));
  }

  async #connect(): Promise<Connection> {
    const conn = await this.#libvirt.open(this.#uri);
    this.#open.add(conn);
    // Closed while it was being opened.
    if (this.#closing) {
      await this.#drop(conn);
      throw new KvError('Unavailable', 'the launcher is ending', { retry: 'never' });
    }
    return conn;
  }

  /** Gives a connection back, alive or dead: what it holds in the C library would stay for ever. */
  async #drop(conn: Connection): Promise<void> {
    this.#open.delete(conn);
    await conn.close().catch((err: unknown) => this.#ctx.log.debug({ err }, 'A connection to libvirt did not close'));
  }

  /** Has libvirt ask QEMU for its abilities now, while nobody waits, unless it knows them already. */
  warmUp(): void {
    this.connection.domainCapabilities({}).catch((err: unknown) => {
      // The definition of the domain asks again, and reports what is wrong.
      this.#ctx.log.debug({ err }, 'Libvirt cannot tell what QEMU is able to do');
    });
  }

  #lost(conn: Connection, reason: string): void {
    this.#main = undefined;
    void this.#drop(conn);
    if (this.#closing) return;
    this.#ctx.log.warn({ reason }, 'Lost libvirt; connecting again');
    this.#reconnect().catch((err: unknown) => this.#ctx.log.error({ err }, 'Gave up connecting to libvirt'));
  }

  async #reconnect(): Promise<void> {
    const backoff = new Backoff({ baseMs: 100, maxMs: 2_000 });
    while (!this.#closing && !this.#ctx.signal.aborted) {
      await sleep(this.#ctx.clock, backoff.next(), this.#ctx.signal);
      try {
        await this.open();
        this.#ctx.log.info({}, 'Connected to libvirt again');
        return this.#handlers.reconnected();
      } catch (err) {
        // The daemon is still starting; the loop tries again.
        this.#ctx.log.debug({ err }, 'Libvirt does not answer yet');
      }
    }
  }

  get isConnected(): boolean {
    return this.#main?.isAlive() === true;
  }

  /** NotReady while libvirt is away: the node agent asks again. */
  get connection(): Connection {
    if (!this.#main)
      throw new KvError('NotReady', 'libvirt is being restarted in the launcher pod; the request is tried again', {
        retry: { afterMs: 500 },
      });
    return this.#main;
  }

  /** Runs `work` with the named domain, or gives undefined when there is none. */
  async withDomain<T>(name: string, work: (domain: Domain) => Promise<T>): Promise<T | undefined> {
    return this.#using(await this.connection.lookupDomain(name), work);
  }

  /** As withDomain, on the connection whose calls may wait for the guest. */
  async withAgent<T>(name: string, work: (domain: Domain) => Promise<T>): Promise<T | undefined> {
    this.#agent ??= this.#connectAgent();
    const conn = await this.#agent.catch((err: unknown) => {
      this.#agent = undefined;
      throw err;
    });
    return this.#using(await conn.lookupDomain(name), work);
  }

  async #connectAgent(): Promise<Connection> {
    const conn = await this.#connect();
    // The next call opens another.
    conn.onClose(() => {
      this.#agent = undefined;
      void this.#drop(conn);
    });
    return conn;
  }

  /** As withDomain, on a connection for this work alone: for jobs that take long, behind which no other call shall wait. */
  async withOwn<T>(name: string, work: (domain: Domain) => Promise<T>): Promise<T | undefined> {
    const conn = await this.#connect();
    try {
      return await this.#using(await conn.lookupDomain(name), work);
    } finally {
      await this.#drop(conn);
    }
  }

  async #using<T>(domain: Domain | undefined, work: (domain: Domain) => Promise<T>): Promise<T | undefined> {
    if (!domain) return undefined;
    try {
      return await work(domain);
    } finally {
      domain.close();
    }
  }

  /** Closes every connection; calls under way fail. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#agent?.catch(() => undefined);
    await Promise.all([...this.#open].map((conn) => this.#drop(conn)));
    this.#main = undefined;
  }
}
