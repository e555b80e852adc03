// Deleting, or releasing for the last time, an object that somebody else may have taken away already: gone is what was wanted.
import { hasCode } from '../base/errors.js';

/** Everything but NotFound is thrown on. */
export async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (err) {
    if (!hasCode(err, 'NotFound')) throw err;
  }
}
