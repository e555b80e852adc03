// Moves bytes between a WebSocket and a bare connection with back-pressure both ways. Ends both when either ends. Keeps idle WebSockets
// alive by pings and cuts those whose peer no longer answers. Looks into no payload.
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { type Clock, ticks } from '../base/clock.js';
import { CLOSURE_WITH_REASON } from './frames.js';
import { flushAndClose } from './splice.js';

export interface PumpOptions {
  readonly clock: Clock;
  /** Ends the stream. A text as its reason is told to the WebSocket's peer. */
  readonly signal: AbortSignal;
  /** Told to the WebSocket's peer when the other connection ends. */
  readonly endReason?: string;
  /** Time between pings; default 20 s. */
  readonly pingMs?: number;
  /** A peer silent for so long is gone; default 60 s. */
  readonly deadMs?: number;
  /** Unsent bytes at which the source is paused; default 1 MiB. */
  readonly highWaterBytes?: number;
}

const PING_MS = 20_000;
const DEAD_MS = 60_000;
const HIGH_WATER_BYTES = 1024 * 1024;
const PING_PAYLOAD = 'keep alive';
const NORMAL_CLOSURE = 1000;
/** A peer that does not take what is sent cannot answer pings either; a person may have stopped the output. */
const STALLED_MS = 10 * 60_000;

function keepAlive(ws: WebSocket, options: PumpOptions): () => void {
  const { clock, pingMs = PING_MS, deadMs = DEAD_MS } = options;
  let heard = ticks(clock);
  const note = (): void => {
    heard = ticks(clock);
  };
  ws.on('pong', note);
  ws.on('message', note);
  ws.on('ping', note);
  let cancel = (): void => undefined;
  const beat = (): void => {
    const isStalled = ws.isPaused || ws.bufferedAmount > 0;
    if (ticks(clock) - heard > (isStalled ? Math.max(deadMs, STALLED_MS) : deadMs)) {
      ws.terminate();
      return;
    }
    if (ws.readyState === WebSocket.OPEN) ws.ping(PING_PAYLOAD);
    cancel = clock.after(pingMs, beat);
  };
  cancel = clock.after(pingMs, beat);
  return () => cancel();
}

function closeTelling(ws: WebSocket, reason: unknown): void {
  if (typeof reason === 'string' && reason !== '') ws.close(CLOSURE_WITH_REASON, reason);
  else ws.close(NORMAL_CLOSURE);
}

/** Binary frames ↔ bytes; text frames are ignored. Resolves when both sides are closed. */
export function pump(ws: WebSocket, peer: Duplex, options: PumpOptions): Promise<void> {
  const { signal, endReason, highWaterBytes = HIGH_WATER_BYTES } = options;
  const stopBeat = keepAlive(ws, options);
  return new Promise((resolve) => {
    let wsOpen = ws.readyState !== WebSocket.CLOSED;
    let peerOpen = !peer.destroyed;
    const finish = (): void => {
      if (wsOpen || peerOpen) return;
      signal.removeEventListener('abort', cut);
      resolve();
    };
    const cut = (): void => {
      if (ws.readyState <= WebSocket.OPEN) closeTelling(ws, signal.reason);
      peer.destroy();
    };
    ws.on('message', (data, isBinary) => {
      if (isBinary && !peer.write(data as Buffer)) ws.pause();
    });
    peer.on('drain', () => ws.resume());
    peer.on('data', (chunk: Buffer) => {
      if (ws.readyState !== WebSocket.OPEN) return;
      ws.send(chunk, { binary: true }, () => {
        if (peer.isPaused() && ws.bufferedAmount < highWaterBytes) peer.resume();
      });
      if (ws.bufferedAmount >= highWaterBytes) peer.pause();
    });
    peer.once('end', () => closeTelling(ws, endReason));
    ws.once('close', () => {
      wsOpen = false;
      stopBeat();
      if (peer.destroyed) peerOpen = false;
      else flushAndClose(peer, options.clock);
      finish();
    });
    peer.once('close', () => {
      peerOpen = false;
      if (ws.readyState <= WebSocket.OPEN) closeTelling(ws, endReason);
      finish();
    });
    // Broken connections only mean the end of the stream; 'close' follows.
    ws.on('error', () => ws.terminate());
    peer.on('error', () => undefined);
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
    if (!wsOpen || !peerOpen) cut();
    finish();
  });
}
