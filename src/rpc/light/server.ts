// A gRPC server of unary calls on a unix socket without the gRPC library, for processes that must stay small: launchers, of which a node runs one for
// each VM, and hook sidecars. Speaks no TLS, no compression and no streams, and trusts whoever may open its socket. Counterpart of ./call.ts.
import type { Buffer } from 'node:buffer';
import { createServer } from 'node:net';
import { KvError, messageOf } from '../../base/errors.js';
import { Body, framed } from './frame.js';
import { H2Connection, type H2Stream, type Headers } from './h2.js';

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

const OK = 0;
const UNKNOWN = 2;
const TOO_LARGE = 8;
const UNIMPLEMENTED = 12;

const HEADERS = { ':status': '200', 'content-type': 'application/grpc' };
/** The letters of grpc-timeout. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

export function patienceOf(timeout: string | undefined): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout ?? '') ?? [];
  return digits === '' ? undefined : Number(digits) * (UNITS[unit] ?? 0);
}

const statusTrailer = (status: number, message: string): Headers => ({
  'grpc-status': String(status),
  ...(message === '' ? {} : { 'grpc-message': encodeURIComponent(message) }),
});

/** A call that fails has its status among the headers. */
const refuse = (stream: H2Stream, status: number, message: string): void =>
  stream.open({ ...HEADERS, ...statusTrailer(status, message) }, true);

function answer(stream: H2Stream, reply: Buffer | LightAnswer): void {
  const { message, trailer } = 'message' in reply ? reply : { message: reply, trailer: {} };
  stream.open(HEADERS);
  stream.finish(framed(message), { ...trailer, ...statusTrailer(OK, '') });
}

async function run(stream: H2Stream, handler: LightHandler, body: Body, call: LightCall): Promise<void> {
  try {
    answer(stream, await handler(body.message(), call));
  } catch (err) {
    refuse(stream, UNKNOWN, messageOf(err));
  }
}

function serve(handlers: Readonly<Record<string, LightHandler>>, stream: H2Stream): void {
  const body = new Body();
  let [path, timeout]: [string, string | undefined] = ['', undefined];
  stream.listener = {
    headers: (headers) => {
      // Trailing headers of a request say nothing.
      if (path === '') [path, timeout] = [headers[':path'] ?? '', headers['grpc-timeout']];
    },
    data: (chunk) => {
      if (body.add(chunk)) return;
      stream.listener = undefined;
      refuse(stream, TOO_LARGE, 'the request is too large');
    },
    end: () => {
      const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
      if (handler) void run(stream, handler, body, { patienceMs: patienceOf(timeout) });
      else refuse(stream, UNIMPLEMENTED, `there is no method ${path}`);
    },
    // The caller hung up: nobody is left to be told.
    broken: () => undefined,
  };
}

/** `handlers` by path: "/package.Service/Method". Fails when the path is taken. */
export function serveLight(socketPath: string, handlers: Readonly<Record<string, LightHandler>>): Promise<LightServer> {
  const connections = new Set<H2Connection>();
  const server = createServer((socket) => {
    const connection: H2Connection = new H2Connection(socket, 'server', {
      stream: (stream) => serve(handlers, stream),
      // A peer that breaks the rules was told; there is nobody else who could act on it.
      closed: () => connections.delete(connection),
    });
    connections.add(connection);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new KvError('Internal', `cannot listen on ${socketPath}`, { cause })));
    server.listen(socketPath, () =>
      resolve({
        close: () =>
          new Promise((done) => {
            for (const connection of [...connections]) connection.destroy();
            server.close(() => done());
          }),
      }),
    );
  });
}
