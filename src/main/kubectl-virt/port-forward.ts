// `kubectl virt port-forward NAME [LOCAL:]PORT…`: ports of a guest on local ports, until Ctrl-C.
import type { Cluster } from './cluster.js';
import { type LocalDeps, serveLocally } from './local-port.js';
import type { ForwardedPort } from './verbs.js';

export async function portForwardCommand(
  cluster: Cluster,
  { name, address, ports }: { readonly name: string; readonly address: string; readonly ports: readonly ForwardedPort[] },
  deps: LocalDeps,
): Promise<number> {
  const open = ports.map(async ({ local, remote }) => {
    const what = `port ${remote} of ${cluster.namespace}/${name}`;
    const { port, ended } = await serveLocally({ address, port: local }, what, () => cluster.dial(name, `portforward/${remote}/tcp`), deps);
    deps.terminal.note(`${address}:${port} leads to ${what}; stop with Ctrl-C.`);
    await ended;
  });
  await Promise.all(open);
  return 0;
}
