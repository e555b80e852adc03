// One request and its answer on a connection of ./h2.ts: what waits to be sent, how much of it the peer allows, and who hears what comes.
import type { Buffer } from 'node:buffer';

export type Headers = Readonly<Record<string, string>>;

export interface StreamListener {
  headers(headers: Headers): void;
  data(chunk: Buffer): void;
  /** The peer has sent everything. */
  end(): void;
  /** It will not: it took the stream back, or the connection is gone. */
  broken(cause: Error): void;
}

/** Data is sent in pieces as the peer allows; headers go out whole, in their turn. */
type Waiting = { readonly kind: 'data'; bytes: Buffer; readonly last: boolean } | { readonly kind: 'headers'; readonly headers: Headers };

/** The connection as a stream needs it. */
export interface StreamOwner {
  /** How many bytes of data may go out now, on this connection. */
  allowance(): number;
  writeData(stream: number, bytes: Buffer, last: boolean): void;
  writeHeaders(stream: number, headers: Headers, last: boolean): void;
  writeReset(stream: number, code: number): void;
  forget(stream: H2Stream): void;
}

export class H2Stream {
  readonly id: number;
  listener: StreamListener | undefined;
  readonly #owner: StreamOwner;
  readonly #waiting: Waiting[] = [];
  #window: number;
  #hasSent = false;
  #hasGot = false;
  /** Reset, or its connection is gone: nothing more goes out. */
  #isBroken = false;

  constructor(id: number, owner: StreamOwner, window: number) {
    this.id = id;
    this.#owner = owner;
    this.#window = window;
  }

  /** Headers at the beginning; `last` when nothing follows. */
  open(headers: Headers, last = false): void {
    if (this.#isBroken) return;
    this.#owner.writeHeaders(this.id, headers, last);
    if (last) this.#sent();
  }

  /** Data, and the end of the stream: with trailing headers, or without. */
  finish(bytes: Buffer, trailers?: Headers): void {
    if (this.#isBroken) return;
    this.#waiting.push({ kind: 'data', bytes, last: trailers === undefined });
    if (trailers) this.#waiting.push({ kind: 'headers', headers: trailers });
    this.flush();
  }

  widen(bytes: number): void {
    this.#window += bytes;
    this.flush();
  }

  flush(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (next.kind === 'headers') this.#owner.writeHeaders(this.id, next.headers, true);
      else if (!this.#sendPiece(next)) return;
      const isLast = next.kind === 'headers' || next.last;
      this.#waiting.shift();
      if (isLast) this.#sent();
    }
  }

  /** Whether all of it is out. */
  #sendPiece(next: Waiting & { kind: 'data' }): boolean {
    for (;;) {
      const length = Math.min(next.bytes.length, this.#window, this.#owner.allowance());
      if (length <= 0 && next.bytes.length > 0) return false;
      const isAll = length >= next.bytes.length;
      this.#window -= length;
      this.#owner.writeData(this.id, next.bytes.subarray(0, length), isAll && next.last);
      if (isAll) return true;
      next.bytes = next.bytes.subarray(length);
    }
  }

  /** What came from the peer was the last. */
  got(): void {
    this.#hasGot = true;
    this.listener?.end();
    this.#forgetIfDone();
  }

  #sent(): void {
    this.#hasSent = true;
    this.#forgetIfDone();
  }

  #forgetIfDone(): void {
    if (this.#hasSent && this.#hasGot) this.#owner.forget(this);
  }

  /** Takes the stream back; nothing is heard of it any more. */
  reset(code: number): void {
    this.listener = undefined;
    this.#owner.writeReset(this.id, code);
    this.#drop();
  }

  break(cause: Error): void {
    this.#drop();
    if (!this.#hasGot) this.listener?.broken(cause);
  }

  #drop(): void {
    this.#isBroken = true;
    this.#waiting.length = 0;
    this.#owner.forget(this);
  }
}
