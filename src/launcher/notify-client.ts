// Tells the node agent about the domain, in order and until it hears: the agent may come later than we do, or be restarted. Only the
// newest state counts, so states that were not delivered yet are replaced; events for the user are all kept.
import type { DomainEventType, DomainReport } from '../api/domain-report.js';
import { Backoff } from '../base/backoff.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { hasCode, isKvError, messageOf } from '../base/errors.js';
import type { LauncherEvent, NotifyClient } from '../rpc/index.js';

type Item =
  | { readonly kind: 'domain'; readonly type: DomainEventType; readonly domain: DomainReport }
  | { readonly kind: 'event'; readonly event: LauncherEvent };

/** Events for the user beyond this many are dropped, oldest first: a failing disk must not fill the memory. */
const MAX_EVENTS = 50;

/** Not that the agent is away, or asks for patience: it has heard this, and will not take it. A state may be another the next time. */
function isRefused(err: unknown, { kind }: Item): boolean {
  if (isKvError(err) && err.retry === 'never') return true;
  return kind === 'event' && !hasCode(err, 'LauncherUnreachable', 'Timeout', 'Unavailable');
}

export class Notifier {
  readonly #ctx: Ctx;
  readonly #client: NotifyClient;
  readonly #queue: Item[] = [];
  readonly #backoff = new Backoff({ baseMs: 50, maxMs: 1_000 });
  #worker: Promise<void> | undefined;
  #lastQueued = '';
  #announced = false;
  #negotiated = false;

  constructor(ctx: Ctx, client: NotifyClient) {
    this.#ctx = ctx;
    this.#client = client;
  }

  /** Queues the domain's state unless it says what was said last. */
  domain(report: DomainReport): void {
    const text = JSON.stringify(report);
    if (text === this.#lastQueued) return;
    this.#lastQueued = text;
    this.#replacePending();
    this.#push({ kind: 'domain', type: this.#announced ? 'MODIFIED' : 'ADDED', domain: report });
    this.#announced = true;
  }

  /** The domain is gone; nothing about it follows. */
  deleted(report: DomainReport): void {
    this.#push({ kind: 'domain', type: 'DELETED', domain: report });
  }

  event(event: LauncherEvent): void {
    const events = this.#queue.filter((item) => item.kind === 'event');
    const oldest = events[0];
    if (oldest && events.length >= MAX_EVENTS) this.#queue.splice(this.#queue.indexOf(oldest), 1);
    this.#push({ kind: 'event', event });
  }

  /** A state still waiting is outdated; the first announcement is made up for by the state that replaces it. */
  #replacePending(): void {
    const at = this.#queue.findIndex((item, position) => item.kind === 'domain' && position > 0);
    const [pending] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (pending?.kind === 'domain' && pending.type === 'ADDED') this.#announced = false;
  }

  #push(item: Item): void {
    this.#queue.push(item);
    this.#worker ??= this.#work().finally(() => {
      this.#worker = undefined;
    });
  }

  // The first item of the queue is the one under way: it stays there until it is delivered, unless too many events came meanwhile.
  async #work(): Promise<void> {
    for (let item = this.#queue[0]; item; item = this.#queue[0]) {
      if (this.#ctx.signal.aborted) return;
      if (await this.#deliver(item)) this.#drop(item);
      else {
        await sleep(this.#ctx.clock, this.#backoff.next(), this.#ctx.signal);
        this.#dropOutdated(item);
      }
    }
  }

  #drop(item: Item): void {
    const at = this.#queue.indexOf(item);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** A state that was not taken does not hold the next one back; the agent may never take it. */
  #dropOutdated(item: Item): void {
    const at = this.#queue.findIndex((other) => other.kind === 'domain' && other !== item);
    const next = this.#queue[at];
    if (item.kind !== 'domain' || next?.kind !== 'domain') return;
    this.#drop(item);
    if (item.type === 'ADDED' && next.type === 'MODIFIED') this.#queue[this.#queue.indexOf(next)] = { ...next, type: 'ADDED' };
  }

  async #deliver(item: Item): Promise<boolean> {
    try {
      if (!this.#negotiated) await this.#client.negotiate();
      this.#negotiated = true;
      if (item.kind === 'event') await this.#client.k8sEvent(item.event);
      else await this.#client.domainEvent({ type: item.type, domain: item.domain });
      this.#backoff.reset();
      return true;
    } catch (err) {
      if (isRefused(err, item)) {
        this.#ctx.log.warn({ reason: messageOf(err), kind: item.kind }, 'The node agent refused a notification; it is dropped');
        return true;
      }
      // The agent is not there (yet); a peer of another version may have taken its place when it is back.
      this.#negotiated = false;
      const log = this.#backoff.failures === 5 ? this.#ctx.log.warn : this.#ctx.log.debug;
      log.call(
        this.#ctx.log,
        { reason: messageOf(err), tries: this.#backoff.failures },
        'The node agent did not take the notification; trying again',
      );
      return false;
    }
  }

  /** Resolves to true when everything queued was delivered, false after `timeoutMs`. */
  async flush(timeoutMs: number): Promise<boolean> {
    const late = new AbortController();
    const timeout = sleep(this.#ctx.clock, timeoutMs, late.signal);
    await Promise.race([this.#worker ?? Promise.resolve(), timeout]);
    late.abort();
    return this.#queue.length === 0;
  }

  close(): void {
    this.#client.close();
  }
}
