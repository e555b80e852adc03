// The VM and VMI controllers together under the simulated API server and a virtual clock: a scripted node plays kubelet and
// node agent. Asserts the state of the world and how many writes it took to get there.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, VirtualMachine, VirtualMachineInstance } from '../../src/api/index.js';
import { metaTime } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { startVmController } from '../../src/operators/vm/controller.js';
import { startVmiController } from '../../src/operators/vmi/controller.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import { PODS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../../src/runtime/resources.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

const KEY = 'shop/web';

/** What a webhook, a kubelet and a node agent would do, one step a second. */
class ScriptedNode {
  readonly #admin: KubeClient;
  readonly #clock: VirtualClock;
  crash = false;

  constructor(admin: KubeClient, clock: VirtualClock) {
    this.#admin = admin;
    this.#clock = clock;
  }

  async step(): Promise<void> {
    for (const pod of (await this.#admin.list(PODS)).items) await this.#kubelet(pod);
    for (const vmi of (await this.#admin.list(VIRTUAL_MACHINE_INSTANCES)).items) await this.#agent(vmi);
  }

  async #kubelet(pod: Pod): Promise<void> {
    if (pod.metadata.deletionTimestamp)
      return this.#admin.delete(PODS, `${pod.metadata.namespace}/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
    if (pod.status?.phase === 'Running' || pod.status?.phase === 'Failed') return;
    const placed = {
      ...pod,
      apiVersion: 'v1',
      kind: 'Pod',
      spec: { containers: [{ name: 'compute', image: 'launcher:1' }], nodeName: 'n1' },
    } as Pod;
    const stored = await this.#admin.update(PODS, placed);
    const compute = { name: 'compute', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
    const conditions = [{ type: 'Ready', status: 'True' }];
    await this.#admin.update(PODS, { ...stored, status: { phase: 'Running', containerStatuses: [compute], conditions } } as Pod, {
      subresource: 'status',
    });
  }

  async #agent(vmi: VirtualMachineInstance): Promise<void> {
    const phase = vmi.status?.phase;
    if (vmi.metadata.deletionTimestamp && (phase === 'Running' || phase === 'Scheduled')) return this.#move(vmi, 'Succeeded');
    if (phase === 'Scheduled') return this.#move(vmi, this.crash ? 'Failed' : 'Running');
  }

  async #move({ metadata }: VirtualMachineInstance, phase: string): Promise<void> {
    const vmi = await this.#admin.get(VIRTUAL_MACHINE_INSTANCES, `${metadata.namespace}/${metadata.name}`);
    const transition = { phase, phaseTransitionTimestamp: metaTime(this.#clock.now()) };
    const transitions = [...(vmi.status?.phaseTransitionTimestamps ?? []), transition];
    await this.#admin.update(VIRTUAL_MACHINE_INSTANCES, {
      ...vmi,
      status: { ...vmi.status, phase, phaseTransitionTimestamps: transitions },
    });
  }
}

describe('VM and VMI controllers', () => {
  let clock: VirtualClock;
  let server: SimApiServer;
  let admin: KubeClient;
  let node: ScriptedNode;
  let stop: AbortController;
  let running: Promise<unknown>;

  beforeEach(() => {
    clock = new VirtualClock();
    server = new SimApiServer(clock);
    admin = new RestClient({ transport: server.transport(), clock });
    node = new ScriptedNode(admin, clock);
    stop = new AbortController();
    const manager = new RuntimeManager({
      name: 'virt-controller',
      transport: server.transport(),
      clock,
      log: silentLogger,
      random: () => 0.5,
    });
    startVmController(manager, { random: () => 0 });
    let serial = 0;
    startVmiController(manager, {
      launcherImage: 'launcher:1',
      suffix: () => String(++serial).padStart(5, 'x'),
      renderPod: ({ vmi }) =>
        ({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            generateName: `virt-launcher-${vmi.metadata.name}-`,
            namespace: vmi.metadata.namespace,
            labels: { 'kubevirt.io': 'virt-launcher' },
            ownerReferences: [
              {
                apiVersion: 'kubevirt.io/v1',
                kind: 'VirtualMachineInstance',
                name: vmi.metadata.name,
                uid: vmi.metadata.uid,
                controller: true,
              },
            ],
          },
          spec: { containers: [{ name: 'compute', image: 'launcher:1' }] },
        }) as Pod,
    });
    running = manager.run(stop.signal);
  });

  afterEach(async () => {
    stop.abort();
    await clock.advance(31_000);
    await Promise.allSettled([running]);
  });

  const vm = (runStrategy: string): VirtualMachine => ({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { runStrategy, template: { spec: { domain: { devices: {} }, volumes: [] } } },
  });
  const wordOf = async (): Promise<string | undefined> => (await admin.find(VIRTUAL_MACHINES, KEY))?.status?.printableStatus;
  const vmiNow = () => admin.find(VIRTUAL_MACHINE_INSTANCES, KEY);
  async function seconds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await clock.advance(500);
      await node.step();
      await clock.advance(500);
    }
  }
  const byControllers = () => server.writes.length;

  it('brings an Always VM to Running within its write budget, and stays silent afterwards', async () => {
    await admin.create(VIRTUAL_MACHINES, vm('Always'));
    await seconds(8);
    expect(await wordOf()).toBe('Running');
    expect((await vmiNow())?.status).toMatchObject({ phase: 'Running', nodeName: 'n1' });
    // Of these writes one is the test's own and three are the node's.
    expect(byControllers() - 4).toBeLessThanOrEqual(12);
    const before = byControllers();
    await clock.advance(10 * 60_000);
    expect(byControllers()).toBe(before);
  });

  it('deletes everything with the VM', async () => {
    await admin.create(VIRTUAL_MACHINES, vm('Always'));
    await seconds(8);
    await admin.delete(VIRTUAL_MACHINES, KEY);
    await seconds(8);
    expect([await admin.find(VIRTUAL_MACHINES, KEY), await vmiNow(), (await admin.list(PODS)).items]).toEqual([undefined, undefined, []]);
  });

  it('replaces a guest that crashes, slower each time', async () => {
    node.crash = true;
    await admin.create(VIRTUAL_MACHINES, vm('Always'));
    await seconds(8);
    expect(await wordOf()).toBe('CrashLoopBackOff');
    node.crash = false;
    await seconds(15);
    expect(await wordOf()).toBe('Running');
    expect((await admin.get(VIRTUAL_MACHINES, KEY)).status?.startFailure).toBeUndefined();
  });

  it('leaves a Once VM down when its guest has ended', async () => {
    await admin.create(VIRTUAL_MACHINES, vm('Once'));
    await seconds(8);
    const vmi = await admin.get(VIRTUAL_MACHINE_INSTANCES, KEY);
    await admin.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status: { ...vmi.status, phase: 'Succeeded' } });
    await seconds(4);
    expect([await wordOf(), (await vmiNow())?.metadata.uid]).toEqual(['Stopped', vmi.metadata.uid]);
  });

  it('keeps a Halted VM down and turns it on by request', async () => {
    await admin.create(VIRTUAL_MACHINES, vm('Halted'));
    await seconds(3);
    expect(await wordOf()).toBe('Stopped');
    const halted = await admin.get(VIRTUAL_MACHINES, KEY);
    await admin.update(VIRTUAL_MACHINES, { ...halted, spec: { ...halted.spec, runStrategy: 'Always' } });
    await seconds(8);
    expect(await wordOf()).toBe('Running');
  });
});
