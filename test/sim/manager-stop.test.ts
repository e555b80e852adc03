// A manager that stops: what its reconciles still do must not collide with the next leader.
import { describe, expect, it } from 'vitest';
import type { ConfigMap } from '../../src/api/index.js';
import { sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import { CONFIG_MAPS } from '../../src/runtime/resources.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

describe('stopping', () => {
  it('gives the lease back within its life, and lets a reconcile that hangs write nothing afterwards', async () => {
    const clock = new VirtualClock();
    const server = new SimApiServer(clock);
    const admin = new RestClient({ transport: server.transport(), clock });
    const stop = new AbortController();
    const leaderElection = { lease: 'kubevirt/leader', identity: 'one' };
    const manager = new RuntimeManager({ name: 'one', transport: server.transport(), clock, log: silentLogger, leaderElection });
    const map: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'b' } };
    let outcome: unknown;
    manager.controller({
      name: 'slow',
      workers: 1,
      sources: [{ informer: manager.informer(CONFIG_MAPS), keys: () => ['b/a'] }],
      reconcile: async () => {
        await sleep(clock, 60_000);
        outcome = await manager.client.mergePatch(CONFIG_MAPS, 'b/a', { data: { by: 'one' } }).catch((err: unknown) => err);
        return undefined;
      },
    });
    await admin.create(CONFIG_MAPS, map);
    const running = manager.run(stop.signal);
    await clock.advance(5_000);
    stop.abort();
    await clock.advance(14_000);
    await running;
    expect((await admin.raw('GET', '/apis/coordination.k8s.io/v1/namespaces/kubevirt/leases/leader')) as object).toMatchObject({
      spec: { holderIdentity: '' },
    });
    await clock.advance(60_000);
    expect(outcome).toMatchObject({ code: 'Unavailable' });
    expect((await admin.get(CONFIG_MAPS, 'b/a')).data).toBeUndefined();
  });
});
