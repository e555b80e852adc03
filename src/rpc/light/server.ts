// A gRPC server of unary calls on a unix socket by Node's own HTTP/2, for processes that must stay small: a hook sidecar has 64 MB in all.
// Speaks no TLS, no compression and no streams, and trusts whoever may open its socket. Counterpart of ./call.ts.
import { Buffer } from 'node:buffer';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { KvError, messageOf } from '../../base/errors.js';
import { framed, unframed } from './frame.js';

/** The request's bytes in, the answer's bytes out. */
export type LightHandler = (message: Buffer) => Promise<Buffer>;

export interface LightServer {
  /** Ends running calls and takes the socket away. */
  close(): Promise<void>;
}

const OK = 0;
const UNKNOWN = 2;
const UNIMPLEMENTED = 12;

const statusTrailer = (status: number, message: string): Record<string, string> => ({
  'grpc-status': String(status),
  ...(message === '' ? {} : { 'grpc-message': encodeURIComponent(message) }),
});

/** A call that fails has its status among the headers. */
function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...statusTrailer(status, message) }, { endStream: true });
}

function answer(stream: ServerHttp2Stream, message: Buffer): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(statusTrailer(OK, '')));
  stream.end(framed(message));
}

async function read(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return unframed(Buffer.concat(chunks));
}

async function serve(handlers: Readonly<Record<string, LightHandler>>, stream: ServerHttp2Stream, path: string): Promise<void> {
  const handler = handlers[path];
  if (!handler) return refuse(stream, UNIMPLEMENTED, `there is no method ${path}`);
  try {
    answer(stream, await handler(await read(stream)));
  } catch (err) {
    refuse(stream, UNKNOWN, messageOf(err));
  }
}

/** `handlers` by path: "/package.Service/Method". Fails when the path is taken. */
export function serveLight(socketPath: string, handlers: Readonly<Record<string, LightHandler>>): Promise<LightServer> {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    // The caller hung up: nobody is left to be told.
    stream.on('error', () => undefined);
    void serve(handlers, stream, String(headers[':path']));
  });
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new KvError('Internal', `cannot listen on ${socketPath}`, { cause })));
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
