// The HTTPS server of every process that serves: plain routes through express, WebSocket upgrades, health, metrics, request log, body
// limit, certificates reloaded from files, graceful stop. HTTP/1.1 only, since the streams need upgrades. Knows no Kubernetes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { type Clock, systemClock } from '../base/clock.js';
import { KvError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { type Handler, type HttpRequest, type HttpResponse, peerOf, splitTarget, text } from './messages.js';
import { matchPath, parsePattern } from './route-match.js';
import { readServerTls, type SecureFiles, type ServerTls, watchServerTls } from './tls-files.js';
import { createUpgradeRouter, type UpgradeRoute } from './upgrade.js';

export interface BodyFault {
  readonly status: number;
  readonly message: string;
}

export interface Route {
  /** 'GET' also answers HEAD; 'ALL' answers every method. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'ALL';
  readonly path: string;
  readonly handler: Handler;
  /** Answers a body that is too large or cannot be read; default is its status as text. */
  readonly onBodyFault?: (fault: BodyFault) => HttpResponse;
}

export interface HttpsServerOptions {
  readonly tls: ServerTls;
  readonly log: Logger;
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly upgrades?: readonly UpgradeRoute[];
  /** Runs before every route (not before upgrades); an answer ends the request. */
  readonly filters?: readonly ((request: HttpRequest) => HttpResponse | undefined | Promise<HttpResponse | undefined>)[];
  /** Served at /metrics. */
  readonly metrics?: () => Promise<{ readonly contentType: string; readonly body: string }>;
  /** Served at /healthz: a reason why the process is not healthy, or undefined. */
  readonly health?: () => string | undefined;
  readonly clock?: Clock;
  readonly bodyLimitBytes?: number;
  /** A request that has not arrived in full by then is answered with 408; open streams are not meant. Default 30 s. */
  readonly receiveMs?: number;
  readonly certPollMs?: number;
}

export interface HttpsServer {
  /** Listens; resolves with the port. */
  start(): Promise<number>;
  /** Stops accepting, lets running requests end, cuts what is left after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

/** What an API server may send: two copies of an object of 3 MB each, plus the review around them. */
const BODY_LIMIT_BYTES = 7 * 1024 * 1024;
const NO_BODY = Buffer.alloc(0);
/**
 * An unused connection is kept for longer than Kubernetes' clients keep one (90 s): who closes first races with the other's next request,
 * and an API server does not send a webhook's request again.
 */
const KEEP_ALIVE_MS = 120_000;
/** Nobody here sends bodies that take long; who does holds a connection that others need. */
const RECEIVE_MS = 30_000;
/** As much as an API server takes itself: it hands every group of its user on, one header each. Without end in number: none may be lost. */
const HEADER_LIMIT_BYTES = 1024 * 1024;
const ANY_NUMBER = 0;
/** How often Node looks for requests that take too long, as a share of the time they have. */
const CHECKS = 4;

type Faulty = IncomingMessage & { bodyFault?: BodyFault };

/** Told to the clients of open streams. */
const STOPPING = 'the server restarts; connect again';

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

function send(res: ServerResponse, answer: HttpResponse): void {
  if (res.headersSent || res.destroyed) return;
  res.statusCode = answer.status;
  for (const [name, value] of Object.entries(answer.headers ?? {})) res.setHeader(name, value);
  res.end(answer.body ?? '');
}

function requestOf(message: IncomingMessage & { body?: unknown }, res: ServerResponse): Omit<HttpRequest, 'params'> {
  const gone = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  return {
    method: message.method ?? 'GET',
    ...splitTarget(message.url ?? '/'),
    headers: message.headers,
    headerValues: message.headersDistinct,
    body: Buffer.isBuffer(message.body) ? message.body : NO_BODY,
    peer: peerOf(message),
    signal: gone.signal,
  };
}

const readBody = (limit: number): RequestHandler => express.raw({ type: () => true, limit });

/** A body that cannot be read does not hide which route was meant: the route itself may have to answer in its own form. */
const noteBodyFault: ErrorRequestHandler = (err: { status?: number }, req, res, next) => {
  const status = err.status ?? 400;
  (req as Faulty).bodyFault = {
    status,
    message: status === 413 ? 'the request body is too large' : `cannot read the request body: ${messageOf(err)}`,
  };
  res.setHeader('connection', 'close');
  next();
};

const methodFits = (route: Route, method: string): boolean =>
  route.method === 'ALL' || route.method === method || (route.method === 'GET' && method === 'HEAD');

function dispatcher(options: HttpsServerOptions): RequestHandler {
  const table = options.routes.map((route) => ({ route, pattern: parsePattern(route.path) }));
  const answer = async (message: Faulty, request: Omit<HttpRequest, 'params'>): Promise<HttpResponse> => {
    for (const filter of options.filters ?? []) {
      const early = await filter({ ...request, params: {} });
      if (early) return early;
    }
    let otherMethod = false;
    for (const { route, pattern } of table) {
      const params = matchPath(pattern, request.path);
      if (!params) continue;
      if (!methodFits(route, request.method)) {
        otherMethod = true;
        continue;
      }
      if (message.bodyFault) return route.onBodyFault?.(message.bodyFault) ?? text(message.bodyFault.status, message.bodyFault.message);
      return await route.handler({ ...request, params });
    }
    return otherMethod
      ? text(405, `method ${request.method} is not served at ${request.path}`)
      : text(404, `nothing is served at ${request.path}`);
  };
  return (req, res, next) => {
    answer(req as Faulty, requestOf(req, res)).then((a) => send(res, a), next);
  };
}

function requestLog(log: Logger, clock: Clock): RequestHandler {
  return (req, res, next) => {
    const begin = clock.now();
    res.once('close', () => {
      const line = { method: req.method, path: splitTarget(req.url).path, status: res.statusCode, ms: clock.now() - begin };
      if (res.statusCode >= 500) log.warn(line, 'Request failed');
      else log.debug(line, 'Request');
    });
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) res.setHeader(name, value);
    next();
  };
}

function ownRoutes(options: HttpsServerOptions): Route[] {
  const { metrics, health } = options;
  const routes: Route[] = [];
  if (metrics) {
    routes.push({
      method: 'GET',
      path: '/metrics',
      handler: async () => {
        const { contentType, body } = await metrics();
        return { status: 200, headers: { 'content-type': contentType }, body };
      },
    });
  }
  if (health) {
    routes.push({
      method: 'GET',
      path: '/healthz',
      handler: () => {
        const problem = health();
        return problem === undefined ? text(200, 'ok') : text(500, problem);
      },
    });
  }
  return routes;
}

export function createApp(options: HttpsServerOptions, clock: Clock): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(requestLog(options.log, clock));
  app.use(readBody(options.bodyLimitBytes ?? BODY_LIMIT_BYTES));
  app.use(noteBodyFault);
  app.use(dispatcher({ ...options, routes: [...ownRoutes(options), ...options.routes] }));
  const lastResort: ErrorRequestHandler = (err, req, res, _next) => {
    options.log.error({ err, path: req.path }, 'Request handler failed');
    send(res, text(500, messageOf(err)));
  };
  app.use(lastResort);
  return app;
}

const contextOf = (tls: ServerTls, files: SecureFiles) => ({
  ...files,
  ...(tls.minVersion ? { minVersion: tls.minVersion } : { minVersion: 'TLSv1.2' as const }),
  ...(tls.ciphers ? { ciphers: tls.ciphers } : {}),
});

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    // Later ones concern one connection that could not be taken; without a listener they would end the process.
    server.on('error', (cause) =>
      reject(new KvError('Unavailable', `cannot listen on ${host}:${port}: check that no other process uses the port`, { cause })),
    );
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

function closeServer(server: Server, open: ReadonlySet<Duplex>, clock: Clock, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = clock.after(graceMs, () => {
      server.closeAllConnections();
      for (const socket of open) socket.destroy();
    });
    server.close(() => {
      cut();
      resolve();
    });
    server.closeIdleConnections();
  });
}

export function createHttpsServer(options: HttpsServerOptions): HttpsServer {
  const { tls, log, clock = systemClock, receiveMs = RECEIVE_MS } = options;
  const stopping = new AbortController();
  const open = new Set<Duplex>();
  let server: Server | undefined;
  return {
    async start() {
      const files = readServerTls(tls);
      const app = createApp(options, clock);
      server = createServer(
        {
          ...contextOf(tls, files),
          ALPNProtocols: ['http/1.1'],
          maxHeaderSize: HEADER_LIMIT_BYTES,
          requestTimeout: receiveMs,
          headersTimeout: receiveMs,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connectionsCheckingInterval: receiveMs / CHECKS,
          requestCert: tls.clientCa !== undefined,
          rejectUnauthorized: tls.clientCert === 'required',
        },
        app,
      );
      server.maxHeadersCount = ANY_NUMBER;
      server.on('tlsClientError', (err) => log.debug({ err: messageOf(err) }, 'TLS handshake failed'));
      const upgrades = createUpgradeRouter(options.upgrades ?? [], { log, signal: stopping.signal });
      server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
        open.add(socket);
        socket.once('close', () => open.delete(socket));
        void upgrades.handle(message, socket, head);
      });
      const port = await listen(server, options.port, options.host ?? '0.0.0.0');
      watchServerTls(tls, (fresh) => server?.setSecureContext(contextOf(tls, fresh)), {
        clock,
        log,
        signal: stopping.signal,
        ...(options.certPollMs === undefined ? {} : { pollMs: options.certPollMs }),
      });
      return port;
    },
    async stop(graceMs = 5_000) {
      stopping.abort(STOPPING);
      if (server) await closeServer(server, open, clock, graceMs);
    },
  };
}
