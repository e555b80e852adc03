// One gRPC call over a unix socket by Node's own HTTP/2, for processes that live for one call. Gives the answer's bytes and trailing
// headers; errors are the KvErrors the full client (../channel.ts) gives. The process that calls it serves nothing and never retries.
import { Buffer } from 'node:buffer';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { type ErrorCode, KvError } from '../../base/errors.js';
import { framed, unframed } from './frame.js';

export interface CallTarget {
  readonly socketPath: string;
  readonly service: string;
  readonly method: string;
  readonly deadlineMs: number;
}

export interface LightAnswer {
  readonly message: Buffer;
  readonly trailer: IncomingHttpHeaders;
}

// As much as the full client takes; a peer that sends without end must not fill our memory.
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Keeps the chunks of a body; false once there are more than anybody sends. */
function collector(): { add(chunk: Buffer): boolean; whole(): Buffer } {
  const chunks: Buffer[] = [];
  let total = 0;
  return {
    add(chunk) {
      chunks.push(chunk);
      total += chunk.length;
      return total <= MAX_ANSWER_BYTES;
    },
    whole: () => Buffer.concat(chunks),
  };
}

const STATUS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  '1': ['LauncherUnreachable', 'the call was cancelled'],
  '4': ['Timeout', 'there was no answer in time'],
  '12': ['NotImplemented', 'the peer does not know this call; it runs another version'],
  '14': ['LauncherUnreachable', 'the peer is going away'],
};

const unreachable = ({ method, socketPath }: CallTarget, cause: unknown): KvError =>
  new KvError('LauncherUnreachable', `${method}: nobody answers on ${socketPath}`, { cause });

function failureOf({ method, socketPath }: CallTarget, headers: IncomingHttpHeaders): KvError | undefined {
  const status = headers['grpc-status'];
  if (status === '0') return undefined;
  if (status === undefined) return new KvError('LauncherUnreachable', `${method}: the peer on ${socketPath} hung up without an answer`);
  const [code, words] = STATUS[String(status)] ?? ['Internal', 'it failed'];
  const details = headers['grpc-message'];
  return new KvError(
    code,
    `${method} on ${socketPath}: ${words}${details === undefined ? '' : ` (${decodeURIComponent(String(details))})`}`,
  );
}

function exchange(session: ClientHttp2Session, target: CallTarget, message: Buffer): Promise<LightAnswer> {
  const { service, method, deadlineMs } = target;
  return new Promise((resolve, reject) => {
    session.on('error', (err) => reject(unreachable(target, err)));
    session.on('close', () => reject(unreachable(target, undefined)));
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${service}/${method}`,
      'content-type': 'application/grpc',
      'grpc-timeout': `${deadlineMs}m`,
      te: 'trailers',
    });
    const body = collector();
    let trailer: IncomingHttpHeaders = {};
    // A connection that fails also cancels the stream, which names the failure as its cause.
    stream.on('error', (err) => reject(unreachable(target, err.cause ?? err)));
    // A call that fails at once has its status among the headers.
    stream.on('response', (headers) => {
      trailer = headers;
    });
    stream.on('trailers', (headers) => {
      trailer = headers;
    });
    stream.on('data', (chunk: Buffer) => {
      if (!body.add(chunk)) reject(new KvError('Invalid', `${method}: the answer on ${target.socketPath} has no end`));
    });
    stream.on('end', () => {
      const failure = failureOf(target, trailer);
      if (failure) reject(failure);
      else resolve({ message: unframed(body.whole()), trailer });
    });
    stream.end(framed(message));
  });
}

function deadline({ method, socketPath, deadlineMs }: CallTarget): { readonly passed: Promise<never>; clear(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new KvError('Timeout', `${method}: no answer on ${socketPath} within ${deadlineMs / 1000} s`)),
    deadlineMs,
  );
  return { passed: promise, clear: () => clearTimeout(timer) };
}

export async function callOnce(target: CallTarget, message: Buffer): Promise<LightAnswer> {
  const session = connect('http://localhost', { createConnection: () => connectSocket(target.socketPath) });
  const { passed, clear } = deadline(target);
  try {
    return await Promise.race([exchange(session, target, message), passed]);
  } finally {
    clear();
    session.destroy();
  }
}
