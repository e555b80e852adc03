// One launcher from start to end: libvirt up, command socket published, a guest started on request, its end reported, everything closed.
// Returns how the process should end; src/main exits. A guest outlives neither this process nor the pod.
import { mkdir, rename } from 'node:fs/promises';
import { posix } from 'node:path';
import { TOLD_TO_END } from '../api/index.js';
import { sleep, withDeadline } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { EMPTY_DISKS_DIR, LAUNCHER_INIT_SOCKET, LAUNCHER_SOCKET, SOCKETS_DIR, serialLog, vmiPrivateDir } from '../core/storage/paths.js';
import type { StateReport } from '../libvirt/index.js';
import { serveCmd } from '../rpc/index.js';
import { hasCrashed } from './domain-state.js';
import type { LauncherOptions } from './options.js';
import { buildParts, type LauncherSetup, type Parts } from './parts.js';
import { podDisks } from './pod-disks.js';
import { lastQemuWords } from './qemu-log.js';
import { boundSerialLog } from './serial-log.js';
import { text } from './text.js';

export interface Outcome {
  readonly exitCode: number;
  /** The sentence for the pod's status when the exit code is not 0. */
  readonly lastWords?: string;
}

export interface Signals {
  /** Aborted by the first SIGTERM. */
  readonly terminate: AbortSignal;
}

/** How long the node agent has to take the last news and ask for the domain's removal, once it listens or the pod must go. */
const FAREWELL_MS = 30_000;
/** A node agent that is being replaced is away for a while; how the guest ended would be lost with us. */
const ABSENCE_MS = 10 * 60_000;
/** libvirt usually tells of QEMU's end before the process table does. */
const STATE_AFTER_EXIT_MS = 5_000;
/** The node agent shuts the guest down when it hears of the mark; if it is away, the launcher does it. */
const SELF_HELP_MS = 5_000;

/** A libvirt that hangs must not keep the pod: after this long QEMU is ended without it. */
const KILL_MS = 20_000;
const CLOSE_MS = 5_000;
const SETTLE_MS = 30_000;

const GONE: StateReport = { state: 'crashed', reason: 'unknown' };

async function makeDirs({ uid }: LauncherOptions): Promise<void> {
  for (const dir of [vmiPrivateDir(uid), SOCKETS_DIR, EMPTY_DISKS_DIR]) {
    await mkdir(dir, { recursive: true }).catch((err: unknown) => {
      throw new KvError('Internal', `cannot make ${dir}; is the pod's volume ${posix.dirname(dir)} mounted and writable for group 107?`, {
        cause: err,
      });
    });
  }
}

/** Brings up libvirt and publishes the command socket: from now on the node agent finds us. */
async function bringUp(ctx: Ctx, parts: Parts): Promise<() => Promise<void>> {
  const begin = ctx.now();
  const libvirt = parts.daemon.start().then(() => parts.session.open());
  // Told below; meanwhile nobody else listens to it.
  libvirt.catch(() => undefined);
  // First: as soon as the node agent sees the command socket it sets up the network, and brings sockets for that.
  await parts.dhcp.listen();
  const [server] = await Promise.all([serveCmd(LAUNCHER_INIT_SOCKET, parts.handlers), libvirt]);
  await rename(LAUNCHER_INIT_SOCKET, LAUNCHER_SOCKET);
  parts.session.warmUp();
  ctx.log.info({ ms: ctx.now() - begin }, 'Ready for commands');
  return () => server.close();
}

/** Rejects with Timeout when `work` takes longer; the work itself goes on. */
const within = <T>(ctx: Ctx, ms: number, what: string, work: Promise<T>): Promise<T> =>
  withDeadline(ctx.clock, ms, work, () => new KvError('Timeout', `${what} did not end within ${ms / 1000} s`));

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

type Start = 'started' | 'terminated' | 'dismissed' | 'timeout';

/** For a guest that comes from elsewhere the time counts anew from when everything was ready for it. */
async function outOfPatience(ctx: Ctx, { target }: Parts, ms: number, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left = (target.preparedAt ?? Number.NEGATIVE_INFINITY) + ms - ctx.now()) {
    await sleep(ctx.clock, left, signal);
  }
}

async function waitForStart(ctx: Ctx, parts: Parts, options: LauncherOptions, signals: Signals): Promise<Start> {
  const won = new AbortController();
  const first = await Promise.race([
    parts.manager.started.then((): Start => 'started'),
    aborted(signals.terminate).then((): Start => 'terminated'),
    parts.target.dismissed.then((): Start => 'dismissed'),
    outOfPatience(ctx, parts, options.qemuTimeoutMs, won.signal).then((): Start => 'timeout'),
  ]);
  won.abort();
  if (first !== 'terminated') return first;
  // A start under way is finished first, so that no guest is left without an end.
  await parts.manager.markForGracefulShutdown();
  await parts.manager.exclusively(async () => undefined);
  return parts.record.started ? 'started' : 'terminated';
}

/** After SIGTERM: the guest gets its grace period, then it is killed. Ends early when the guest does. */
async function windDown(ctx: Ctx, parts: Parts, options: LauncherOptions, ended: AbortSignal): Promise<void> {
  const { manager, lifecycle, record, monitor } = parts;
  // A guest that is not wholly here has no say: it goes on where it comes from.
  if (record.isExpected) return lifecycle.kill();
  ctx.log.info({ graceSeconds: options.gracePeriodSeconds }, 'Asked to stop; the guest gets its grace period');
  const graceMs = options.gracePeriodSeconds * 1000;
  await manager.markForGracefulShutdown();
  const patience = Math.min(SELF_HELP_MS, graceMs);
  await sleep(ctx.clock, patience, ended);
  if (ended.aborted) return;
  if (!record.shutdownRequested) await lifecycle.shutdown().catch((err: unknown) => ctx.log.warn({ err }, 'Cannot shut the guest down'));
  await sleep(ctx.clock, graceMs - patience, ended);
  if (ended.aborted) return;
  ctx.log.warn({}, 'The grace period is over; killing the guest');
  await within(ctx, KILL_MS, 'killing the guest', lifecycle.kill()).catch((err: unknown) => {
    ctx.log.error({ err }, 'Cannot kill the guest by libvirt; ending QEMU directly');
    monitor.terminate();
  });
}

async function waitForEnd(ctx: Ctx, parts: Parts, options: LauncherOptions, signals: Signals): Promise<StateReport> {
  const { reporter, monitor } = parts;
  const ended = new AbortController();
  const stopDown = aborted(signals.terminate).then(() => (ended.signal.aborted ? undefined : windDown(ctx, parts, options, ended.signal)));
  stopDown.catch((err: unknown) => ctx.log.error({ err }, 'Stopping the guest failed'));
  const stopped = reporter.ending.stopped;
  const gone = monitor.gone().then(async () => {
    await reporter.refresh();
    return Promise.race([stopped, sleep(ctx.clock, STATE_AFTER_EXIT_MS).then(() => GONE)]);
  });
  const state = await Promise.race([stopped, gone]);
  ended.abort();
  monitor.stop();
  return state;
}

/** The last report is delivered, the node agent removes the domain, its removal is delivered. */
async function farewell(ctx: Ctx, { reporter, notifier }: Parts, mustGo: AbortSignal): Promise<void> {
  await reporter.refresh();
  await Promise.race([notifier.flush(ABSENCE_MS), aborted(mustGo)]);
  const deadline = ctx.now() + FAREWELL_MS;
  const done = new AbortController();
  await Promise.race([reporter.ending.deleted, sleep(ctx.clock, FAREWELL_MS, done.signal)]);
  done.abort();
  if (!(await notifier.flush(Math.max(0, deadline - ctx.now())))) {
    ctx.log.warn({}, 'The node agent did not take the last notification; leaving without it');
  }
}

async function lifeOf(ctx: Ctx, parts: Parts, options: LauncherOptions, signals: Signals): Promise<Outcome> {
  const start = await waitForStart(ctx, parts, options, signals);
  if (start === 'terminated') return toldToEnd(options);
  if (start === 'dismissed') return { exitCode: 0 };
  if (start === 'timeout') return { exitCode: 1, lastWords: text.neverStarted(options.qemuTimeoutMs / 1000, parts.manager.lastError) };
  const state = await waitForEnd(ctx, parts, options, signals);
  const wasTold = signals.terminate.aborted;
  ctx.log.info({ state: state.state, reason: state.reason }, 'The guest is over');
  // A guest that has moved is over here before libvirt has told how the move went.
  await within(ctx, SETTLE_MS, 'the end of the migration', parts.source.settled()).catch((err: unknown) =>
    ctx.log.warn({ reason: messageOf(err) }, 'Leaving without the outcome of the migration'),
  );
  await parts.hooks?.shutdown();
  await farewell(ctx, parts, signals.terminate);
  if (hasCrashed(state)) return { exitCode: 1 };
  return wasTold ? toldToEnd(options) : { exitCode: 0 };
}

/**
 * Its guest did not end by itself. Of a pod that ends well the kubelet forgets why it ended it: with this code an eviction's words stay in the
 * pod's status.
 */
const toldToEnd = async ({ name }: LauncherOptions): Promise<Outcome> => ({
  exitCode: TOLD_TO_END,
  lastWords: text.toldToEnd(name, await podDisks()),
});

async function closeAll(ctx: Ctx, parts: Parts, closeServer: (() => Promise<void>) | undefined, setup: LauncherSetup): Promise<void> {
  const steps: readonly (() => Promise<void> | void)[] = [
    () => parts.hooks?.shutdown(),
    () => parts.agent.stop(),
    () => parts.dhcp.close(),
    () => parts.metrics.close(),
    () => closeServer?.(),
    () => parts.notifier.close(),
    () => parts.session.close(),
    () => setup.libvirt.shutdown(),
    () => parts.daemon.stop(),
  ];
  for (const step of steps) {
    try {
      await within(ctx, CLOSE_MS, 'closing', Promise.resolve(step()));
    } catch (err) {
      // The process ends anyway; the other parts still get their turn.
      ctx.log.warn({ reason: messageOf(err) }, 'Closing failed');
    }
  }
}

/** Runs until the guest is over or the pod is to go. */
export async function runLauncher(ctx: Ctx, setup: LauncherSetup, signals: Signals): Promise<Outcome> {
  const { options } = setup;
  const parts = buildParts(ctx, setup);
  const endLog = boundSerialLog(ctx, serialLog(options.uid));
  let closeServer: (() => Promise<void>) | undefined;
  try {
    await makeDirs(options);
    closeServer = await bringUp(ctx, parts);
    if (options.simulateCrash) throw new KvError('Terminal', 'virt-launcher was told to crash by --simulate-crash');
    const outcome = await lifeOf(ctx, parts, options, signals);
    if (outcome.exitCode === 0 || outcome.lastWords !== undefined) return outcome;
    return { ...outcome, lastWords: text.crashed(options.name, await lastQemuWords(setup.layout.qemuLogDir, parts.domain)) };
  } finally {
    endLog();
    await closeAll(ctx, parts, closeServer, setup);
  }
}
