// What a handler receives and answers, free of the HTTP library in use, so that handlers are plain functions that tests call directly.
// Used by webhooks, subresources and the node agent's console server; knows no Kubernetes.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

/** Who is at the other end of the connection. */
export interface Peer {
  /** True when the client proved a certificate that the configured client CA signed. */
  readonly authorized: boolean;
  readonly commonName?: string;
  readonly address?: string;
}

export interface HttpRequest {
  readonly method: string;
  /** Percent-encoded, as received, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Decoded `:name` parts of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** Every header's values one by one: a header sent twice is not the same as one with a comma. Names in lower case. */
  readonly headerValues: Readonly<Record<string, readonly string[] | undefined>>;
  /** Empty when the request has none. */
  readonly body: Buffer;
  readonly peer: Peer;
  /** Aborts when the client goes away; for upgrades also when the server stops. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export type Handler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

export const json = (status: number, value: unknown): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

export const text = (status: number, body: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body,
});

export const empty = (status: number): HttpResponse => ({ status });

export function peerOf(message: IncomingMessage): Peer {
  const { socket } = message;
  const address = socket.remoteAddress;
  const where = address === undefined ? {} : { address };
  if (!(socket instanceof TLSSocket) || !socket.authorized) return { authorized: false, ...where };
  const commonName = socket.getPeerCertificate().subject?.CN;
  return { authorized: true, ...where, ...(typeof commonName === 'string' ? { commonName } : {}) };
}

/** Path and query of a request target; targets that are no origin-form (`*`, `http://…`) have no route. */
export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const at = target.indexOf('?');
  return at < 0
    ? { path: target, query: new URLSearchParams() }
    : { path: target.slice(0, at), query: new URLSearchParams(target.slice(at + 1)) };
}
