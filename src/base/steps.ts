// Where a request is, for the answer that it gets when it takes too long: whatever works for it says which step begins. The request is found
// by Node's async context, so that no function has to pass it on; nothing is ever decided by it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Clock, withDeadline } from './clock.js';
import { KvError } from './errors.js';

interface Request {
  at: string;
  isGivenUp: boolean;
}

const requests = new AsyncLocalStorage<Request>();

/** Reason of the error of a request that was not done in time. */
export const STUCK = 'StuckAtStep';

/** The request that this code runs for, if any, is here now. */
export function atStep(step: string): void {
  const request = requests.getStore();
  if (request !== undefined) request.at = step;
}

/** Whoever asked for what this code does was told that it took too long: nobody waits for it any more. */
export const isGivenUp = (): boolean => requests.getStore()?.isGivenUp === true;

/** Rejects with Timeout when `work` is not done after `ms`, naming the step that it is at. */
export async function answerWithin<T>(clock: Clock, ms: number, what: string, work: () => Promise<T>): Promise<T> {
  const request: Request = { at: 'beginning', isGivenUp: false };
  const late = (): KvError => {
    request.isGivenUp = true;
    return new KvError('Timeout', `${what} was not done after ${Math.round(ms / 100) / 10} s; it was at: ${request.at}`, { reason: STUCK });
  };
  return withDeadline(clock, ms, requests.run(request, work), late);
}
