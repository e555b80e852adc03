// Connections to a libvirt daemon (or its in-process test driver) through the C library. The launcher holds one for the domain's
// life and one for slow guest-agent calls, as calls of one connection wait for each other.
import type { Logger } from '../base/logger.js';
import { Caller } from './caller.js';
import { BASELINE_EXPAND_FEATURES } from './constants.js';
import { LibvirtDomain } from './domain.js';
import { ErrorCapture, isLibvirtError } from './error.js';
import { startEventLoop, stopEventLoop } from './event-loop.js';
import { subscribeEvents } from './events.js';
import { ffi, type Ptr } from './ffi.js';
import type { CapabilitiesQuery, Connection, Domain, DomainEvent, Libvirt, TypedValue } from './libvirt.js';
import { takeTypedParams } from './typed-params.js';

// virConnectCloseReason
const CLOSE_REASONS = ['an error on the connection', 'the daemon went away', 'keepalive timeout', 'closed by this process'];

class LibvirtConnection implements Connection {
  readonly #conn: Ptr;
  readonly #caller: Caller;
  readonly #errors: ErrorCapture;
  readonly #log: Logger;
  readonly #onClose: Ptr;
  readonly #closeHandlers: ((reason: string) => void)[] = [];
  #subscriptions = new Set<() => Promise<void>>();
  #closed = false;
  /** Why the daemon is gone. */
  #gone: string | undefined;

  constructor(conn: Ptr, log: Logger) {
    this.#conn = conn;
    this.#log = log;
    this.#errors = new ErrorCapture();
    this.#caller = new Caller(this.#errors);
    const { sync } = ffi();
    sync.virConnSetErrorFunc(conn, null, this.#errors.callback);
    this.#onClose = ffi().callback('close', (_conn: Ptr, reason: number) => this.#daemonGone(CLOSE_REASONS[reason] ?? 'unknown'));
    sync.virConnectRegisterCloseCallback(conn, this.#onClose, null, null);
  }

  #daemonGone(reason: string): void {
    this.#gone = reason;
    this.#caller.refuse(`the connection to libvirt was lost (${reason})`);
    for (const handler of this.#closeHandlers.splice(0)) handler(reason);
  }

  async defineDomain(xml: string): Promise<Domain> {
    const dom = await this.#caller.call('cannot define the domain', () => ffi().async.virDomainDefineXMLFlags(this.#conn, xml, 0));
    return new LibvirtDomain(this.#caller, dom);
  }

  async lookupDomain(name: string): Promise<Domain | undefined> {
    try {
      const dom = await this.#caller.call(`cannot look up domain ${name}`, () => ffi().async.virDomainLookupByName(this.#conn, name));
      return new LibvirtDomain(this.#caller, dom);
    } catch (err) {
      if (isLibvirtError(err, 'noDomain')) return undefined;
      throw err;
    }
  }

  capabilities(): Promise<string> {
    return this.#caller.call("cannot read the host's capabilities", () => ffi().async.virConnectGetCapabilities(this.#conn));
  }

  domainCapabilities({ emulator, arch, machine, virtType }: CapabilitiesQuery): Promise<string> {
    return this.#caller.call(`cannot read the capabilities of machine ${machine ?? 'default'}, type ${virtType ?? 'default'}`, () =>
      ffi().async.virConnectGetDomainCapabilities(this.#conn, emulator ?? null, arch ?? null, machine ?? null, virtType ?? null, 0),
    );
  }

  baselineCpu(cpus: readonly string[], query: CapabilitiesQuery & { features?: boolean }): Promise<string> {
    const { emulator, arch, machine, virtType, features = false } = query;
    return this.#caller.call('cannot compute the baseline CPU', () =>
      ffi().async.virConnectBaselineHypervisorCPU(
        this.#conn,
        emulator ?? null,
        arch ?? null,
        machine ?? null,
        virtType ?? null,
        [...cpus],
        cpus.length,
        features ? BASELINE_EXPAND_FEATURES : 0,
      ),
    );
  }

  async hypervisorVersion(): Promise<string> {
    const version: [number] = [0];
    await this.#caller.call("cannot read the hypervisor's version", () => ffi().async.virConnectGetVersion(this.#conn, version));
    const number = Number(version[0]);
    return [Math.trunc(number / 1_000_000), Math.trunc(number / 1000) % 1000, number % 1000].join('.');
  }

  async sevInfo(): Promise<ReadonlyMap<string, TypedValue>> {
    const params: [Ptr | null] = [null];
    const count: [number] = [0];
    await this.#caller.call("cannot read the node's facts about SEV", () => ffi().async.virNodeGetSEVInfo(this.#conn, params, count, 0));
    return takeTypedParams(params[0], count[0]);
  }

  async subscribe(handler: (event: DomainEvent) => void): Promise<() => Promise<void>> {
    const end = await subscribeEvents(this.#caller, this.#conn, handler, this.#log);
    const once = async (): Promise<void> => {
      if (this.#subscriptions.delete(once) && this.isAlive()) await end();
    };
    this.#subscriptions.add(once);
    return once;
  }

  onClose(handler: (reason: string) => void): void {
    const gone = this.#gone;
    if (gone === undefined) this.#closeHandlers.push(handler);
    else queueMicrotask(() => handler(gone));
  }

  isAlive(): boolean {
    return !this.#closed && ffi().sync.virConnectIsAlive(this.#conn) === 1;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    for (const end of [...this.#subscriptions]) await end();
    this.#closed = true;
    this.#caller.refuse('the connection is closed');
    await this.#caller.settle();
    ffi().sync.virConnectUnregisterCloseCallback(this.#conn, this.#onClose);
    // A handle nobody closed keeps the C connection alive (references left > 0), and with it the use of its callbacks.
    if ((await ffi().async.virConnectClose(this.#conn)) !== 0) return;
    ffi().release(this.#onClose);
    this.#errors.release();
  }
}

/** The real libvirt. `log` hears what no caller can: a dead event loop, a throwing event handler. */
export function createLibvirt(log: Logger): Libvirt {
  let opening: Caller | undefined;
  return {
    version() {
      const version: [number] = [0];
      ffi().sync.virGetVersion(version, null, null);
      return Number(version[0]);
    },
    async open(uri) {
      startEventLoop((err) => log.error({ err }, "Libvirt's event loop ended; no more domain events arrive"));
      if (!opening) {
        // Errors without a connection (opening one) come by the global callback; without it libvirt prints them to stderr.
        const errors = new ErrorCapture();
        ffi().sync.virSetErrorFunc(null, errors.callback);
        opening = new Caller(errors);
      }
      const conn = await opening.call(`cannot connect to libvirt at ${uri}`, () => ffi().async.virConnectOpen(uri));
      return new LibvirtConnection(conn, log);
    },
    shutdown: stopEventLoop,
  };
}
