// The admission webhooks of virt-api as HTTP routes: one row a path. Reads the facts a decision needs, lets pure functions decide, answers
// with a review. A failure of ours denies with code 500 and a log line; nothing is written to the cluster but the mark of an evacuation.
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Handler, HttpRequest, HttpResponse, Route } from '../http/index.js';
import { createFacts } from './facts.js';
import type { Admitter, Context, WebhookDeps } from './handlers/context.js';
import { EVICTIONS } from './handlers/eviction.js';
import { MACHINES } from './handlers/machines.js';
import { MIGRATIONS } from './handlers/migrations.js';
import { PODS_CREATED } from './handlers/pods.js';
import { SETS } from './handlers/sets.js';
import { STORAGE } from './handlers/storage.js';
import { withNotice } from './handlers/stored-only.js';
import { type AdmissionRequest, type AdmissionResponse, faultAnswer, parseReview, reviewAnswer } from './review.js';
import { createStructuralCheck } from './structural.js';

export type { WebhookDeps } from './handlers/context.js';

const ADMITTERS: Readonly<Record<string, Admitter>> = { ...MACHINES, ...MIGRATIONS, ...EVICTIONS, ...SETS, ...STORAGE, ...PODS_CREATED };

const MUTATES = /-mutate(-|$)/;

/** Serves one admitter whatever arrives; shared with virt-operator's own webhooks. */
export function reviewHandler(
  admit: (request: AdmissionRequest) => Promise<AdmissionResponse> | AdmissionResponse,
  log: Logger,
): Pick<Route, 'handler' | 'onBodyFault'> {
  const handler: Handler = async (http: HttpRequest): Promise<HttpResponse> => {
    const parsed = parseReview(http);
    if (!parsed.ok) {
      log.warn({ path: http.path, reason: parsed.error.message }, 'Refusing a malformed admission review');
      return faultAnswer(parsed.error);
    }
    const request = parsed.value;
    try {
      return reviewAnswer(request.uid, await admit(request));
    } catch (err) {
      const { namespace, name } = request;
      log.error({ err, path: http.path, namespace, name }, 'Admission failed');
      return faultAnswer({
        uid: request.uid,
        message: `admission of ${namespace ?? ''}/${name ?? ''} failed: ${messageOf(err)}`,
        code: 500,
      });
    }
  };
  return { handler, onBodyFault: ({ status, message }) => faultAnswer({ uid: '', message, code: status }) };
}

export function webhookRoutes(deps: WebhookDeps): Route[] {
  const context: Context = { ...deps, facts: createFacts(deps.client, deps.clock, deps.log), structural: createStructuralCheck() };
  return Object.entries(ADMITTERS).map(([path, admitter]) => ({
    method: 'POST',
    path,
    ...reviewHandler(async (request) => {
      const response = await admitter(request, context);
      return MUTATES.test(path) ? response : withNotice(request, response);
    }, deps.log),
  }));
}
