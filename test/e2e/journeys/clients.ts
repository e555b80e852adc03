// Programs of others against our API, unchanged: kubectl in two versions, the official clients for JavaScript and Python, and a client in
// Go. Each shows what the others cannot: how it reads discovery, which patches it sends, what it makes of refusals.
import { afterAll, beforeAll, describe } from 'vitest';
import { setGates } from '../gates.js';
import { cluster, eventually } from '../harness.js';
import { KIND_OBJECTS } from '../kind-objects.js';
import { discovery, watchApiServer } from './clients-discovery.js';
import { examples } from './clients-examples.js';
import { kubectls } from './clients-kubectl.js';
import { clientMcp } from './clients-mcp.js';
import { clientNode } from './clients-node.js';
import { clientPython } from './clients-python.js';

/** Some kinds are taken only with a gate. */
function everyKind(): void {
  let restoreGates = async (): Promise<void> => undefined;

  beforeAll(async () => {
    restoreGates = await setGates({ on: ['IncrementalBackup', 'Plugins'] });
    const plugin = JSON.stringify(KIND_OBJECTS.find(({ kind }) => kind === 'Plugin'));
    await eventually('the webhooks know of the gates', async () =>
      (await cluster()).kubectl(['create', '--dry-run=server', '-f', '-'], plugin),
    );
  });
  afterAll(async () => await restoreGates());
  kubectls();
}

export function clients(): void {
  watchApiServer();
  describe('what they learn', discovery);
  describe('manifests', examples);
  describe('every kind', everyKind);
  describe('the client for JavaScript', clientNode);
  describe('the client for Python', clientPython);
  describe('kubernetes-mcp-server', clientMcp);
}
