// The one error type of the project. An error says what failed, on which object and whether a retry can help;
// callers test the code, never the text and never the class.

export type ErrorCode =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'Forbidden'
  | 'Gone'
  | 'NotReady'
  | 'Timeout'
  | 'Terminal'
  | 'Libvirt'
  | 'CriticalNetwork'
  | 'LauncherUnreachable'
  | 'Unavailable'
  | 'NotImplemented'
  | 'Internal';

export type Retry = 'backoff' | 'never' | { readonly afterMs: number };

export interface KvErrorOptions {
  /** CamelCase reason for conditions and events. */
  readonly reason?: string;
  /** Defaults to 'backoff'; 'never' for Invalid, Terminal and NotImplemented. */
  readonly retry?: Retry;
  readonly cause?: unknown;
  /** Extra facts for the log (HTTP status, libvirt code and domain, …). */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The same request would end the same way. */
const HOPELESS: readonly ErrorCode[] = ['Invalid', 'Terminal', 'NotImplemented'];

const BRAND = Symbol.for('kubevirt-ts.KvError');

export class KvError extends Error {
  readonly code: ErrorCode;
  readonly reason: string | undefined;
  readonly retry: Retry;
  readonly details: Readonly<Record<string, unknown>>;
  readonly [BRAND] = true;

  constructor(code: ErrorCode, message: string, options: KvErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'KvError';
    this.code = code;
    this.reason = options.reason;
    this.retry = options.retry ?? (HOPELESS.includes(code) ? 'never' : 'backoff');
    this.details = options.details ?? {};
  }
}

/** True for a KvError of any copy of this module. */
export function isKvError(err: unknown): err is KvError {
  return typeof err === 'object' && err !== null && (err as Record<symbol, unknown>)[BRAND] === true;
}

export function hasCode(err: unknown, ...codes: readonly ErrorCode[]): err is KvError {
  return isKvError(err) && codes.includes(err.code);
}

/** One readable line for any thrown value, with its causes. */
export function messageOf(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  const cause = err.cause === undefined ? '' : `: ${messageOf(err.cause)}`;
  return err.message.includes(cause) ? err.message : `${err.message}${cause}`;
}

/** Never returns: the check that every variant of a union was handled. */
export function assertNever(value: never, what: string): never {
  throw new KvError('Internal', `unhandled ${what}: ${JSON.stringify(value)}`);
}
