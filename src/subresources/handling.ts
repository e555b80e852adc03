// What every handler of a subresource begins and ends with: the object that the path names, and an answer whatever happens.
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { Handler, HttpRequest } from '../http/index.js';
import { internalError, statusAnswer } from './status.js';

export const keyOf = ({ params }: HttpRequest): string => `${params.ns}/${params.name}`;
export const nameOf = ({ params }: HttpRequest): string => params.name ?? '';

/** A failure to read is an answer too: never a broken connection. */
export function answering(handler: Handler, log: Logger): Handler {
  return async (request) => {
    try {
      return await handler(request);
    } catch (err) {
      log.error({ err, path: request.path }, 'Subresource request failed');
      return statusAnswer(internalError(messageOf(err)));
    }
  };
}
