// The node controller under the simulated API server: what it takes for lost. Its view of nodes may be behind.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controllerOf, type VirtualMachineInstance } from '../../src/api/index.js';
import { sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { startNodeController } from '../../src/operators/node/reconciler.js';
import { VIRT_PODS } from '../../src/operators/vmi/controller.js';
import { PODS_BY_OWNER } from '../../src/operators/vmi/reconciler.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import { NODES, PODS, VIRTUAL_MACHINE_INSTANCES } from '../../src/runtime/resources.js';
import type { Transport } from '../../src/runtime/transport.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

let clock: VirtualClock;
let admin: KubeClient;
let stop: AbortController;
let running: Promise<void>;

/** Watches of nodes say nothing for ten minutes. */
const deafToNodes = (inner: Transport): Transport => ({
  host: inner.host,
  close: () => inner.close(),
  request: (request) => inner.request(request),
  async stream(request) {
    const stream = await inner.stream(request);
    if (!request.path.includes('/nodes?')) return stream;
    const late = async function* (): AsyncGenerator<readonly string[]> {
      await sleep(clock, 600_000, request.signal);
      yield* stream.lines;
    };
    return { ...stream, lines: late() };
  },
});

beforeEach(async () => {
  clock = new VirtualClock();
  const server = new SimApiServer(clock);
  admin = new RestClient({ transport: server.transport(), clock });
  stop = new AbortController();
  const manager = new RuntimeManager({ name: 'virt-controller', transport: deafToNodes(server.transport()), clock, log: silentLogger });
  manager.informer(PODS, VIRT_PODS).addIndex(PODS_BY_OWNER, (pod) => [controllerOf(pod)?.uid ?? '']);
  startNodeController(manager);
  running = manager.run(stop.signal);
  await clock.advance(1_000);
});

afterEach(async () => {
  stop.abort();
  await clock.advance(31_000);
  await running;
});

describe('a guest on a node that the cache does not show', () => {
  it.each([
    ['lives while the node is there', true, 'Running'],
    ['is lost with the node', false, 'Failed'],
  ])('%s', async (_title, isThere, expected) => {
    const heartbeat = new Date(clock.now()).toISOString();
    if (isThere)
      await admin.create(NODES, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'n1', annotations: { 'kubevirt.io/heartbeat': heartbeat } },
      });
    await admin.create(VIRTUAL_MACHINE_INSTANCES, {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { domain: { devices: {} } },
      status: { phase: 'Running', nodeName: 'n1' },
    } as VirtualMachineInstance);
    await clock.advance(5_000);
    expect((await admin.get(VIRTUAL_MACHINE_INSTANCES, 'shop/web')).status?.phase).toBe(expected);
  });
});
