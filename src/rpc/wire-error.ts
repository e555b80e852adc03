// A KvError on the wire: the answer's success=false and message as every peer understands them, and the code, reason and retry
// advice in trailing metadata, so that our own client rebuilds the same error. Used by both ends of each service.
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type ErrorCode, isKvError, KvError, messageOf, type Retry } from '../base/errors.js';
import { ERROR_KEY as KEY } from './error-keys.js';

export interface WireFailure {
  readonly message: string;
  readonly trailer: Metadata;
}

export function toWire(err: unknown): WireFailure {
  const trailer = new Metadata();
  if (isKvError(err)) {
    trailer.set(KEY.code, err.code);
    trailer.set(KEY.retry, typeof err.retry === 'object' ? String(err.retry.afterMs) : err.retry);
    if (err.reason !== undefined) trailer.set(KEY.reason, err.reason);
  }
  return { message: messageOf(err), trailer };
}

const text = (trailer: Metadata, key: string): string | undefined => trailer.get(key)[0]?.toString();

function retryOf(value: string | undefined): Retry {
  if (value === 'never' || value === 'backoff' || value === undefined) return value ?? 'backoff';
  const afterMs = Number(value);
  return Number.isFinite(afterMs) ? { afterMs } : 'backoff';
}

/** The error behind an answer with success=false. */
export function fromWire(message: string, trailer: Metadata): KvError {
  const reason = text(trailer, KEY.reason);
  return new KvError((text(trailer, KEY.code) as ErrorCode | undefined) ?? 'Internal', message, {
    retry: retryOf(text(trailer, KEY.retry)),
    ...(reason === undefined ? {} : { reason }),
  });
}

/** The error behind a failed call: the peer is gone, slow, or does not know the method. */
export function fromStatus(err: ServiceError, what: string, socketPath: string): KvError {
  const details = { grpcStatus: err.code, socketPath };
  if (err.code === status.DEADLINE_EXCEEDED) {
    return new KvError('Timeout', `${what}: no answer on ${socketPath} in time; it is retried`, { cause: err, details });
  }
  if (err.code === status.UNIMPLEMENTED) {
    return new KvError('NotImplemented', `${what}: the peer on ${socketPath} does not know this call; it runs another version`, {
      cause: err,
      details,
    });
  }
  if (err.code === status.UNAVAILABLE || err.code === status.CANCELLED) {
    return new KvError('LauncherUnreachable', `${what}: nobody answers on ${socketPath} (${err.details})`, { cause: err, details });
  }
  return new KvError('Internal', `${what} on ${socketPath} failed: ${err.details}`, { cause: err, details });
}
