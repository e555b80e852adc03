// Follows the domain: reads its state whenever something may have changed, tells the node agent, and knows when the guest is over.
// libvirt's events say only that there is something to read; the state read afterwards is what counts.
import { metaTime } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import { describeLive, readDomain } from '../core/converter/index.js';
import type { StateReport } from '../libvirt/index.js';
import { hasStopped, isAlive } from './domain-state.js';
import type { Notifier } from './notify-client.js';
import { noteDevices, renderGone, renderReport, type VmRecord } from './report.js';
import type { LibvirtSession } from './session.js';

export interface Ending {
  /** Resolves with the last state when the guest is over, however that came. */
  readonly stopped: Promise<StateReport>;
  /** Resolves when the domain is no longer defined, after it ran. */
  readonly deleted: Promise<void>;
}

const GONE: StateReport = { state: 'nostate', reason: 'unknown' };

export class Reporter {
  readonly #ctx: Ctx;
  readonly #session: LibvirtSession;
  readonly #notifier: Notifier;
  readonly #record: VmRecord;
  readonly #domain: string;
  readonly #stopped = Promise.withResolvers<StateReport>();
  readonly #deleted = Promise.withResolvers<void>();
  #reading: Promise<void> | undefined;
  #again = false;
  #over = false;
  #isStale = false;

  constructor(ctx: Ctx, session: LibvirtSession, notifier: Notifier, record: VmRecord, domain: string) {
    this.#ctx = ctx;
    this.#session = session;
    this.#notifier = notifier;
    this.#record = record;
    this.#domain = domain;
  }

  get ending(): Ending {
    return { stopped: this.#stopped.promise, deleted: this.#deleted.promise };
  }

  /** Something that the user should know of and the report does not say. */
  warn(reason: string, message: string): void {
    this.#notifier.event({ type: 'Warning', reason, message, involved: this.#record.identity });
  }

  /** The report as of now; undefined without a domain. */
  async read(): Promise<ReturnType<typeof renderReport> | undefined> {
    const state = await this.#state();
    return state && renderReport(this.#record, state);
  }

  #state(): Promise<StateReport | undefined> {
    return this.#session.withDomain(this.#domain, async (domain) => {
      const state = await domain.state();
      if (this.#isStale && isAlive(state)) {
        this.#isStale = false;
        noteDevices(this.#record, describeLive(readDomain(await domain.xml())));
      }
      return state;
    });
  }

  /** What the guest has may be another now: read with the next state. */
  devicesChanged(): Promise<void> {
    this.#isStale = true;
    return this.refresh();
  }

  /** Reads the state and passes it on; changes that come meanwhile are read once more. */
  refresh(): Promise<void> {
    if (this.#reading !== undefined) {
      this.#again = true;
      return this.#reading;
    }
    // Before the guest ran there is nothing to report: a domain that is only defined may still be made anew. Asked before the state is
    // read, as a state from before the start must not pass for one from after it.
    if (!this.#record.started || this.#over) return Promise.resolve();
    this.#again = false;
    this.#reading = this.#readOnce().then(() => {
      this.#reading = undefined;
      return this.#again ? this.refresh() : undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    try {
      this.#pass(await this.#state());
    } catch (err) {
      // libvirt is away; when it is back, the session asks for a refresh.
      this.#ctx.log.debug({ reason: messageOf(err) }, 'Cannot read the state of the domain');
    }
  }

  /** The guest is over and libvirt does not say how; what it says later still counts. */
  endedUnseen(state: StateReport): void {
    if (this.#over) return;
    this.#notifier.domain(renderReport(this.#record, state));
    this.#stopped.resolve(state);
  }

  #pass(state: StateReport | undefined): void {
    if (!state) {
      this.#over = true;
      this.#notifier.deleted(renderGone(this.#record, metaTime(this.#ctx.now())));
      this.#stopped.resolve(GONE);
      this.#deleted.resolve();
      return;
    }
    this.#notifier.domain(renderReport(this.#record, state));
    if (hasStopped(state)) this.#stopped.resolve(state);
  }
}
