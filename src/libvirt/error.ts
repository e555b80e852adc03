// libvirt keeps its last error per thread, which a pool thread does not hand back. So each connection gets an error callback:
// it runs before the failed call returns, and calls of one connection are serialised, so callback and call belong together.
import { KvError } from '../base/errors.js';
import { ERROR_CODE, ERROR_LEVEL_ERROR } from './constants.js';
import { ffi, type Ptr } from './ffi.js';

/** A guest's agent may have its own words in it, and no end of them. */
const MAX_MESSAGE = 4096;

export interface LibvirtFailure {
  readonly code: number;
  readonly domain: number;
  readonly message: string;
}

export type LibvirtErrorName = keyof typeof ERROR_CODE;

/** Remembers the newest error libvirt reported through one callback. */
export class ErrorCapture {
  readonly callback: Ptr;
  #last: LibvirtFailure | undefined;

  constructor() {
    this.callback = ffi().callback('error', (_data: null, error: Ptr | null) => {
      if (error !== null) this.#remember(ffi().decodeError(error));
    });
  }

  #remember({ code, domain, message, level }: { code: number; domain: number; message: string | null; level: number }): void {
    if (level >= ERROR_LEVEL_ERROR) this.#last = { code, domain, message: (message ?? `error ${code}`).slice(0, MAX_MESSAGE) };
  }

  clear(): void {
    this.#last = undefined;
  }

  take(): LibvirtFailure | undefined {
    const last = this.#last;
    this.#last = undefined;
    return last;
  }

  release(): void {
    ffi().release(this.callback);
  }
}

/** The error of a failed call: what was tried, and libvirt's own words. */
export function libvirtError(what: string, failure: LibvirtFailure | undefined): KvError {
  if (!failure) return new KvError('Libvirt', `${what}: libvirt gave no reason`);
  const { code, domain, message } = failure;
  return new KvError('Libvirt', `${what}: ${message}`, { details: { libvirtCode: code, libvirtDomain: domain } });
}

/** True for an error that carries one of the named libvirt codes. */
export function isLibvirtError(err: unknown, ...names: readonly LibvirtErrorName[]): boolean {
  if (!(err instanceof KvError) || err.code !== 'Libvirt') return false;
  return names.some((name) => err.details.libvirtCode === ERROR_CODE[name]);
}
