// A stream of the cluster on a local port: whoever connects there gets a stream of their own, until the command is stopped. Used for the
// display and for ports of the guest.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import { KvError, messageOf } from '../../base/errors.js';
import { pump } from '../../http/index.js';
import type { Stream } from './cluster.js';
import type { Terminal } from './terminal.js';

export interface LocalPort {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface LocalDeps {
  readonly terminal: Terminal;
  readonly clock: Clock;
}

function listen(server: Server, { address, port }: LocalPort): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new KvError('Unavailable', `cannot listen on ${address}:${port}: choose another port`, { cause })),
    );
    server.listen(port, address, () => resolve((server.address() as AddressInfo).port));
  });
}

/** Listens and returns; `what` is for people. Ends with the terminal's signal. */
export async function serveLocally(
  local: LocalPort,
  what: string,
  open: () => Promise<Stream>,
  { terminal, clock }: LocalDeps,
): Promise<{ readonly port: number; readonly ended: Promise<void> }> {
  const serve = async (visitor: Socket): Promise<void> => {
    try {
      const stream = await open();
      terminal.note(`Connected to ${what}.`);
      await pump(stream, visitor, { clock, signal: terminal.signal });
      terminal.note(`Disconnected from ${what}.`);
    } catch (err) {
      // One connection's failure must not end the others'.
      terminal.note(`Cannot open ${what}: ${messageOf(err)}`);
      visitor.destroy();
    }
  };
  const server = createServer((visitor) => void serve(visitor));
  const port = await listen(server, local);
  const ended = new Promise<void>((resolve) => {
    const stop = (): void => void server.close(() => resolve());
    if (terminal.signal.aborted) stop();
    else terminal.signal.addEventListener('abort', stop, { once: true });
  });
  return { port, ended };
}
