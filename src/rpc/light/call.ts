// Unary gRPC calls over a unix socket by Node's own HTTP/2, for processes that must stay small. Gives the answer's bytes and trailing headers;
// errors are the KvErrors the full client (../channel.ts) gives. Never retries.
import type { Buffer } from 'node:buffer';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { systemClock, withDeadline } from '../../base/clock.js';
import { type ErrorCode, isKvError, KvError } from '../../base/errors.js';
import { Body, framed, type Headers, MOST_BYTES, SESSION_MB } from './frame.js';
import { http2 } from './http2.js';

export interface CallTarget {
  readonly service: string;
  readonly method: string;
  readonly deadlineMs: number;
  /** Of the answer; as much as the full client takes where nothing is said. */
  readonly mostBytes?: number;
}

export interface LightAnswer {
  readonly message: Buffer;
  readonly trailer: Headers;
}

const STATUS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  '1': ['LauncherUnreachable', 'the call was cancelled'],
  '4': ['Timeout', 'there was no answer in time'],
  '12': ['NotImplemented', 'the peer does not know this call; it runs another version'],
  '14': ['LauncherUnreachable', 'the peer is going away'],
};

function failureOf(where: string, headers: Headers): KvError | undefined {
  const status = headers['grpc-status'];
  if (status === '0') return undefined;
  if (status === undefined) return new KvError('LauncherUnreachable', `${where}: the peer hung up without an answer`);
  const [code, words] = STATUS[status] ?? ['Internal', 'it failed'];
  const details = headers['grpc-message'];
  return new KvError(code, `${where}: ${words}${details === undefined ? '' : ` (${decoded(details)})`}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not encoded as it should be: readable all the same.
    return text;
  }
}

const requestHeaders = ({ service, method, deadlineMs }: CallTarget): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': `/${service}/${method}`,
  'content-type': 'application/grpc',
  'grpc-timeout': `${Math.ceil(deadlineMs)}m`,
  te: 'trailers',
});

interface Link {
  readonly session: ClientHttp2Session;
  /** The server has said how many calls it takes at a time: more than that wait here, where it would refuse them. */
  readonly greeted: Promise<void>;
}

function connectTo(socketPath: string): Link {
  const session = http2().connect('http://localhost', { createConnection: () => connectSocket(socketPath), maxSessionMemory: SESSION_MB });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  session.once('remoteSettings', () => resolve());
  session.once('error', reject);
  session.once('close', () => reject(new Error('the peer hung up')));
  // Each call is told by its own stream, or waits for the greeting.
  session.on('error', () => undefined);
  promise.catch(() => undefined);
  // An idle connection keeps no process alive.
  session.unref();
  return { session, greeted: promise };
}

const MEBIBYTE = 1024 * 1024;

interface UnderWay {
  stream?: ClientHttp2Stream;
  isLate?: boolean;
}

/** A connection that is made when it is needed, and again when it was lost. */
export class LightChannel {
  readonly #socketPath: string;
  #link: Link | undefined;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  async call(target: CallTarget, message: Buffer): Promise<LightAnswer> {
    const { method, deadlineMs } = target;
    const underWay: UnderWay = {};
    const late = (): KvError => {
      const err = new KvError('Timeout', `${method}: no answer on ${this.#socketPath} within ${deadlineMs / 1000} s`);
      underWay.stream?.destroy(err);
      // One that is still to begin need not.
      underWay.isLate = true;
      return err;
    };
    try {
      return await withDeadline(systemClock, deadlineMs, this.#exchange(target, message, underWay), late);
    } catch (err) {
      if (isKvError(err)) throw err;
      // A connection that fails also cancels the stream, which names the failure as its cause.
      const cause = (err as Error).cause ?? err;
      const what = underWay.stream ? 'the peer hung up before it had answered' : 'nobody answers';
      throw new KvError('LauncherUnreachable', `${method}: ${what} on ${this.#socketPath}`, { cause });
    }
  }

  async #exchange(target: CallTarget, message: Buffer, underWay: UnderWay): Promise<LightAnswer> {
    const { session, greeted } = this.#open();
    await greeted;
    if (underWay.isLate) throw new Error('the call was given up before it began');
    underWay.stream = session.request(requestHeaders(target));
    return exchange(underWay.stream, `${target.method} on ${this.#socketPath}`, message, target.mostBytes);
  }

  #open(): Link {
    const known = this.#link;
    if (known && !known.session.closed && !known.session.destroyed) return known;
    this.#link = connectTo(this.#socketPath);
    return this.#link;
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#link?.session.destroy();
    this.#link = undefined;
  }
}

function exchange(stream: ClientHttp2Stream, where: string, message: Buffer, mostBytes = MOST_BYTES): Promise<LightAnswer> {
  return new Promise((resolve, reject) => {
    const body = new Body(mostBytes);
    let trailer: Headers = {};
    const keep = (headers: IncomingHttpHeaders): void => {
      // The last ones count: a call that fails at once has its status among the first.
      trailer = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    };
    stream.on('response', keep);
    stream.on('trailers', keep);
    stream.on('data', (chunk: Buffer) => {
      if (!body.add(chunk)) stream.destroy(new KvError('Invalid', `${where}: the answer is larger than ${mostBytes / MEBIBYTE} MiB`));
    });
    stream.on('error', reject);
    stream.on('aborted', () => reject(new Error('the peer took the call back')));
    stream.on('end', () => {
      try {
        const failure = failureOf(where, trailer);
        if (failure) reject(failure);
        else resolve({ message: body.message(), trailer });
      } catch (err) {
        reject(err);
      }
    });
    stream.end(framed(message));
  });
}

/** For processes that make one call and end. */
export async function callOnce(target: CallTarget & { readonly socketPath: string }, message: Buffer): Promise<LightAnswer> {
  const channel = new LightChannel(target.socketPath);
  try {
    return await channel.call(target, message);
  } finally {
    channel.close();
  }
}
