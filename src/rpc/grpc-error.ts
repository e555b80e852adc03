// What the gRPC library says of failed calls, as KvErrors, and its metadata as plain trailing headers. Used by the ends that use that library.
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { KvError } from '../base/errors.js';
import type { Trailer } from './wire-error.js';

export const plainTrailer = (metadata: Metadata): Trailer =>
  Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, value.toString()]));

export function metadataOf(trailer: Trailer): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailer)) metadata.set(name, value);
  return metadata;
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
