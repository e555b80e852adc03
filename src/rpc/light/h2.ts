// One HTTP/2 connection (RFC 9113) over a socket, for either side, as far as gRPC needs it. Node's own brings TLS and HTTP/1 along, which cost every
// launcher 8 MB. No priorities, no push, no TLS. A peer that breaks the rules loses its connection; limits keep it from filling our memory.
import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { KvError } from '../../base/errors.js';
import {
  broken,
  CODE,
  FLAG,
  FRAME,
  FRAME_BYTES,
  type Frame,
  FrameReader,
  frame,
  number32,
  PREFACE,
  readNumber32,
  readSettings,
  SETTING,
  settingsPayload,
  unpadded,
} from './h2-frames.js';
import { H2Stream, type Headers, type StreamListener, type StreamOwner } from './h2-stream.js';
import { HpackReader, writeFields } from './hpack.js';

export type { H2Stream, Headers, StreamListener } from './h2-stream.js';

const DEFAULT_WINDOW = 65_535;
/** So much may the peer send before it hears from us. */
const OUR_WINDOW = 1024 * 1024;
const LARGEST_WINDOW = 2 ** 31 - 1;
const OUR_STREAMS = 100;
const MOST_HEADER_BYTES = 64 * 1024;
/** A peer that asks and does not read what it is told. */
const MOST_UNREAD_BYTES = 128 * 1024 * 1024;

export interface ConnectionListener {
  /** The peer begins a request; only on a server. Sets the stream's listener. */
  stream?(stream: H2Stream): void;
  /** Told once. Without a cause the connection ended in peace. */
  closed(cause?: Error): void;
}

interface WaitingRequest {
  readonly listener: StreamListener;
  readonly begin: (stream: H2Stream) => void;
  stream: H2Stream | undefined;
}

interface HeaderBlock {
  readonly stream: number;
  readonly isLast: boolean;
  parts: Buffer;
}

export class H2Connection {
  readonly #socket: Socket;
  readonly #isServer: boolean;
  readonly #listener: ConnectionListener;
  readonly #frames: FrameReader;
  readonly #fields = new HpackReader();
  readonly #streams = new Map<number, H2Stream>();
  #block: HeaderBlock | undefined;
  /** What the peer lets us send: on the connection, and on a new stream. */
  #window = DEFAULT_WINDOW;
  #streamWindow = DEFAULT_WINDOW;
  #peerFrameBytes = FRAME_BYTES;
  /** How many requests at a time. One until the server has said it: more might be refused. */
  #peerStreams = 1;
  readonly #requests: WaitingRequest[] = [];
  #hasSettings = false;
  #nextId = 1;
  #lastPeerId = 0;
  #isGoingAway = false;
  #isClosed = false;

  constructor(socket: Socket, side: 'client' | 'server', listener: ConnectionListener) {
    this.#socket = socket;
    this.#isServer = side === 'server';
    this.#listener = listener;
    this.#frames = new FrameReader(this.#isServer);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.once('error', (err) => this.destroy(err));
    socket.once('close', () => this.destroy());
    this.#greet();
  }

  #greet(): void {
    if (!this.#isServer) this.#socket.write(PREFACE);
    const settings = settingsPayload([
      this.#isServer ? [SETTING.maxStreams, OUR_STREAMS] : [SETTING.enablePush, 0],
      [SETTING.windowSize, OUR_WINDOW],
    ]);
    this.#write(FRAME.settings, 0, 0, settings);
    this.#write(FRAME.windowUpdate, 0, 0, number32(OUR_WINDOW - DEFAULT_WINDOW));
  }

  /** Whether it takes another request. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#isGoingAway;
  }

  /** A new stream to the server, begun when the server takes one more. The returned function takes it back, whatever came of it. */
  request(listener: StreamListener, begin: (stream: H2Stream) => void): () => void {
    const waiting: WaitingRequest = { listener, begin, stream: undefined };
    this.#requests.push(waiting);
    this.#beginRequests();
    return () => {
      const at = this.#requests.indexOf(waiting);
      if (at >= 0) this.#requests.splice(at, 1);
      waiting.stream?.reset(CODE.cancel);
    };
  }

  #beginRequests(): void {
    while (this.isOpen && this.#streams.size < this.#peerStreams) {
      const next = this.#requests.shift();
      if (!next) return;
      const stream = new H2Stream(this.#nextId, this.#owner, this.#streamWindow);
      this.#nextId += 2;
      this.#streams.set(stream.id, stream);
      stream.listener = next.listener;
      next.stream = stream;
      next.begin(stream);
    }
  }

  readonly #owner: StreamOwner = {
    allowance: () => Math.min(this.#window, this.#peerFrameBytes),
    writeData: (stream, bytes, last) => {
      this.#window -= bytes.length;
      this.#write(FRAME.data, last ? FLAG.endStream : 0, stream, bytes);
    },
    writeHeaders: (stream, headers, last) => this.#writeHeaders(stream, headers, last),
    writeReset: (stream, code) => this.#write(FRAME.reset, 0, stream, number32(code)),
    forget: ({ id }) => {
      if (!this.#streams.delete(id)) return;
      if (this.#isGoingAway && this.#streams.size === 0) this.destroy();
      else this.#beginRequests();
    },
  };

  #writeHeaders(stream: number, headers: Headers, last: boolean): void {
    let block = writeFields(headers);
    let type: number = FRAME.headers;
    do {
      const part = block.subarray(0, this.#peerFrameBytes);
      block = block.subarray(part.length);
      const isFirst = type === FRAME.headers;
      this.#write(type, (block.length === 0 ? FLAG.endHeaders : 0) | (isFirst && last ? FLAG.endStream : 0), stream, part);
      type = FRAME.continuation;
    } while (block.length > 0);
  }

  #write(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.#isClosed) return;
    this.#socket.write(frame(type, flags, stream, payload));
    if (this.#socket.writableLength > MOST_UNREAD_BYTES) this.destroy(broken('it reads nothing of what it asked for'));
  }

  #take(chunk: Buffer): void {
    try {
      for (const each of this.#frames.push(chunk)) {
        if (this.#isClosed) return;
        this.#handle(each);
      }
    } catch (err) {
      this.#fail(CODE.protocol, err as Error);
    }
  }

  /** Says goodbye with a reason. */
  #fail(code: number, cause: Error): void {
    if (this.#isClosed) return;
    this.#socket.end(frame(FRAME.goAway, 0, 0, Buffer.concat([number32(this.#lastPeerId), number32(code)])));
    this.#end(cause);
    this.#socket.destroySoon();
  }

  #handle(each: Frame): void {
    if (this.#block && each.type !== FRAME.continuation) throw broken('something else in the middle of headers');
    // Priorities and what we do not know are passed over.
    this.#handlers[each.type]?.(each);
  }

  readonly #handlers: Readonly<Record<number, (each: Frame) => void>> = {
    [FRAME.data]: (each) => this.#onData(each),
    [FRAME.headers]: (each) => this.#onHeaders(each),
    [FRAME.continuation]: (each) => this.#onContinuation(each),
    [FRAME.settings]: (each) => this.#onSettings(each),
    [FRAME.ping]: ({ flags, payload }) => {
      if (payload.length !== 8) throw broken('a ping of an impossible size');
      if ((flags & FLAG.ack) === 0) this.#write(FRAME.ping, FLAG.ack, 0, payload);
    },
    [FRAME.windowUpdate]: (each) => this.#onWindow(each),
    [FRAME.reset]: ({ stream, payload }) => {
      const code = readNumber32(payload);
      this.#streams.get(stream)?.break(new KvError('Unavailable', `the peer took the request back (HTTP/2 code ${code})`));
    },
    [FRAME.goAway]: () => {
      this.#isGoingAway = true;
      for (const { listener } of this.#requests.splice(0)) listener.broken(new KvError('Unavailable', 'the peer is going away'));
      if (this.#streams.size === 0) this.destroy();
    },
    [FRAME.pushPromise]: () => {
      throw broken('it pushes what nobody asked for');
    },
  };

  #onData(each: Frame): void {
    const { stream: id, payload, flags } = each;
    if (id === 0 || id > Math.max(this.#lastPeerId, this.#nextId)) throw broken('data of a request that never began');
    const isLast = (flags & FLAG.endStream) !== 0;
    // Whoever listens takes it at once, so the peer may send as much again.
    if (payload.length > 0) {
      this.#write(FRAME.windowUpdate, 0, 0, number32(payload.length));
      if (!isLast && this.#streams.has(id)) this.#write(FRAME.windowUpdate, 0, id, number32(payload.length));
    }
    const bytes = unpadded(each);
    if (bytes.length > 0) this.#streams.get(id)?.listener?.data(bytes);
    // It may have been taken back by the one who listens.
    if (isLast) this.#streams.get(id)?.got();
  }

  #onHeaders(each: Frame): void {
    if (each.stream === 0) throw broken('headers of no request');
    this.#block = { stream: each.stream, isLast: (each.flags & FLAG.endStream) !== 0, parts: unpadded(each) };
    if ((each.flags & FLAG.endHeaders) !== 0) this.#endBlock(this.#block);
  }

  #onContinuation({ stream, flags, payload }: Frame): void {
    const block = this.#block;
    if (block?.stream !== stream) throw broken('headers that go on and never began');
    block.parts = Buffer.concat([block.parts, payload]);
    if (block.parts.length > MOST_HEADER_BYTES) throw broken('headers without end');
    if ((flags & FLAG.endHeaders) !== 0) this.#endBlock(block);
  }

  #endBlock({ stream: id, isLast, parts }: HeaderBlock): void {
    this.#block = undefined;
    // Read in any case: later blocks refer to it.
    const headers = Object.fromEntries(this.#fields.read(parts));
    const stream = this.#streams.get(id) ?? this.#begin(id);
    stream?.listener?.headers(headers);
    if (isLast) stream?.got();
  }

  /** A request of the peer; undefined when it is over already or one too many. */
  #begin(id: number): H2Stream | undefined {
    if (!this.#isServer || id <= this.#lastPeerId) return undefined;
    if (id % 2 === 0) throw broken('a request with a number of ours');
    this.#lastPeerId = id;
    const stream = new H2Stream(id, this.#owner, this.#streamWindow);
    if (this.#streams.size >= OUR_STREAMS || this.#isGoingAway) {
      stream.reset(CODE.refused);
      return undefined;
    }
    this.#streams.set(id, stream);
    this.#listener.stream?.(stream);
    return stream;
  }

  #onSettings({ flags, payload }: Frame): void {
    if ((flags & FLAG.ack) !== 0) return;
    const settings = readSettings(payload);
    if (!this.#hasSettings) this.#peerStreams = Number.POSITIVE_INFINITY;
    this.#hasSettings = true;
    for (const [id, value] of settings) this.#set(id, value);
    this.#write(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));
    this.#beginRequests();
  }

  #set(id: number, value: number): void {
    if (id === SETTING.frameSize) {
      if (value < FRAME_BYTES) throw broken('frames smaller than allowed');
      this.#peerFrameBytes = Math.min(value, FRAME_BYTES);
    }
    if (id === SETTING.maxStreams) this.#peerStreams = value;
    if (id !== SETTING.windowSize) return;
    if (value > LARGEST_WINDOW) throw broken('a window larger than there is');
    const more = value - this.#streamWindow;
    this.#streamWindow = value;
    for (const stream of [...this.#streams.values()]) stream.widen(more);
  }

  #onWindow({ stream: id, payload }: Frame): void {
    const more = readNumber32(payload) % 2 ** 31;
    if (id !== 0) this.#streams.get(id)?.widen(more);
    else this.#widen(more);
  }

  #widen(more: number): void {
    this.#window += more;
    if (this.#window > LARGEST_WINDOW) throw broken('a window larger than there is');
    for (const stream of [...this.#streams.values()]) stream.flush();
  }

  /** Ends the connection; requests under way are broken off. */
  destroy(cause?: Error): void {
    this.#end(cause);
    this.#socket.destroy();
  }

  #end(cause?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const reason = cause ?? new KvError('Unavailable', 'the connection was closed');
    for (const stream of [...this.#streams.values()]) stream.break(reason);
    for (const { listener } of this.#requests.splice(0)) listener.broken(reason);
    this.#listener.closed(cause);
  }
}
