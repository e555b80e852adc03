// Wraps any Transport, simulated or real, and misbehaves on command: the same faults can be played against both.
import { KvError } from '../../src/base/errors.js';
import type { Transport, TransportRequest, TransportResponse, TransportStream } from '../../src/runtime/transport.js';

interface OpenStream {
  readonly cut: (err?: KvError) => void;
  readonly goSilent: () => void;
  readonly inject: (line: string) => void;
}

const GONE = JSON.stringify({
  type: 'ERROR',
  object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 410, reason: 'Expired', message: 'too old resource version' },
});

export class FaultyTransport implements Transport {
  readonly host: string;
  /** `METHOD path` of each request, streams as `WATCH path`. */
  readonly log: string[] = [];
  readonly #inner: Transport;
  readonly #streams = new Set<OpenStream>();
  #failures = 0;
  #failure: 'refused' | '500' | '429' = 'refused';
  #blocked = false;

  constructor(inner: Transport) {
    this.#inner = inner;
    this.host = inner.host;
  }

  /** The next `count` requests and streams fail. */
  failNext(count: number, how: 'refused' | '500' | '429' = 'refused'): void {
    this.#failures = count;
    this.#failure = how;
  }

  /** No connection at all until block(false). */
  block(blocked = true): void {
    this.#blocked = blocked;
  }

  /** All open streams break. */
  dropStreams(): void {
    for (const stream of this.#streams) stream.cut(new KvError('Unavailable', 'connection reset'));
  }

  /** All open streams stay open and say nothing any more: a half-open connection. */
  silenceStreams(): void {
    for (const stream of this.#streams) stream.goSilent();
  }

  /** All open streams are told that their version is gone, and end. */
  expireStreams(): void {
    for (const stream of this.#streams) {
      stream.inject(GONE);
      stream.cut();
    }
  }

  count(pattern: RegExp): number {
    return this.log.filter((line) => pattern.test(line)).length;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    this.log.push(`${request.method} ${request.path}`);
    const fault = this.#fault();
    return fault ?? (await this.#inner.request(request));
  }

  async stream(request: TransportRequest): Promise<TransportStream> {
    this.log.push(`WATCH ${request.path}`);
    const fault = this.#fault();
    if (fault) return { status: fault.status, headers: fault.headers, lines: once([fault.body]), close: () => undefined };
    return this.#wrap(await this.#inner.stream(request), request.signal);
  }

  close(): void {
    this.#inner.close();
  }

  #fault(): TransportResponse | undefined {
    if (this.#blocked) throw new KvError('Unavailable', 'connect ECONNREFUSED');
    if (this.#failures <= 0) return undefined;
    this.#failures--;
    if (this.#failure === 'refused') throw new KvError('Unavailable', 'connect ECONNREFUSED');
    const status = Number(this.#failure);
    return { status, headers: status === 429 ? { 'retry-after': '1' } : {}, body: `simulated ${status}` };
  }

  #wrap(inner: TransportStream, signal: AbortSignal | undefined): TransportStream {
    const queue: (readonly string[])[] = [];
    let end: { err?: KvError } | undefined;
    let silent = false;
    let wake: () => void = () => undefined;
    const finish = (err?: KvError): void => {
      end ??= err ? { err } : {};
      wake();
    };
    const handle: OpenStream = {
      cut: (err) => {
        silent = true;
        finish(err);
        inner.close();
      },
      goSilent: () => {
        silent = true;
      },
      inject: (line) => {
        queue.push([line]);
        wake();
      },
    };
    this.#streams.add(handle);
    const pump = async (): Promise<void> => {
      try {
        for await (const batch of inner.lines) {
          if (!silent) queue.push(batch);
          wake();
        }
        if (!silent) finish();
      } catch (err) {
        if (!silent) finish(err as KvError);
      }
    };
    void pump();
    signal?.addEventListener('abort', () => finish(new KvError('Unavailable', 'aborted')));
    const streams = this.#streams;
    async function* lines(): AsyncGenerator<readonly string[]> {
      try {
        for (;;) {
          const batch = queue.shift();
          if (batch) yield batch;
          else if (end?.err) throw end.err;
          else if (end) return;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        streams.delete(handle);
      }
    }
    return { status: inner.status, headers: inner.headers, lines: lines(), close: () => inner.close() };
  }
}

async function* once(lines: readonly string[]): AsyncGenerator<readonly string[]> {
  yield lines;
}
