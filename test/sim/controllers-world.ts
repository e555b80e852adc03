// The VM and VMI controllers under the simulated API server and a virtual clock, with a scripted node that plays kubelet and node
// agent. For tests of the controllers together; asserts nothing itself.

import type { KubeVirtConfiguration, Pod, VirtualMachine, VirtualMachineInstance } from '../../src/api/index.js';
import { ANNOTATION } from '../../src/api/index.js';
import { metaTime } from '../../src/base/clock.js';
import { hasCode, KvError } from '../../src/base/errors.js';
import { silentLogger } from '../../src/base/logger.js';
import { clusterConfigOf } from '../../src/core/config/cluster-config.js';
import { startMigrationController } from '../../src/operators/migration/controller.js';
import {
  MULTUS_NETWORKS,
  networkAnnotations,
  type PodContext,
  renderHotplugPod,
  renderHotplugTriggerPod,
} from '../../src/operators/pod-template/index.js';
import { startVmController } from '../../src/operators/vm/controller.js';
import { isAttachment } from '../../src/operators/vmi/attachments.js';
import { startVmiController } from '../../src/operators/vmi/controller.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import { PODS, VIRTUAL_MACHINE_INSTANCES } from '../../src/runtime/resources.js';
import type { Transport } from '../../src/runtime/transport.js';
import type { KubeClient } from '../../src/runtime/types.js';
import { ScriptedVolumes } from './scripted-volumes.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

/** What a webhook, a kubelet and a node agent would do, one step a second. */
export class ScriptedNode {
  readonly #admin: KubeClient;
  readonly #clock: VirtualClock;
  crash = false;
  /** Pods are placed and do not start. */
  isSlow = false;
  readonly #volumes: ScriptedVolumes;

  constructor(admin: KubeClient, clock: VirtualClock) {
    this.#admin = admin;
    this.#clock = clock;
    this.#volumes = new ScriptedVolumes(admin, clock);
  }

  async step(): Promise<void> {
    for (const pod of (await this.#admin.list(PODS)).items) await this.#kubelet(pod);
    for (const vmi of (await this.#admin.list(VIRTUAL_MACHINE_INSTANCES)).items) await this.#agent(vmi);
  }

  async #kubelet(pod: Pod): Promise<void> {
    if (pod.metadata.deletionTimestamp)
      return this.#admin.delete(PODS, `${pod.metadata.namespace}/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
    if (pod.status?.phase === 'Running' || pod.status?.phase === 'Failed' || this.isSlow) return;
    if (isAttachment(pod)) return this.#volumes.start(pod);
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
    if (phase === 'Running') return this.#volumes.follow(vmi);
  }

  async #move({ metadata }: VirtualMachineInstance, phase: string): Promise<void> {
    const vmi = await this.#admin.find(VIRTUAL_MACHINE_INSTANCES, `${metadata.namespace}/${metadata.name}`);
    if (!vmi) return; // gone since the list
    const transition = { phase, phaseTransitionTimestamp: metaTime(this.#clock.now()) };
    const transitions = [...(vmi.status?.phaseTransitionTimestamps ?? []), transition];
    const status = { ...vmi.status, phase, selinuxContext: 'none', phaseTransitionTimestamps: transitions };
    try {
      await this.#admin.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status });
    } catch (err) {
      if (!hasCode(err, 'Conflict', 'NotFound')) throw err; // somebody was faster: the next step looks again
    }
  }
}

export function launcherPod(vmi: VirtualMachineInstance): Pod {
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `virt-launcher-${vmi.metadata.name}-`,
      ...(vmi.metadata.namespace ? { namespace: vmi.metadata.namespace } : {}),
      labels: { 'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': vmi.metadata.uid ?? '' },
      ownerReferences: [{ ...owner, name: vmi.metadata.name ?? '', uid: vmi.metadata.uid ?? '' }],
    },
    spec: { containers: [{ name: 'compute', image: 'launcher:1' }] },
  };
}

const podContext = ({ configuration }: World, pvcs: PodContext['pvcs']): PodContext => ({
  config: clusterConfigOf(configuration),
  launcherImage: 'launcher:1',
  imageVolumes: true,
  qemuTimeoutSeconds: 240,
  pvcs,
});

export interface World {
  readonly clock: VirtualClock;
  readonly server: SimApiServer;
  readonly admin: KubeClient;
  readonly node: ScriptedNode;
  /** Why launcher pods cannot be rendered at the moment. */
  unrenderable?: string | undefined;
  /** Of the KubeVirt CR. */
  configuration: KubeVirtConfiguration;
  /** The node does something each second. */
  seconds(count: number): Promise<void>;
  end(): Promise<void>;
}

/** `through` wraps the controllers' connection, to misbehave on command; `after` is a world whose controllers have ended. */
export function startWorld(through: (inner: Transport) => Transport = (inner) => inner, after?: World): World {
  const clock = after?.clock ?? new VirtualClock();
  const server = after?.server ?? new SimApiServer(clock);
  const admin = new RestClient({ transport: server.transport(), clock });
  const node = new ScriptedNode(admin, clock);
  const stop = new AbortController();
  const manager = new RuntimeManager({
    name: 'virt-controller',
    transport: through(server.transport()),
    clock,
    log: silentLogger,
    random: () => 0.5,
  });
  startVmController(manager, { random: () => 0, config: () => clusterConfigOf(world.configuration) });
  startVmiController(manager, {
    config: () => clusterConfigOf(world.configuration),
    launcherImage: 'launcher:1',
    renderPod: ({ vmi }) => {
      if (world.unrenderable) throw new KvError('Invalid', world.unrenderable);
      return launcherPod(vmi);
    },
    renderTemporary: ({ vmi }) => {
      const pod = launcherPod(vmi);
      return { ...pod, metadata: { ...pod.metadata, annotations: { [ANNOTATION.ephemeralProvisioning]: 'true' } } };
    },
    renderNetworks: ({ vmi, pvcs }) => networkAnnotations(vmi, podContext(world, pvcs))[MULTUS_NETWORKS],
    renderAttachment: ({ vmi, pvcs }, launcher, volumes) => renderHotplugPod(vmi, launcher, volumes, podContext(world, pvcs)),
    renderTrigger: ({ vmi, pvcs }, launcher, volume) =>
      renderHotplugTriggerPod(vmi, launcher, volume, { ...podContext(world, pvcs), ends: true }),
  });
  startMigrationController(manager);
  const running = manager.run(stop.signal);
  const world: World = {
    clock,
    server,
    admin,
    node,
    configuration: {},
    async seconds(count) {
      for (let i = 0; i < count; i++) {
        await clock.advance(500);
        await node.step();
        await clock.advance(500);
      }
    },
    async end() {
      stop.abort();
      await clock.advance(31_000);
      await Promise.allSettled([running]);
    },
  };
  return world;
}

export const simVm = (runStrategy: string): VirtualMachine => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { runStrategy, template: { spec: { domain: { devices: {} }, volumes: [] } } },
});
