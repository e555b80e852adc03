// What is done for all launchers from time to time: the watchdog's dial, and asking each for its domain in case a notification got lost.
// Reads only; a finding wakes the VM's reconcile.
import { sleep } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import type { Launcher } from './launcher.js';
import type { Launchers } from './launchers.js';

export interface RoundsOptions {
  readonly watchdogMs: number;
  readonly resyncMs: number;
  readonly wake: (key: string) => void;
}

/** Runs until the context ends. */
export async function runRounds(ctx: Ctx, launchers: Launchers, options: RoundsOptions): Promise<void> {
  await Promise.all([
    every(ctx, options.watchdogMs / 3 + 1_000, () => forEach(ctx, launchers, (launcher) => launchers.probe(ctx, launcher))),
    every(ctx, options.resyncMs, () =>
      forEach(ctx, launchers, async (launcher) => {
        if (await launchers.refresh(launcher)) options.wake(launcher.key);
      }),
    ),
  ]);
}

async function every(ctx: Ctx, ms: number, work: () => Promise<void>): Promise<void> {
  while (!ctx.signal.aborted) {
    await sleep(ctx.clock, ms, ctx.signal);
    if (!ctx.signal.aborted) await work();
  }
}

async function forEach(ctx: Ctx, launchers: Launchers, work: (launcher: Launcher) => Promise<void>): Promise<void> {
  for (const launcher of launchers.all()) {
    try {
      await work(launcher);
    } catch (err) {
      // One launcher in trouble must not keep the others from being looked at; it is looked at again next time.
      ctx.log.info({ uid: launcher.ghost.uid, err: messageOf(err) }, 'A look at a launcher failed');
    }
  }
}
