// HTTPS and WebSockets as a client. Towards our own components with mutual TLS: one-shot requests and raw dials; certificates are read from their files on
// every connection, so rotation needs no restart. The server is recognised by the name in its certificate, since pods are dialled by address.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { PeerCertificate } from 'node:tls';
import { WebSocket } from 'ws';
import { KvError } from '../base/errors.js';
import { acceptKey, PLAIN_STREAM_PROTOCOL } from './upgrade.js';

export interface ClientTls {
  /** Both or none: some servers ask for no certificate. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** PEM bundle that the server's certificate must be signed by. */
  readonly ca: () => string | undefined;
  /** The subject common name that the server must have; absent: any that the bundle signed. */
  readonly serverName?: string;
}

export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** A longer answer is a failure; default 32 MiB. */
  readonly answerLimitBytes?: number;
}

export interface ClientResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A stream that the other side accepted: the bare connection, frames as they come. */
export interface DialledStream {
  readonly socket: Duplex;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** What is kept of a refusal's body. */
const REFUSAL_LIMIT_BYTES = 64 * 1024;
const ANSWER_LIMIT_BYTES = 32 * 1024 * 1024;

function checkName(expected: string | undefined, cert: PeerCertificate): Error | undefined {
  const have = cert.subject?.CN;
  return expected === undefined || have === expected
    ? undefined
    : new Error(`its certificate names ${String(have)} instead of ${expected}`);
}

function tlsOptions(tls: ClientTls): RequestOptions {
  const ca = tls.ca();
  if (!ca) throw new KvError('NotReady', 'the CA bundle of the install namespace is not known yet: check the ConfigMap kubevirt-ca');
  try {
    return {
      ...(tls.certFile && tls.keyFile ? { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) } : {}),
      ca,
      rejectUnauthorized: true,
      checkServerIdentity: (_host: string, cert: PeerCertificate) => checkName(tls.serverName, cert),
    };
  } catch (cause) {
    throw new KvError(
      'NotReady',
      `cannot read the client certificate ${tls.certFile} and ${tls.keyFile}: check that the Secret is mounted`,
      {
        cause,
      },
    );
  }
}

const unreachable = (url: string, cause: unknown): KvError =>
  new KvError('Unavailable', `cannot reach ${new URL(url).host}: check that its pod runs and is ready`, { cause });

async function readAll(message: IncomingMessage, limit: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of message) {
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    if (size > limit) break;
  }
  return Buffer.concat(parts);
}

export function requestOnce(tls: ClientTls, request: ClientRequest): Promise<ClientResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(
      request.url,
      {
        ...tlsOptions(tls),
        method: request.method,
        agent: false,
        headers: { ...request.headers, connection: 'close', 'content-length': String(Buffer.byteLength(request.body ?? '')) },
        ...(request.signal ? { signal: request.signal } : {}),
      },
      (message) => {
        const most = request.answerLimitBytes ?? ANSWER_LIMIT_BYTES;
        readAll(message, most).then(
          (body) => {
            if (body.length <= most) resolve({ status: message.statusCode ?? 0, headers: message.headers, body });
            else reject(new KvError('Unavailable', `${new URL(request.url).host} answered with more than ${most} bytes`));
          },
          (err: unknown) => reject(unreachable(request.url, err)),
        );
      },
    );
    const limit = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    outgoing.setTimeout(limit, () => outgoing.destroy(new Error(`no answer within ${limit} ms`)));
    outgoing.on('error', (err) => reject(unreachable(request.url, err)));
    outgoing.end(request.body);
  });
}

/** Opens a WebSocket without framing. Resolves with the refusal when the other side does not upgrade. */
export function dialRaw(tls: ClientTls, request: Omit<ClientRequest, 'body' | 'method'>): Promise<DialledStream | ClientResponse> {
  const key = randomBytes(16).toString('base64');
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(request.url, {
      ...tlsOptions(tls),
      method: 'GET',
      agent: false,
      headers: {
        ...request.headers,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': key,
        'sec-websocket-protocol': PLAIN_STREAM_PROTOCOL,
      },
    });
    const limit = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const abort = (): void => void outgoing.destroy(new Error('the client went away'));
    const settled = (): void => request.signal?.removeEventListener('abort', abort);
    request.signal?.addEventListener('abort', abort, { once: true });
    outgoing.setTimeout(limit, () => outgoing.destroy(new Error(`no answer within ${limit} ms`)));
    outgoing.on('error', (err) => {
      settled();
      reject(unreachable(request.url, err));
    });
    outgoing.on('response', (message) => {
      settled();
      readAll(message, REFUSAL_LIMIT_BYTES).then(
        (body) => resolve({ status: message.statusCode ?? 0, headers: message.headers, body }),
        (err: unknown) => reject(unreachable(request.url, err)),
      );
    });
    outgoing.on('upgrade', (message, socket, head) => {
      settled();
      socket.setTimeout(0);
      if (message.headers['sec-websocket-accept'] !== acceptKey(key)) {
        socket.destroy();
        reject(new KvError('Unavailable', `${new URL(request.url).host} answered the WebSocket handshake wrongly`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve({ socket });
    });
    outgoing.end();
  });
}

export interface WebSocketDial {
  /** https:// or wss:// */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** As https.request takes them. */
  readonly tls?: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'agent'>;
  readonly timeoutMs?: number;
}

/** Opens a framed WebSocket. A refusal is a KvError whose details hold `status` and `body`. */
export function dialWebSocket({ url, headers, tls, timeoutMs = DEFAULT_TIMEOUT_MS }: WebSocketDial): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url.replace(/^http/, 'ws'), PLAIN_STREAM_PROTOCOL, {
      ...tls,
      headers: { ...headers },
      handshakeTimeout: timeoutMs,
      perMessageDeflate: false,
    });
    ws.once('open', () => resolve(ws));
    ws.once('error', (err) => reject(unreachable(url, err)));
    ws.once('unexpected-response', (_request, message) => {
      readAll(message, REFUSAL_LIMIT_BYTES).then(
        (body) => {
          const status = message.statusCode ?? 0;
          reject(new KvError('Unavailable', `the server answered ${status}`, { details: { status, body: body.toString('utf8') } }));
          ws.terminate();
        },
        (err: unknown) => reject(unreachable(url, err)),
      );
    });
  });
}
