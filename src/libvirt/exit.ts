// The end of a process that used libvirt. A regular exit joins the pool's threads, and one of them may sit in a call of a libvirt
// that hangs; then the process would never end. Called by src/main only, when everything is written out.
import { ffi } from './ffi.js';

/** Ends the process now, without exit handlers and without waiting for any thread. */
export function exitAtOnce(code: number): never {
  ffi().libc._exit(code);
  throw new Error('_exit returned');
}
