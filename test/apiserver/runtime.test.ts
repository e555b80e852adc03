// The runtime's promises against the real API server of the local cluster, in real time.
import { randomBytes } from 'node:crypto';
import { beforeAll } from 'vitest';
import type { Namespace } from '../../src/api/index.js';
import { sleep, systemClock } from '../../src/base/clock.js';
import { RestClient } from '../../src/runtime/client.js';
import type { HttpTransport } from '../../src/runtime/http-transport.js';
import { kubeTransport, loadKubeConfig } from '../../src/runtime/kube-config.js';
import { NAMESPACES } from '../../src/runtime/resources.js';
import { ensureUp } from '../cluster/cluster.js';
import { runtimeSuite } from './runtime-suite.js';

let kubeconfig = '';

beforeAll(async () => {
  ({ kubeconfig } = await ensureUp());
});

const EVENTUALLY_MS = 30_000;

async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  const deadline = Date.now() + EVENTUALLY_MS;
  for (;;) {
    try {
      return await check();
    } catch (err) {
      if (Date.now() >= deadline) throw err;
      await sleep(systemClock, 50);
    }
  }
}

runtimeSuite('real API server', async () => {
  const config = loadKubeConfig(kubeconfig);
  const transports: HttpTransport[] = [];
  const transport = (): HttpTransport => {
    const made = kubeTransport(config, systemClock);
    transports.push(made);
    return made;
  };
  const client = new RestClient({ transport: transport(), clock: systemClock });
  const name = `runtime-${randomBytes(4).toString('hex')}`;
  const namespace: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await client.create(NAMESPACES, namespace);
  return {
    clock: systemClock,
    namespace: name,
    clientTimeoutMs: 3000,
    transport,
    pass: (ms) => sleep(systemClock, ms),
    eventually,
    close: async () => {
      await client.delete(NAMESPACES, name);
      for (const made of transports) made.close();
    },
  };
});
