// One launcher from start to end: libvirt up, command socket published, a guest started on request, its end reported, everything closed.
// Returns how the process should end; src/main exits. A guest outlives neither this process nor the pod.
import { mkdir, rename } from 'node:fs/promises';
import { posix } from 'node:path';
import { TOLD_TO_END } from '../api/reasons.js';
import { sleep } from '../base/clock.js';
import type { Ctx } from '../base/context.js';
import { KvError, messageOf } from '../base/errors.js';
import { EMPTY_DISKS_DIR, LAUNCHER_INIT_SOCKET, LAUNCHER_SOCKET, SOCKETS_DIR, serialLog, vmiPrivateDir } from '../core/storage/paths.js';
import type { Libvirt } from '../libvirt/index.js';
import { type RpcServer, serveCmd } from '../rpc/index.js';
import { boundLog } from './bounded-log.js';
import { hasCrashed } from './domain-state.js';
import { aborted, farewell, waitForEnd, within } from './ending.js';
import type { LauncherOptions } from './options.js';
import { buildParts, type LauncherSetup, type Parts } from './parts.js';
import { podDisks } from './pod-disks.js';
import { lastQemuWords, qemuLog } from './qemu-log.js';
import { text } from './text.js';

export interface Outcome {
  readonly exitCode: number;
  /** The sentence for the pod's status when the exit code is not 0. */
  readonly lastWords?: string;
}

export interface Signals {
  /** Aborted by the first SIGTERM. */
  readonly terminate: AbortSignal;
  /** Called when there is a guest. */
  readonly guestRuns?: () => void;
}

const CLOSE_MS = 5_000;
const SETTLE_MS = 30_000;
/** From libvirt's socket to its first answer. */
const CONNECT_MS = 60_000;

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
async function bringUp(ctx: Ctx, parts: Parts, libvirt: Libvirt): Promise<() => Promise<void>> {
  const begin = ctx.now();
  // First: as soon as the node agent sees the command socket it sets up the network, and brings sockets for that.
  await parts.dhcp.listen();
  const serving = Promise.withResolvers<RpcServer>();
  await parts.daemon.start(async () => {
    serving.resolve(await serveCmd(LAUNCHER_INIT_SOCKET, parts.handlers));
    // Loads the library, while the daemon loads it too.
    libvirt.version();
  });
  await within(ctx, CONNECT_MS, 'connecting to libvirt', parts.session.open());
  const server = await serving.promise;
  await rename(LAUNCHER_INIT_SOCKET, LAUNCHER_SOCKET);
  parts.session.warmUp();
  ctx.log.info({ ms: ctx.now() - begin }, 'Ready for commands');
  return () => server.close();
}

type Start = 'started' | 'terminated' | 'dismissed' | 'timeout';

/** The time counts anew for a guest that comes from elsewhere, once everything is ready for it, and for one that libvirt is starting: a lot of memory
 * takes a while. */
async function outOfPatience(ctx: Ctx, { target, manager }: Parts, ms: number, signal: AbortSignal): Promise<void> {
  const since = (): number => Math.max(target.preparedAt ?? 0, manager.startingSince ?? 0);
  for (let left = ms; left > 0 && !signal.aborted; left = since() + ms - ctx.now()) await sleep(ctx.clock, left, signal);
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
  parts.manager.markForGracefulShutdown().catch((err: unknown) => ctx.log.warn({ err }, 'Cannot tell that the pod is to end'));
  // A start under way is finished first, so that no guest is left without an end; one that hangs ends with the pod.
  const late = new AbortController();
  await Promise.race([parts.manager.exclusively(async () => undefined), sleep(ctx.clock, options.gracePeriodSeconds * 1000, late.signal)]);
  late.abort();
  return parts.record.started ? 'started' : 'terminated';
}

async function lifeOf(ctx: Ctx, parts: Parts, options: LauncherOptions, signals: Signals): Promise<Outcome> {
  const start = await waitForStart(ctx, parts, options, signals);
  if (start === 'terminated') return toldToEnd(options);
  if (start === 'dismissed') return { exitCode: 0 };
  if (start === 'timeout') return { exitCode: 1, lastWords: text.neverStarted(options.qemuTimeoutMs / 1000, parts.manager.lastError) };
  signals.guestRuns?.();
  const state = await waitForEnd(ctx, parts, options.gracePeriodSeconds, signals.terminate);
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
  const logs = [serialLog(options.uid), qemuLog(setup.layout.qemuLogDir, parts.domain)].map((path) => boundLog(ctx, path));
  let closeServer: (() => Promise<void>) | undefined;
  try {
    await makeDirs(options);
    closeServer = await Promise.race([bringUp(ctx, parts, setup.libvirt), aborted(signals.terminate).then(() => undefined)]);
    if (options.simulateCrash) throw new KvError('Terminal', 'virt-launcher was told to crash by --simulate-crash');
    const outcome = await lifeOf(ctx, parts, options, signals);
    if (outcome.exitCode === 0 || outcome.lastWords !== undefined) return outcome;
    return { ...outcome, lastWords: text.crashed(options.name, await lastQemuWords(setup.layout.qemuLogDir, parts.domain)) };
  } finally {
    for (const end of logs) end();
    await closeAll(ctx, parts, closeServer, setup);
  }
}
