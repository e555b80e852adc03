// Two connections as one: bytes pass both ways with back-pressure, the end of one direction is passed on while the other goes on, and when one of
// them breaks both are over.
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';

/** How long the last bytes may take once the other side is gone. */
const LINGER_MS = 10_000;

/** Resolves with the number of bytes that passed when both are closed. `signal` cuts them. */
export function link(a: Socket, b: Socket, { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal }): Promise<number> {
  return new Promise((resolve) => {
    let open = 2;
    let bytes = 0;
    const cut = (): void => {
      a.destroy();
      b.destroy();
    };
    const closed = (other: Socket): void => {
      if (!other.destroyed) flush(other, clock);
      open--;
      if (open > 0) return;
      signal.removeEventListener('abort', cut);
      resolve(bytes);
    };
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      one.setNoDelay(true);
      // A broken connection only means the end of the stream; 'close' follows.
      one.on('error', () => other.destroy());
      if (one.closed) queueMicrotask(() => closed(other));
      else one.once('close', () => closed(other));
      one.on('data', (chunk: Buffer) => (bytes += chunk.length));
      one.pipe(other);
    }
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
  });
}

function flush(socket: Socket, clock: Clock): void {
  const cancel = clock.after(LINGER_MS, () => socket.destroy());
  socket.once('close', cancel);
  socket.end(() => socket.destroy());
}
