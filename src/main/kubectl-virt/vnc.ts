// `kubectl virt vnc --proxy-only`: the display of a machine on a local port, for any VNC viewer, until Ctrl-C. Each viewer gets a
// connection of its own; the machine shows itself to the latest one.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import { KvError, messageOf } from '../../base/errors.js';
import { pump } from '../../http/index.js';
import type { Cluster } from './cluster.js';
import type { Terminal } from './terminal.js';

export interface VncOptions {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
}

function listen(server: Server, { address, port }: VncOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new KvError('Unavailable', `cannot listen on ${address}:${port}: choose another --port`, { cause })),
    );
    server.listen(port, address, () => resolve((server.address() as AddressInfo).port));
  });
}

export async function vncCommand(
  cluster: Cluster,
  name: string,
  options: VncOptions,
  { terminal, clock }: { terminal: Terminal; clock: Clock },
): Promise<number> {
  const serve = async (viewer: Socket): Promise<void> => {
    try {
      const stream = await cluster.dial(name, 'vnc');
      terminal.note('A viewer connected.');
      await pump(stream, viewer, { clock, signal: terminal.signal });
      terminal.note('A viewer disconnected.');
    } catch (err) {
      // One viewer's failure must not end the proxy.
      terminal.note(`Cannot open the display: ${messageOf(err)}`);
      viewer.destroy();
    }
  };
  // A display that cannot be opened at all is told now, not to the first viewer.
  (await cluster.dial(name, 'vnc')).close();
  const server = createServer((viewer) => void serve(viewer));
  const port = await listen(server, options);
  terminal.output.write(`${JSON.stringify({ port })}\n`);
  terminal.note(`Display of ${cluster.namespace}/${name} at ${options.address}:${port}. Point a VNC viewer there; stop with Ctrl-C.`);
  await new Promise<void>((resolve) => {
    if (terminal.signal.aborted) resolve();
    terminal.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await new Promise((resolve) => server.close(resolve));
  return 0;
}
