// A look at storage that may never answer, such as a file server that is away: whoever asks waits for a while, and one that hangs is not begun a
// second time, as each holds a thread of the process. Called by the agent when it makes a guest's disk images; knows no particular look.
import { withDeadline } from '../../base/clock.js';
import type { Ctx } from '../../base/context.js';

/** The other VMs of the node need the worker that waits. */
const FIRST_MS = 30_000;
const AGAIN_MS = 1_000;

export interface Looking<T> {
  /** The look that is under way. */
  look?: Promise<T>;
}

export function oneLook<T>(ctx: Ctx, holder: Looking<T>, begin: () => Promise<T>, late: () => Error): Promise<T> {
  const known = holder.look;
  if (known !== undefined) return withDeadline(ctx.clock, AGAIN_MS, known, late);
  const look = begin().finally(() => {
    delete holder.look;
  });
  holder.look = look;
  // Told to whoever waits; where nobody does any more, the next one begins anew.
  look.catch(() => undefined);
  return withDeadline(ctx.clock, FIRST_MS, look, late);
}
