// Transport over HTTP/1.1 keep-alive connections: one pool for requests, one for streams. Credentials are asked for before each
// request, because tokens and certificates rotate under us; a 401 refreshes them once.
import http from 'node:http';
import https from 'node:https';
import { KvError } from '../base/errors.js';
import { LineSplitter } from './line-splitter.js';
import type { Transport, TransportRequest, TransportResponse, TransportStream } from './transport.js';

export interface TlsMaterial {
  readonly ca?: https.AgentOptions['ca'];
  readonly cert?: https.AgentOptions['cert'];
  readonly key?: https.AgentOptions['key'];
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
  /** Used as it is when set (proxies). */
  readonly agent?: http.Agent;
}

export interface CredentialSource {
  /** e.g. https://10.96.0.1:443 */
  readonly server: string;
  current(): Promise<Credentials>;
  /** Forget what is cached: the server refused it. */
  refresh(): void;
}

// kube-apiserver closes idle connections after 90 s; we close first, so that no request meets a dying connection.
const IDLE_MS = 55_000;
// With keep-alive probes the kernel reports a dead peer after about 40 s (Node probes once a second, ten times).
const PROBE_AFTER_MS = 30_000;
const DEFAULT_TIMEOUT_MS = 30_000;

interface Pools {
  readonly key: string;
  readonly requests: http.Agent;
  readonly streams: http.Agent;
}

export class HttpTransport implements Transport {
  readonly host: string;
  readonly #credentials: CredentialSource;
  readonly #base: URL;
  #pools: Pools | undefined;

  constructor(credentials: CredentialSource) {
    this.#credentials = credentials;
    this.#base = new URL(credentials.server);
    this.host = this.#base.host;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const first = await this.#requestOnce(request);
    if (first.status !== 401) return first;
    this.#credentials.refresh();
    return await this.#requestOnce(request);
  }

  async stream(request: TransportRequest): Promise<TransportStream> {
    const first = await this.#open(request, 'streams');
    if (first.statusCode !== 401) return toStream(first, this.#what(request));
    first.destroy();
    this.#credentials.refresh();
    return toStream(await this.#open(request, 'streams'), this.#what(request));
  }

  close(): void {
    this.#pools?.requests.destroy();
    this.#pools?.streams.destroy();
  }

  #what(request: TransportRequest): string {
    return `${request.method} ${this.#base.origin}${request.path}`;
  }

  async #requestOnce(request: TransportRequest): Promise<TransportResponse> {
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timer = new AbortController();
    const timeout = setTimeout(() => timer.abort(), timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, timer.signal]) : timer.signal;
    try {
      const response = await this.#open({ ...request, signal }, 'requests');
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return { status: response.statusCode ?? 0, headers: flat(response.headers), body: Buffer.concat(chunks).toString('utf8') };
    } catch (err) {
      if (timer.signal.aborted)
        throw new KvError('Timeout', `${this.#what(request)}: no answer within ${timeoutMs / 1000} s`, { cause: err });
      throw connectionError(err, this.#what(request));
    } finally {
      clearTimeout(timeout);
    }
  }

  async #open(request: TransportRequest, pool: 'requests' | 'streams'): Promise<http.IncomingMessage> {
    const credentials = await this.#credentials.current();
    const body = request.body === undefined ? undefined : Buffer.from(request.body);
    const options: https.RequestOptions = {
      method: request.method,
      agent: credentials.agent ?? this.#pool(credentials.tls)[pool],
      headers: {
        accept: 'application/json',
        ...credentials.headers,
        ...request.headers,
        ...(body ? { 'content-length': body.length } : {}),
      },
      ...(request.signal ? { signal: request.signal } : {}),
    };
    const url = new URL(request.path, this.#base);
    try {
      return await send(url, options, body);
    } catch (err) {
      // The server may have closed the kept connection while our bytes were on their way; a read can be sent again safely.
      if (request.method === 'GET' && isStaleConnection(err)) return await send(url, options, body);
      throw connectionError(err, this.#what(request));
    }
  }

  #pool(tls: TlsMaterial): Pools {
    const key = [tls.ca, tls.cert, tls.key, tls.servername, tls.rejectUnauthorized].map(String).join('|');
    if (this.#pools?.key === key) return this.#pools;
    // Rotated certificates get new pools. What is under way in the old ones ends in peace, and their idle connections run out.
    const base = { ...tls, keepAlive: true, keepAliveMsecs: PROBE_AFTER_MS };
    const make = (options: https.AgentOptions): http.Agent =>
      this.#base.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
    this.#pools = {
      key,
      requests: make({ ...base, timeout: IDLE_MS, maxSockets: 64, scheduling: 'lifo' }),
      streams: make(base),
    };
    return this.#pools;
  }
}

function send(url: URL, options: https.RequestOptions, body: Buffer | undefined): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).request(url, options, resolve);
    request.on('socket', (socket) => socket.setKeepAlive(true, PROBE_AFTER_MS));
    request.on('error', (err) => reject(Object.assign(err, { reusedSocket: request.reusedSocket })));
    request.end(body);
  });
}

const isStaleConnection = (err: unknown): boolean => {
  const { code, reusedSocket } = err as { code?: string; reusedSocket?: boolean };
  return reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE');
};

function connectionError(err: unknown, what: string): KvError {
  return new KvError('Unavailable', `${what}: no answer from the API server`, { cause: err });
}

const flat = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]));

function toStream(response: http.IncomingMessage, what: string): TransportStream {
  return {
    status: response.statusCode ?? 0,
    headers: flat(response.headers),
    lines: linesOf(response, what),
    close: () => void response.destroy(),
  };
}

async function* linesOf(response: http.IncomingMessage, what: string): AsyncGenerator<readonly string[]> {
  const splitter = new LineSplitter();
  try {
    for await (const chunk of response) {
      const lines = splitter.push(chunk as Buffer);
      if (lines.length > 0) yield lines;
    }
  } catch (err) {
    throw new KvError('Unavailable', `${what}: the stream broke`, { cause: err });
  }
  const rest = splitter.end();
  if (rest !== '') yield [rest];
}
