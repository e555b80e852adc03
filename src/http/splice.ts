// Passes bytes between a WebSocket client's bare connection and the server's that it is meant for, frames untouched, with back-pressure
// both ways. Ends both when either ends; what the other side still has to get is flushed, but not waited for without end.
import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import { CLOSURE_WITH_REASON, closeFrame, frameTracker } from './frames.js';

export interface SpliceOptions {
  readonly clock: Clock;
  /** Ends the stream. A text as its reason is told to the client. */
  readonly signal: AbortSignal;
}

/** How long the last bytes may take. */
const LINGER_MS = 10_000;

/** Sends what is still buffered, then closes: at once if the peer takes it, else after a while. */
export function flushAndClose(socket: Duplex, clock: Clock): void {
  const cancel = clock.after(LINGER_MS, () => socket.destroy());
  socket.once('close', cancel);
  socket.end(() => socket.destroy());
}

/** Ends the client's stream with a word, where one can be put: within a frame it would be taken for data. */
function tell(client: Duplex, isBetweenFrames: boolean, reason: unknown, clock: Clock): void {
  if (!isBetweenFrames || typeof reason !== 'string' || reason === '' || !client.writable) client.destroy();
  else {
    client.write(closeFrame(CLOSURE_WITH_REASON, reason));
    flushAndClose(client, clock);
  }
}

/** Resolves when both are closed. */
export function splice(client: Duplex, server: Duplex, { clock, signal }: SpliceOptions): Promise<void> {
  return new Promise((resolve) => {
    let open = 2;
    const frames = frameTracker();
    const cut = (): void => {
      server.unpipe(client);
      server.destroy();
      tell(client, frames.isBetween(), signal.reason, clock);
    };
    const closed = (other: Duplex): void => {
      if (!other.destroyed) flushAndClose(other, clock);
      open--;
      if (open > 0) return;
      signal.removeEventListener('abort', cut);
      resolve();
    };
    const follow = (socket: Duplex, other: Duplex): void => {
      // A broken connection only means the end of the stream; 'close' follows.
      socket.on('error', () => undefined);
      if (socket.closed) queueMicrotask(() => closed(other));
      else socket.once('close', () => closed(other));
    };
    follow(client, server);
    follow(server, client);
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
    client.pipe(server);
    server.pipe(client);
    server.on('data', (chunk: Buffer) => frames.push(chunk));
  });
}
