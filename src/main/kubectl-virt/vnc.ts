// `kubectl virt vnc --proxy-only`: the display of a machine on a local port, for any VNC viewer, until Ctrl-C. Each viewer gets a
// connection of its own; the machine shows itself to the latest one.
import type { Cluster } from './cluster.js';
import { type LocalDeps, type LocalPort, serveLocally } from './local-port.js';

export async function vncCommand(cluster: Cluster, name: string, local: LocalPort, deps: LocalDeps): Promise<number> {
  const { terminal } = deps;
  // A display that cannot be opened at all is told now, not to the first viewer.
  (await cluster.dial(name, 'vnc')).close();
  const { port, ended } = await serveLocally(local, 'the display', () => cluster.dial(name, 'vnc'), deps);
  terminal.output.write(`${JSON.stringify({ port })}\n`);
  terminal.note(`Display of ${cluster.namespace}/${name} at ${local.address}:${port}. Point a VNC viewer there; stop with Ctrl-C.`);
  await ended;
  return 0;
}
