// A cluster for the installer's tests: the simulated API server in virtual time, with Kubernetes' own controllers as far as an
// installation sees them, and virt-operator as a process to start and stop.
import { expect } from 'vitest';
import type { KubeObject, KubeVirt } from '../../src/api/index.js';
import { createAuthority, createLeaf } from '../../src/base/crypto/certificates.js';
import { silentLogger } from '../../src/base/logger.js';
import { startInstaller } from '../../src/operators/installer/controller.js';
import type { InstallEnv } from '../../src/operators/installer/install-context.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import * as resources from '../../src/runtime/resources.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

export const ENV: InstallEnv = {
  namespace: 'kubevirt',
  version: 'v0.1.0',
  operatorImage: 'registry.example/kv/control:v0.1.0',
  apiImage: 'registry.example/kv/control:v0.1.0',
  controllerImage: 'registry.example/kv/control:v0.1.0',
  handlerImage: 'registry.example/kv/control:v0.1.0',
  launcherImage: 'registry.example/kv/launcher:v0.1.0',
  extraEnv: { FLAVOUR: 'plain' },
};

export const kubevirt = (name = 'kubevirt', spec: KubeVirt['spec'] = {}): KubeVirt => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'KubeVirt',
  metadata: { name, namespace: 'kubevirt' },
  spec,
});

type WithStatus = KubeObject & { spec?: { replicas?: number }; status?: unknown };

/** Kubernetes' own controllers, as far as an installation sees them. */
export class Cluster {
  readonly clock = new VirtualClock();
  readonly server = new SimApiServer(this.clock);
  readonly client = new RestClient({ transport: this.server.transport(), clock: this.clock });
  /** Workloads that never get ready. */
  readonly stuck = new Set<string>();
  /** Objects of the virtual machine kinds that are left. */
  instances = 0;

  constructor() {
    for (const name of ['node1', 'node2']) {
      this.server.store.create('/nodes', {
        kind: 'Node',
        apiVersion: 'v1',
        metadata: { name },
        status: { nodeInfo: { architecture: 'amd64' } },
      } as KubeObject);
    }
    this.server.store.onChange((collection, { object, type }) => {
      if (type === 'DELETED') return;
      if (collection === 'apps/deployments' || collection === 'apps/daemonsets') this.#rollOut(collection, object);
      if (!collection.endsWith('/customresourcedefinitions')) return;
      if (object.metadata.deletionTimestamp) this.#empty(object);
      else this.#establish(collection, object);
    });
  }

  #rollOut(collection: string, object: WithStatus): void {
    const { generation = 1, name = '' } = object.metadata;
    if ((object.status as { observedGeneration?: number } | undefined)?.observedGeneration === generation) return;
    this.clock.after(2000, () => {
      const now = this.server.store.list(collection).find(({ metadata }) => metadata.uid === object.metadata.uid);
      if (!now || now.metadata.generation !== generation) return;
      const n = this.stuck.has(name) ? 0 : (object.spec?.replicas ?? 2);
      const status = { observedGeneration: generation, replicas: n, updatedReplicas: n, availableReplicas: n };
      const agents = { desiredNumberScheduled: 2, updatedNumberScheduled: n, numberAvailable: n };
      this.server.store.update(collection, { ...now, status: { ...status, ...agents } } as KubeObject, 'status');
    });
  }

  #establish(collection: string, crd: WithStatus): void {
    if (crd.status) return;
    this.clock.after(300, () => {
      const now: WithStatus | undefined = this.server.store.list(collection).find(({ metadata }) => metadata.uid === crd.metadata.uid);
      if (!now || now.status) return;
      const conditions = [{ type: 'Established', status: 'True' }];
      this.server.store.update(collection, { ...now, status: { conditions } } as KubeObject, 'status');
    });
  }

  #empty(crd: KubeObject): void {
    this.clock.after(500, () => {
      const now = this.server.store
        .list('apiextensions.k8s.io/customresourcedefinitions')
        .find(({ metadata }) => metadata.uid === crd.metadata.uid);
      if (!now || this.instances > 0) return;
      const conditions = [{ type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted' }];
      this.server.store.update(
        'apiextensions.k8s.io/customresourcedefinitions',
        { ...now, status: { conditions } } as KubeObject,
        'status',
      );
    });
  }

  async kv(name = 'kubevirt'): Promise<KubeVirt | undefined> {
    return await this.client.find(resources.KUBEVIRTS, `kubevirt/${name}`);
  }

  /** `Available:True …` */
  async conditions(name?: string): Promise<string> {
    const kv = await this.kv(name);
    return (kv?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}:${status}:${reason}`).join(' ');
  }

  async until(condition: string): Promise<void> {
    await this.clock.eventually(async () => expect(await this.conditions()).toContain(condition), 120_000, 500);
  }

  count(): number {
    return this.server.writes.length;
  }

  /** Starts virt-operator; call the result to stop it. */
  operate(env: InstallEnv = ENV): () => Promise<void> {
    const stop = new AbortController();
    const { clock, server } = this;
    const manager = new RuntimeManager({ name: 'virt-operator', transport: server.transport(), clock, log: silentLogger });
    startInstaller(manager, env, {
      createAuthority: (...of) => clock.hold(createAuthority(...of)),
      createLeaf: (...of) => clock.hold(createLeaf(...of)),
    });
    const running = manager.run(stop.signal);
    return async () => {
      stop.abort();
      await clock.advance(1);
      await running;
    };
  }
}
