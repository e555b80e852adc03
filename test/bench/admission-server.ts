// The process that `npm run bench -- admission` measures: virt-api's webhooks behind its own HTTPS server, without a cluster. Its arguments are the
// files of certificate and key; it says its port on standard output, answers each line with the bytes that live in its heap, and ends with its input.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { systemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { createHttpsServer } from '../../src/http/index.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { webhookRoutes } from '../../src/webhooks/server.js';

const [certFile = '', keyFile = ''] = process.argv.slice(2);
const config = clusterConfigOf({});
/** What admission asks for a VM without instance type: nothing is there. */
const client = { find: async () => undefined, list: async () => ({ metadata: {}, items: [] }) } as unknown as KubeClient;
const server = createHttpsServer({
  tls: { certFile, keyFile },
  log: silentLogger,
  host: '127.0.0.1',
  port: 0,
  routes: webhookRoutes({
    client,
    config: () => config,
    installNamespace: 'kubevirt',
    clock: systemClock,
    log: silentLogger,
    randomUuid: randomUUID,
  }),
});
process.stdout.write(`${await server.start()}\n`);
for await (const _line of createInterface({ input: process.stdin })) {
  global.gc?.();
  process.stdout.write(`${process.memoryUsage().heapUsed}\n`);
}
await server.stop(100);
