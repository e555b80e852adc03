// A KvError on the wire: the answer's success=false and message as every peer understands them, and the code, reason and retry
// advice in trailing headers, so that our own client rebuilds the same error. Used by both ends of each service.
import { type ErrorCode, isKvError, KvError, messageOf, type Retry } from '../base/errors.js';
import { ERROR_KEY as KEY } from './error-keys.js';

export type Trailer = Readonly<Record<string, string>>;

export interface WireFailure {
  readonly message: string;
  readonly trailer: Trailer;
}

export function toWire(err: unknown): WireFailure {
  const message = messageOf(err);
  if (!isKvError(err)) return { message, trailer: {} };
  const retry = typeof err.retry === 'object' ? String(err.retry.afterMs) : err.retry;
  return {
    message,
    trailer: { [KEY.code]: err.code, [KEY.retry]: retry, ...(err.reason === undefined ? {} : { [KEY.reason]: err.reason }) },
  };
}

function retryOf(value: string | undefined): Retry {
  if (value === 'never' || value === 'backoff' || value === undefined) return value ?? 'backoff';
  const afterMs = Number(value);
  return Number.isFinite(afterMs) ? { afterMs } : 'backoff';
}

/** The error behind an answer with success=false. */
export function fromWire(message: string, trailer: Trailer): KvError {
  const reason = trailer[KEY.reason];
  return new KvError((trailer[KEY.code] as ErrorCode | undefined) ?? 'Internal', message, {
    retry: retryOf(trailer[KEY.retry]),
    ...(reason === undefined ? {} : { reason }),
  });
}
