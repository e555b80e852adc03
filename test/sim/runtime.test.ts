// The runtime's promises against the simulated API server, in virtual time.
import { runtimeSuite } from '../apiserver/runtime-suite.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

runtimeSuite('simulated API server', async () => {
  const clock = new VirtualClock();
  const server = new SimApiServer(clock);
  return {
    clock,
    namespace: 'suite',
    clientTimeoutMs: 330_000,
    transport: () => server.transport(),
    pass: (ms) => clock.advance(ms),
    eventually: (check) => clock.eventually(check),
    close: async () => undefined,
  };
});
