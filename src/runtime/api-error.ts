// Turns an answer of the API server that is not a success into a KvError. Decides by the Status object's reason first, because a
// code alone is ambiguous (409 is a stale version or an existing name); the server's own message is always kept.
import { type ErrorCode, KvError } from '../base/errors.js';
import type { TransportResponse } from './transport.js';

interface Status {
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly kind?: string; readonly causes?: readonly { reason?: string; message?: string; field?: string }[] };
}

const BY_REASON: Readonly<Record<string, ErrorCode>> = {
  NotFound: 'NotFound',
  AlreadyExists: 'AlreadyExists',
  Conflict: 'Conflict',
  Gone: 'Gone',
  Expired: 'Gone',
  Invalid: 'Invalid',
  BadRequest: 'Invalid',
  Unauthorized: 'Forbidden',
  Forbidden: 'Forbidden',
  Timeout: 'Timeout',
  ServerTimeout: 'Unavailable',
  TooManyRequests: 'Unavailable',
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'Invalid',
  401: 'Forbidden',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'Invalid',
  409: 'Conflict',
  410: 'Gone',
  413: 'Invalid',
  415: 'Invalid',
  422: 'Invalid',
  504: 'Timeout',
};

export interface FailedCall {
  /** e.g. 'update virtualmachines.kubevirt.io default/web' */
  readonly what: string;
  /** The call was a JSON patch with `test` operations. */
  readonly guarded?: boolean;
}

export function apiError(call: FailedCall, response: Pick<TransportResponse, 'status' | 'body'>): KvError {
  const status = parseStatus(response.body);
  const httpCode = status.code ?? response.status;
  const message = status.message ?? (response.body.trim() || `HTTP ${response.status}`);
  return new KvError(codeOf(call, status, response.status), `${call.what}: ${message}`, {
    // Also a refusal for invalid content may pass: webhooks judge by the cluster's settings and by other objects, which change.
    retry: 'backoff',
    details: {
      status: httpCode,
      message,
      ...(status.reason ? { reason: status.reason } : {}),
      ...(status.details?.causes ? { causes: status.details.causes } : {}),
    },
  });
}

function codeOf(call: FailedCall, status: Status, httpStatus: number): ErrorCode {
  // A failing `test` operation is answered as 422 Invalid without the object's kind: somebody changed the object before us.
  if (call.guarded && httpStatus === 422 && status.details?.causes === undefined && status.details?.kind === undefined) return 'Conflict';
  const byReason = status.reason === undefined ? undefined : BY_REASON[status.reason];
  return byReason ?? BY_STATUS[status.code ?? httpStatus] ?? 'Unavailable';
}

function parseStatus(body: string): Status {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && (parsed as Status).kind === 'Status' ? (parsed as Status) : {};
  } catch {
    return {}; // not JSON: proxies answer with text, which becomes the message
  }
}
