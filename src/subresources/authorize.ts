// Authorisation of every request that is not open to all: only the API server's front proxy is believed about who the user is, and the
// API server is asked whether that user may. Denials are 401, as virtctl and existing clients expect.
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { type HttpRequest, type HttpResponse, text } from '../http/index.js';
import { SUBJECT_ACCESS_REVIEWS } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { accessReview, type IdentityHeaders, isOpen } from './access.js';

export interface AuthorizeDeps {
  readonly client: KubeClient;
  readonly headers: () => IdentityHeaders;
  readonly log: Logger;
}

export type Authorize = (request: HttpRequest) => Promise<HttpResponse | undefined>;

/** The CA of the front proxy often signs other clients of the cluster too: those may not speak for users. */
function isFrontProxy({ peer }: HttpRequest, { proxyNames = [] }: IdentityHeaders): boolean {
  return peer.authorized && (proxyNames.length === 0 || proxyNames.includes(peer.commonName ?? ''));
}

/** Returns the refusal, or undefined when the request may go on. */
export function createAuthorize({ client, headers, log }: AuthorizeDeps): Authorize {
  return async (request) => {
    if (isOpen(request.path)) return undefined;
    const known = headers();
    if (!isFrontProxy(request, known)) return text(401, 'request is not authenticated');
    const review = accessReview(request, known);
    if (!review.ok) return text(401, review.error);
    try {
      const { status } = await client.create(SUBJECT_ACCESS_REVIEWS, review.value);
      if (status?.allowed) return undefined;
      log.info({ user: review.value.spec.user, path: request.path, reason: status?.reason }, 'Refusing a subresource request');
      return text(401, status?.reason || 'not allowed');
    } catch (err) {
      log.error({ err: messageOf(err), path: request.path }, 'Cannot ask the API server for an access review');
      return text(500, 'internal server error');
    }
  };
}
