// How a guest comes to its end with its pod, and how that becomes known. libvirt, the guest's agent and the node agent may each hang: nothing here
// waits for one of them longer than the pod can live. Called by launcher.ts; never decides how the process ends.
import { sleep, withDeadline } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError } from '../base/errors.js';
import type { StateReport } from '../libvirt/index.js';
import type { Lifecycle } from './lifecycle.js';
import type { DomainManager } from './manager.js';
import type { QemuMonitor } from './monitor.js';
import type { Notifier } from './notify-client.js';
import type { VmRecord } from './report.js';
import type { Reporter } from './reporter.js';

export interface EndingParts {
  readonly manager: Pick<DomainManager, 'markForGracefulShutdown'>;
  readonly lifecycle: Pick<Lifecycle, 'shutdown' | 'kill'>;
  readonly record: VmRecord;
  readonly monitor: Pick<QemuMonitor, 'gone' | 'terminate' | 'kill' | 'stop'>;
  readonly reporter: Pick<Reporter, 'refresh' | 'ending' | 'endedUnseen'>;
  readonly notifier: Pick<Notifier, 'flush'>;
}

/** The node agent shuts the guest down when it hears of the mark; if it is away, the launcher does it. */
const SELF_HELP_MS = 5_000;
/** The kubelet ends the pod fifteen seconds after the guest's grace period: until then QEMU is ended, without libvirt if need be, and by force. */
const KILL_MS = 7_000;
const TERMINATE_MS = 4_000;
/** libvirt usually tells of QEMU's end before the process table does. */
const STATE_AFTER_EXIT_MS = 3_000;
/** How long the node agent has to take the last news and ask for the domain's removal, once it listens or the pod must go. */
const FAREWELL_MS = 30_000;
/** A node agent that is being replaced is away for a while; how the guest ended would be lost with us. */
const ABSENCE_MS = 10 * 60_000;

const GONE: StateReport = { state: 'crashed', reason: 'unknown' };

/** Rejects with Timeout when `work` takes longer; the work itself goes on. */
export const within = <T>(ctx: Ctx, ms: number, what: string, work: Promise<T>): Promise<T> =>
  withDeadline(ctx.clock, ms, work, () => new KvError('Timeout', `${what} did not end within ${ms / 1000} s`));

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Politely by libvirt, then without it, then by force. */
async function kill(ctx: Ctx, { lifecycle, monitor }: EndingParts, ended: AbortSignal): Promise<void> {
  const asked = within(ctx, KILL_MS, 'killing the guest', lifecycle.kill());
  const failure = await asked.then(
    () => undefined,
    (err: unknown) => err,
  );
  if (ended.aborted || failure === undefined) return;
  ctx.log.error({ err: failure }, 'Cannot kill the guest by libvirt; ending QEMU directly');
  monitor.terminate();
  await sleep(ctx.clock, TERMINATE_MS, ended);
  if (ended.aborted) return;
  ctx.log.error({}, 'QEMU does not end when it is told to; killing it');
  monitor.kill();
}

/** After SIGTERM: the guest gets its grace period, then it is killed. Ends early when the guest does. */
export async function windDown(ctx: Ctx, parts: EndingParts, graceSeconds: number, ended: AbortSignal): Promise<void> {
  const { manager, lifecycle, record } = parts;
  // A guest that is not wholly here has no say: it goes on where it comes from.
  if (record.isExpected) return kill(ctx, parts, ended);
  ctx.log.info({ graceSeconds }, 'Asked to stop; the guest gets its grace period');
  const deadline = ctx.now() + graceSeconds * 1000;
  // Neither is waited for: what hangs must not take the guest its time, nor the pod.
  const unwell = (err: unknown): void => ctx.log.warn({ err }, 'Cannot shut the guest down');
  manager.markForGracefulShutdown().catch(unwell);
  await sleep(ctx.clock, Math.min(SELF_HELP_MS, graceSeconds * 1000), ended);
  if (ended.aborted) return;
  if (!record.shutdownRequested) lifecycle.shutdown().catch(unwell);
  await sleep(ctx.clock, Math.max(0, deadline - ctx.now()), ended);
  if (ended.aborted) return;
  ctx.log.warn({}, 'The grace period is over; killing the guest');
  await kill(ctx, parts, ended);
}

/** Resolves with the guest's last state, however it comes to its end. */
export async function waitForEnd(ctx: Ctx, parts: EndingParts, graceSeconds: number, terminate: AbortSignal): Promise<StateReport> {
  const { reporter, monitor } = parts;
  const ended = new AbortController();
  const stopDown = aborted(terminate).then(() => (ended.signal.aborted ? undefined : windDown(ctx, parts, graceSeconds, ended.signal)));
  stopDown.catch((err: unknown) => ctx.log.error({ err }, 'Stopping the guest failed'));
  const stopped = reporter.ending.stopped;
  const gone = monitor.gone().then(async () => {
    // Not waited for: QEMU is gone also where libvirt hangs.
    void reporter.refresh();
    await Promise.race([stopped, sleep(ctx.clock, STATE_AFTER_EXIT_MS, ended.signal)]);
    if (!ended.signal.aborted) reporter.endedUnseen(GONE);
    return stopped;
  });
  const state = await Promise.race([stopped, gone]);
  ended.abort();
  monitor.stop();
  return state;
}

/** The last report is delivered, the node agent removes the domain, its removal is delivered. */
export async function farewell(ctx: Ctx, { reporter, notifier }: EndingParts, mustGo: AbortSignal): Promise<void> {
  const read = new AbortController();
  const isRead = await Promise.race([
    reporter.refresh().then(() => true),
    sleep(ctx.clock, STATE_AFTER_EXIT_MS, read.signal).then(() => false),
  ]);
  read.abort();
  await Promise.race([notifier.flush(ABSENCE_MS), aborted(mustGo)]);
  // A libvirt that hangs removes nothing; what is known already is told.
  const deadline = ctx.now() + (isRead ? FAREWELL_MS : STATE_AFTER_EXIT_MS);
  const done = new AbortController();
  if (isRead) await Promise.race([reporter.ending.deleted, sleep(ctx.clock, FAREWELL_MS, done.signal)]);
  done.abort();
  if (!(await notifier.flush(Math.max(0, deadline - ctx.now())))) {
    ctx.log.warn({}, 'The node agent did not take the last notification; leaving without it');
  }
}
