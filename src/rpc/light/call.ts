// Unary gRPC calls over a unix socket without the gRPC library, for processes that must stay small. Gives the answer's bytes and trailing headers;
// errors are the KvErrors the full client (../channel.ts) gives. Never retries.
import type { Buffer } from 'node:buffer';
import { connect } from 'node:net';
import { type ErrorCode, KvError } from '../../base/errors.js';
import { Body, framed } from './frame.js';
import { H2Connection, type Headers } from './h2.js';

export interface CallTarget {
  readonly service: string;
  readonly method: string;
  readonly deadlineMs: number;
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

const requestHeaders = ({ service, method, deadlineMs }: CallTarget): Headers => ({
  ':method': 'POST',
  ':scheme': 'http',
  ':authority': 'localhost',
  ':path': `/${service}/${method}`,
  'content-type': 'application/grpc',
  'grpc-timeout': `${Math.ceil(deadlineMs)}m`,
  te: 'trailers',
});

/** A connection that is made when it is needed, and again when it was lost. */
export class LightChannel {
  readonly #socketPath: string;
  #connection: H2Connection | undefined;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  call(target: CallTarget, message: Buffer): Promise<LightAnswer> {
    const { method, deadlineMs } = target;
    const where = `${method} on ${this.#socketPath}`;
    return new Promise((resolve, reject) => {
      let takeBack = (): void => undefined;
      const timer = setTimeout(() => {
        takeBack();
        reject(new KvError('Timeout', `${method}: no answer on ${this.#socketPath} within ${deadlineMs / 1000} s`));
      }, deadlineMs);
      const body = new Body();
      let trailer: Headers = {};
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        try {
          end();
        } catch (err) {
          reject(err);
        }
      };
      takeBack = this.#open().request(
        {
          // The last ones count: a call that fails at once has its status among the first.
          headers: (headers) => {
            trailer = headers;
          },
          data: (chunk) => {
            if (body.add(chunk)) return;
            takeBack();
            settle(() => reject(new KvError('Invalid', `${where}: the answer has no end`)));
          },
          end: () =>
            settle(() => {
              const failure = failureOf(where, trailer);
              if (failure) reject(failure);
              else resolve({ message: body.message(), trailer });
            }),
          broken: (cause) =>
            settle(() => reject(new KvError('LauncherUnreachable', `${method}: nobody answers on ${this.#socketPath}`, { cause }))),
        },
        (stream) => {
          stream.open(requestHeaders(target));
          stream.finish(framed(message));
        },
      );
    });
  }

  #open(): H2Connection {
    if (this.#connection?.isOpen) return this.#connection;
    const connection: H2Connection = new H2Connection(connect(this.#socketPath), 'client', {
      closed: () => {
        if (this.#connection === connection) this.#connection = undefined;
      },
    });
    this.#connection = connection;
    return connection;
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }
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
