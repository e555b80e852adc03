// Upgrades of a connection to a WebSocket: finds the route, lets its handler decide, and then either writes its refusal as a plain HTTP
// answer or hands over the connection — as a ws object, or raw (frames untouched) for handlers that only pass bytes through.
import { createHash } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { KvError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import { type HttpRequest, type HttpResponse, peerOf, splitTarget, text } from './messages.js';
import { matchPath, parsePattern } from './route-match.js';

/** The subprotocol in which every stream of the API is spoken. */
export const PLAIN_STREAM_PROTOCOL = 'plain.kubevirt.io';
/** A message is held whole before it is passed on. */
export const LARGEST_MESSAGE_BYTES = 4 * 1024 * 1024;
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The connection that asks for the upgrade; exactly one of the two methods may be called, once. */
export interface Upgrade {
  /** Rejects when the client is gone. */
  accept(): Promise<WebSocket>;
  /** Completes the handshake and returns the bare connection; the caller's frames go through unmodified. */
  acceptRaw(): Duplex;
}

/** Returns the refusal, or undefined when it took the connection over. */
export type UpgradeHandler = (request: HttpRequest, upgrade: Upgrade) => Promise<HttpResponse | undefined>;

export interface UpgradeRoute {
  readonly path: string;
  readonly handler: UpgradeHandler;
}

export interface UpgradeRouter {
  /** Never rejects. */
  handle(message: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export const acceptKey = (key: string): string =>
  createHash('sha1')
    .update(key + WEBSOCKET_GUID)
    .digest('base64');

export const offersPlainProtocol = (header: string | undefined): boolean =>
  (header ?? '')
    .split(',')
    .map((p) => p.trim())
    .includes(PLAIN_STREAM_PROTOCOL);

export function refuse(socket: Duplex, response: HttpResponse): void {
  const body = Buffer.from(response.body ?? '');
  const headers = { ...response.headers, 'content-length': String(body.length), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? 'Error'}\r\n`;
  socket.end(Buffer.concat([Buffer.from(`${status}${lines.join('')}\r\n`), body]));
}

function handshakeFault(message: IncomingMessage): HttpResponse | undefined {
  if ((message.headers.upgrade ?? '').toLowerCase() !== 'websocket') return text(400, 'only upgrades to websocket are served here');
  if (message.headers['sec-websocket-version'] !== '13') {
    return { ...text(426, 'only WebSocket version 13 is served here'), headers: { 'sec-websocket-version': '13' } };
  }
  if (!message.headers['sec-websocket-key']) return text(400, 'the header Sec-WebSocket-Key is missing');
  return undefined;
}

function rawHandshake(message: IncomingMessage, socket: Duplex, head: Buffer): Duplex {
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(message.headers['sec-websocket-key'] ?? '')}`,
    ...(offersPlainProtocol(message.headers['sec-websocket-protocol']) ? [`Sec-WebSocket-Protocol: ${PLAIN_STREAM_PROTOCOL}`] : []),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
  return socket;
}

interface TakenUpgrade {
  readonly upgrade: Upgrade;
  readonly taken: () => boolean;
}

function upgradeOf(server: WebSocketServer, message: IncomingMessage, socket: Duplex, head: Buffer): TakenUpgrade {
  let taken = false;
  const take = (): void => {
    if (taken) throw new KvError('Internal', `the connection for ${message.url} was already taken over`);
    taken = true;
  };
  return {
    taken: () => taken,
    upgrade: {
      accept: () =>
        new Promise((resolve, reject) => {
          take();
          // The library drops a connection that ended meanwhile, or asks for nonsense, without telling anybody.
          const gone = (): void => reject(new KvError('Unavailable', 'the client went away before its stream began'));
          if (socket.closed) return gone();
          socket.once('close', gone);
          server.handleUpgrade(message, socket, head, (ws) => {
            socket.off('close', gone);
            resolve(ws);
          });
        }),
      acceptRaw: () => {
        take();
        return rawHandshake(message, socket, head);
      },
    },
  };
}

function requestOf(message: IncomingMessage, params: Readonly<Record<string, string>>, signal: AbortSignal): HttpRequest {
  return {
    method: message.method ?? 'GET',
    ...splitTarget(message.url ?? '/'),
    params,
    headers: message.headers,
    headerValues: message.headersDistinct,
    body: Buffer.alloc(0),
    peer: peerOf(message),
    signal,
  };
}

export function createUpgradeRouter(
  routes: readonly UpgradeRoute[],
  deps: { readonly log: Logger; readonly signal: AbortSignal },
): UpgradeRouter {
  const table = routes.map((r) => ({ pattern: parsePattern(r.path), handler: r.handler }));
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: LARGEST_MESSAGE_BYTES,
    handleProtocols: (offered) => (offered.has(PLAIN_STREAM_PROTOCOL) ? PLAIN_STREAM_PROTOCOL : false),
  });
  const answer = async (message: IncomingMessage, signal: AbortSignal, upgrade: Upgrade): Promise<HttpResponse | undefined> => {
    const { path } = splitTarget(message.url ?? '/');
    for (const { pattern, handler } of table) {
      const params = matchPath(pattern, path);
      if (params) return handshakeFault(message) ?? (await handler(requestOf(message, params, signal), upgrade));
    }
    return text(404, `no stream is served at ${path}`);
  };
  return {
    async handle(message, socket, head) {
      const { path } = splitTarget(message.url ?? '/');
      const gone = new AbortController();
      socket.on('error', (err) => deps.log.debug({ err: messageOf(err), path }, 'Connection of a stream failed'));
      socket.once('close', () => gone.abort());
      const { upgrade, taken } = upgradeOf(server, message, socket, head);
      try {
        const refusal = await answer(message, AbortSignal.any([gone.signal, deps.signal]), upgrade);
        if (refusal && !taken()) refuse(socket, refusal);
      } catch (err) {
        deps.log.error({ err, path }, 'Stream request failed');
        if (taken()) socket.destroy();
        else refuse(socket, text(500, messageOf(err)));
      }
    },
  };
}
