// AdmissionReview on the wire: reads what the API server sends, writes what it expects. Whatever arrives, the answer is a well-formed
// review with the request's uid, as far as there is one. Decides nothing.
import type { KubeObject } from '../api/index.js';
import { fail, ok, type Result } from '../base/result.js';
import { type HttpRequest, type HttpResponse, json } from '../http/index.js';
import { type Mutation, patchOf } from './mutate/mutation.js';
import { denial, type Verdict } from './verdict.js';

export interface AdmissionRequest {
  readonly uid: string;
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource?: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly name?: string;
  readonly namespace?: string;
  readonly object?: KubeObject;
  readonly oldObject?: KubeObject;
  readonly dryRun: boolean;
  readonly userInfo: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
}

export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly status?: object;
  readonly warnings?: readonly string[];
  readonly patch?: string;
  readonly patchType?: 'JSONPatch';
}

export interface ReviewFault {
  readonly uid: string;
  readonly message: string;
  readonly code: number;
}

const isNode = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
const TEXTS = ['name', 'namespace', 'subResource'] as const;
const OBJECTS = ['object', 'oldObject'] as const;
const text = (v: unknown): string => (typeof v === 'string' ? v : '');

function requestOf(review: unknown): Result<AdmissionRequest, ReviewFault> {
  const request = isNode(review) ? review.request : undefined;
  if (!isNode(request)) return fail({ uid: '', message: 'the body is no AdmissionReview with a request', code: 400 });
  const uid = text(request.uid);
  const wrong = (what: string): Result<AdmissionRequest, ReviewFault> => fail({ uid, message: `the request has no ${what}`, code: 400 });
  if (!isNode(request.resource)) return wrong('resource');
  if (!['CREATE', 'UPDATE', 'DELETE', 'CONNECT'].includes(text(request.operation))) return wrong('known operation');
  const user = isNode(request.userInfo) ? request.userInfo : {};
  const texts = Object.fromEntries(TEXTS.filter((k) => typeof request[k] === 'string').map((k) => [k, request[k]]));
  const objects = Object.fromEntries(OBJECTS.filter((k) => isNode(request[k])).map((k) => [k, request[k]]));
  return ok({
    uid,
    resource: request.resource as AdmissionRequest['resource'],
    operation: request.operation as AdmissionRequest['operation'],
    userInfo: { ...user, username: text(user.username) },
    dryRun: request.dryRun === true,
    ...texts,
    ...objects,
  });
}

/** Far more than any kind has; the API server's own limit is higher, and recursion over an object must end in good order. */
const MOST_NESTING = 1000;
const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\[]{}');

/** Whether JSON text nests lists and objects deeper than that. Looks at brackets outside of texts only. */
function isTooDeep(text: Buffer): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    if (depth > MOST_NESTING) return true;
  }
  return false;
}

export function parseReview(request: HttpRequest): Result<AdmissionRequest, ReviewFault> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    return fail({ uid: '', message: `content type ${type || '(none)'} is not served here: send application/json`, code: 400 });
  }
  if (isTooDeep(request.body)) {
    return fail({ uid: '', message: `the body nests deeper than ${MOST_NESTING} levels: no object of a known kind does`, code: 400 });
  }
  try {
    return requestOf(JSON.parse(request.body.toString('utf8')));
  } catch (err) {
    return fail({ uid: '', message: `the body is no JSON: ${err instanceof Error ? err.message : String(err)}`, code: 400 });
  }
}

export function responseOf(verdict: Verdict): AdmissionResponse {
  if (verdict.allowed) return verdict.warnings.length > 0 ? { allowed: true, warnings: verdict.warnings } : { allowed: true };
  if ('causes' in verdict) return { allowed: false, status: denial(verdict.causes) };
  return { allowed: false, status: { message: verdict.error, code: verdict.code } };
}

/** `before` is the object as it was received. */
export function mutationResponse<T extends KubeObject>(mutation: Mutation<T>, before: KubeObject): AdmissionResponse {
  if ('refusal' in mutation) return responseOf(mutation.refusal);
  const operations = patchOf(before, mutation.object);
  const base = responseOf({ allowed: true, warnings: mutation.warnings });
  if (operations.length === 0) return base;
  return { ...base, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
}

export const reviewAnswer = (uid: string, response: AdmissionResponse): HttpResponse =>
  json(200, { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, ...response } });

export const faultAnswer = ({ uid, message, code }: ReviewFault): HttpResponse =>
  reviewAnswer(uid, { allowed: false, status: { message, code } });
