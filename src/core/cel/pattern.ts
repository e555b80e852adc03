// Regular expressions of CEL as JavaScript's. Pure. Their syntax is that of RE2, which has no back references and no looking around: expressions with
// these are refused. How long one may search is for the caller to bound.
import { KvError } from '../../base/errors.js';

const FLAGS = /^\(\?([ims]+)\)/;

export function compilePattern(pattern: string): RegExp {
  const flags = FLAGS.exec(pattern)?.[1] ?? '';
  const body = pattern.replace(FLAGS, '').replace(/\(\?P</g, '(?<');
  if (/\\[1-9]|\(\?<?[=!]/.test(body))
    throw new KvError('Invalid', `${JSON.stringify(pattern)} looks back or around, which CEL does not know`);
  const tried = [`u${flags}`, flags].map((each) => built(body, each));
  const found = tried.find((each) => each instanceof RegExp);
  if (found) return found;
  throw new KvError('Invalid', `${JSON.stringify(pattern)} is no regular expression`, { cause: tried[0] });
}

/** Letters that need no escape may have one in RE2; JavaScript allows that only where it does not know all of Unicode. */
function built(body: string, flags: string): RegExp | Error {
  try {
    return new RegExp(body, flags);
  } catch (err) {
    return err as Error;
  }
}
