// Breaks off code that would not end by itself: a loop, or a regular expression that backtracks for ever. For work of users only; it costs a
// millisecond. Called around the evaluation of CEL expressions.
import { runInNewContext } from 'node:vm';
import { KvError } from './errors.js';

const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/** What the work gives back or throws; Timeout when it took too long. */
export function withinTime<T>(ms: number, work: () => T): T {
  try {
    // Whatever runs inside, also what it calls outside of the context, is subject to the limit.
    return runInNewContext('work()', { work }, { timeout: ms }) as T;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== TIMED_OUT) throw err;
    throw new KvError('Timeout', `it took longer than ${ms / 1000} s`, { cause: err });
  }
}
