// metav1.Status answers in the shapes that the API machinery gives its errors, so that kubectl and virtctl print them as ever. Pure.
import { hasCode, isKvError, messageOf } from '../base/errors.js';
import { type HttpResponse, json } from '../http/index.js';

export type ResourceKind = 'virtualmachine' | 'virtualmachineinstance' | 'persistentvolumeclaim';

export interface StatusError {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: object;
}

const GROUP = 'kubevirt.io';
const details = (kind: ResourceKind, name: string): object => ({ name, group: GROUP, kind });

export const notFound = (kind: ResourceKind, name: string): StatusError => ({
  code: 404,
  reason: 'NotFound',
  message: `${kind}.${GROUP} "${name}" not found`,
  details: details(kind, name),
});

export const conflict = (kind: ResourceKind, name: string, why: string): StatusError => ({
  code: 409,
  reason: 'Conflict',
  message: `Operation cannot be fulfilled on ${kind}.${GROUP} "${name}": ${why}`,
  details: details(kind, name),
});

export const forbidden = (kind: ResourceKind, name: string, why: string): StatusError => ({
  code: 403,
  reason: 'Forbidden',
  message: `${kind}.${GROUP} "${name}" is forbidden: ${why}`,
  details: details(kind, name),
});

export const badRequest = (message: string): StatusError => ({ code: 400, reason: 'BadRequest', message });

export const internalError = (message: string): StatusError => ({
  code: 500,
  reason: 'InternalError',
  message: `Internal error occurred: ${message}`,
  details: { causes: [{ message }] },
});

export const notImplemented = (message: string): StatusError => ({ code: 501, reason: 'NotImplemented', message });

/**
 * A write that the API server did not take. A lost race is a conflict; a refusal by a webhook is passed on as it is where
 * `invalidPasses` says so, and an internal error elsewhere.
 */
export function writeFailure(err: unknown, kind: ResourceKind, name: string, invalidPasses = false): StatusError {
  if (hasCode(err, 'Conflict')) return conflict(kind, name, messageOf(err));
  if (!invalidPasses || !isKvError(err) || err.details.status !== 422) return internalError(messageOf(err));
  const { message, causes } = err.details;
  return {
    code: 422,
    reason: 'Invalid',
    message: typeof message === 'string' ? message : err.message,
    details: { ...details(kind, name), ...(Array.isArray(causes) ? { causes } : {}) },
  };
}

export const statusAnswer = ({ code, reason, message, details: more }: StatusError): HttpResponse =>
  json(code, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(more ? { details: more } : {}),
    code,
  });
