// Every path that a webhook configuration names is answered: a row without a route would refuse each object of its kind.
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfig } from '../../src/core/config/cluster-config.js';
import { API_HOOK_PATHS } from '../../src/operators/installer/manifests/webhooks.js';
import { RestClient } from '../../src/runtime/client.js';
import { webhookRoutes } from '../../src/webhooks/server.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

it('serves exactly the paths of the webhook configurations', () => {
  const clock = new VirtualClock();
  const client = new RestClient({ transport: new SimApiServer(clock).transport(), clock });
  const config = (): ReturnType<typeof clusterConfig> => clusterConfig();
  const routes = webhookRoutes({ client, config, installNamespace: 'kubevirt', clock, log: silentLogger, randomUuid: randomUUID });
  expect(routes.map(({ path }) => path).sort()).toEqual([...API_HOOK_PATHS].sort());
});
