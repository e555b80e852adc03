// A gRPC server of unary calls on a unix socket by Node's own HTTP/2, for processes that must stay small: launchers, of which a node runs one for
// each VM, and hook sidecars. Speaks no TLS, no compression and no streams, and trusts whoever may open its socket. Counterpart of ./call.ts.
import type { Buffer } from 'node:buffer';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { KvError, messageOf } from '../../base/errors.js';
import { Body, framed, type Headers, SESSION_MB } from './frame.js';
import { http2 } from './http2.js';

/** How long the caller waits for the answer; undefined when it does not say. */
export interface LightCall {
  readonly patienceMs: number | undefined;
}

export interface LightAnswer {
  readonly message: Buffer;
  readonly trailer: Headers;
}

/** The request's bytes in, the answer's bytes out, with trailing headers where there are any. */
export type LightHandler = (message: Buffer, call: LightCall) => Promise<Buffer | LightAnswer>;

export interface LightServer {
  /** Ends running calls and takes the socket away. */
  close(): Promise<void>;
}

/** Of one connection at a time. */
const MOST_CALLS = 100;

const OK = 0;
const UNKNOWN = 2;
const TOO_LARGE = 8;
const UNIMPLEMENTED = 12;

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
/** The letters of grpc-timeout. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

export function patienceOf(timeout: string | undefined): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout ?? '') ?? [];
  return digits === '' ? undefined : Number(digits) * (UNITS[unit] ?? 0);
}

const statusTrailer = (status: number, message: string): Headers => ({
  'grpc-status': String(status),
  // Words of a guest may be cut in the middle of a character.
  ...(message === '' ? {} : { 'grpc-message': encodeURIComponent(message.toWellFormed()) }),
});

/** A call that fails has its status among the headers. */
function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (!isOpen(stream)) return;
  stream.respond({ ...HEADERS, ...statusTrailer(status, message) }, { endStream: true });
}

/** The caller may have hung up meanwhile. */
const isOpen = (stream: ServerHttp2Stream): boolean => !stream.destroyed && !stream.closed && !stream.headersSent;

function answer(stream: ServerHttp2Stream, reply: Buffer | LightAnswer): void {
  if (!isOpen(stream)) return;
  const { message, trailer } = 'message' in reply ? reply : { message: reply, trailer: {} };
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ ...trailer, ...statusTrailer(OK, '') }));
  stream.end(framed(message));
}

/** The request's message; undefined once it is larger than anybody sends. */
async function read(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  const body = new Body();
  for await (const chunk of stream) if (!body.add(chunk as Buffer)) return undefined;
  return body.message();
}

async function serve(handlers: Readonly<Record<string, LightHandler>>, stream: ServerHttp2Stream, headers: Headers): Promise<void> {
  const { ':path': path = '', 'grpc-timeout': timeout } = headers;
  const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
  if (!handler) return refuse(stream, UNIMPLEMENTED, `there is no method ${path}`);
  try {
    const message = await read(stream);
    if (message === undefined) return refuse(stream, TOO_LARGE, 'the request is too large');
    answer(stream, await handler(message, { patienceMs: patienceOf(timeout) }));
  } catch (err) {
    refuse(stream, UNKNOWN, messageOf(err));
  }
}

/** `handlers` by path: "/package.Service/Method". Fails when the path is taken. */
export function serveLight(socketPath: string, handlers: Readonly<Record<string, LightHandler>>): Promise<LightServer> {
  const sessions = new Set<ServerHttp2Session>();
  const server = http2().createServer({ settings: { maxConcurrentStreams: MOST_CALLS }, maxSessionMemory: SESSION_MB });
  server.on('session', (session) => {
    sessions.add(session);
    // A peer that breaks the rules loses its connection; there is nobody else who could act on it.
    session.on('error', () => undefined);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    // The caller hung up: nobody is left to be told.
    stream.on('error', () => undefined);
    void serve(handlers, stream, headers as Headers);
  });
  return new Promise((resolve, reject) => {
    // Later ones concern one connection that could not be taken; without a listener they would end the process, and a launcher its guest.
    server.on('error', (cause) => reject(new KvError('Internal', `cannot listen on ${socketPath}`, { cause })));
    server.listen(socketPath, () =>
      resolve({
        close: () =>
          new Promise((done) => {
            for (const session of sessions) session.destroy();
            server.close(() => done());
          }),
      }),
    );
  });
}
