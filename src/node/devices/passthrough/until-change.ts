// Waiting for the next round of a loop that follows both the configuration and the node: the first tells when it changes, the second has to
// be looked at. Used by the loops of devices that are passed through.
import { sleep, ticks } from '../../../base/clock.js';
import type { Ctx } from '../../../base/context.js';

const LOOK_MS = 1_000;

/** Returns after `ms`, or soon after one of the values is no longer the one it was. */
export async function untilChange(ctx: Ctx, ms: number, values: () => readonly unknown[], seen: readonly unknown[]): Promise<void> {
  const until = ticks(ctx.clock) + ms;
  while (!ctx.signal.aborted && ticks(ctx.clock) < until && values().every((value, at) => value === seen[at])) {
    await sleep(ctx.clock, Math.min(LOOK_MS, ms), ctx.signal);
  }
}
