// The wire below the typed client: one request, or one stream of lines. HTTP in a process, a simulated API server in tests.
// A transport knows connections and credentials; it knows neither kinds nor retries.

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface TransportRequest {
  readonly method: HttpMethod;
  /** Below the server's root, with query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Until the answer is complete (request) or begins (stream). */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TransportStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Lines in batches as they arrive. Ends when the server ends the answer; throws KvError Unavailable when the connection breaks. */
  readonly lines: AsyncIterable<readonly string[]>;
  close(): void;
}

/** Every status code is an answer, not an error. Throws KvError Unavailable (no connection) or Timeout. */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  stream(request: TransportRequest): Promise<TransportStream>;
  /** host:port, for metrics and messages. */
  readonly host: string;
  close(): void;
}
