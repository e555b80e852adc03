// virt-operator's installer against the simulated API server in virtual time: install, repair, rotate, update, remove, stay quiet.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Deployment, KubeObject, KubeVirt, Secret } from '../../src/api/index.js';
import { createAuthority, createLeaf, readCertificate } from '../../src/base/crypto/certificates.js';
import { silentLogger } from '../../src/base/logger.js';
import { startInstaller } from '../../src/operators/installer/controller.js';
import type { InstallEnv } from '../../src/operators/installer/install-context.js';
import { RestClient } from '../../src/runtime/client.js';
import { RuntimeManager } from '../../src/runtime/manager.js';
import * as resources from '../../src/runtime/resources.js';
import { SimApiServer } from './sim-api-server.js';
import { VirtualClock } from './virtual-clock.js';

const ENV: InstallEnv = {
  namespace: 'kubevirt',
  version: 'v0.1.0',
  operatorImage: 'registry.example/kv/control:v0.1.0',
  apiImage: 'registry.example/kv/control:v0.1.0',
  controllerImage: 'registry.example/kv/control:v0.1.0',
  handlerImage: 'registry.example/kv/control:v0.1.0',
  launcherImage: 'registry.example/kv/launcher:v0.1.0',
  extraEnv: { FLAVOUR: 'plain' },
};

const kubevirt = (name = 'kubevirt', spec: KubeVirt['spec'] = {}): KubeVirt => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'KubeVirt',
  metadata: { name, namespace: 'kubevirt' },
  spec,
});

type WithStatus = KubeObject & { spec?: { replicas?: number }; status?: unknown };

/** Kubernetes' own controllers, as far as an installation sees them. */
class Cluster {
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
}

describe('installer', () => {
  let cluster: Cluster;

  const operate = (env: InstallEnv = ENV): (() => Promise<void>) => {
    const stop = new AbortController();
    const { clock, server } = cluster;
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
  };

  beforeEach(() => {
    cluster = new Cluster();
  });

  it('installs in order, says what it waits for, and then stays quiet', async () => {
    const stop = operate();
    cluster.stuck.add('virt-api');
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Progressing:True:DeploymentInProgress');
    await cluster.clock.advance(10_000);
    const waiting = await cluster.kv();
    expect(waiting?.status?.conditions?.find(({ type }) => type === 'Progressing')?.message).toContain(
      '0 of 2 pods of deployment virt-api',
    );
    expect(waiting?.metadata.finalizers).toEqual(['kubevirt.io/foregroundDeleteKubeVirt']);
    expect(await cluster.client.find(resources.DEPLOYMENTS, 'kubevirt/virt-controller')).toBeUndefined();

    cluster.stuck.clear();
    await cluster.client.mergePatch(resources.DEPLOYMENTS, 'kubevirt/virt-api', { spec: { progressDeadlineSeconds: 1 } });
    await cluster.until('Available:True:AllComponentsReady');
    const kv = await cluster.kv();
    expect(await cluster.conditions()).toBe(
      'Available:True:AllComponentsReady Progressing:False:AllComponentsReady Degraded:False:AllComponentsReady Created:True:AllResourcesCreated',
    );
    expect(kv?.status).toMatchObject({
      phase: 'Deployed',
      operatorVersion: 'v0.1.0',
      observedKubeVirtVersion: 'v0.1.0',
      observedKubeVirtRegistry: 'registry.example/kv',
      defaultArchitecture: 'amd64',
      observedGeneration: 1,
    });
    const api = await cluster.client.get(resources.DEPLOYMENTS, 'kubevirt/virt-api');
    expect(api.spec?.template.spec?.containers[0]?.env).toContainEqual({ name: 'FLAVOUR', value: 'plain' });
    expect(api.metadata.labels).toMatchObject({
      'app.kubernetes.io/managed-by': 'virt-operator',
      'app.kubernetes.io/component': 'kubevirt',
    });

    const before = cluster.count();
    await cluster.clock.advance(10 * 60_000);
    expect(cluster.server.writes.slice(before)).toEqual([]);
    await stop();
  });

  it('puts back what is deleted or changed, and removes what it no longer wants', async () => {
    const stop = operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    await cluster.client.delete(resources.CLUSTER_ROLES, 'kubevirt.io:admin');
    await cluster.client.delete(resources.SECRETS, 'kubevirt/kubevirt-virt-api-certs');
    await cluster.client.mergePatch(resources.DEPLOYMENTS, 'kubevirt/virt-controller', {
      spec: { replicas: 5, template: { spec: { hostNetwork: true } } },
    });
    const labels = { 'app.kubernetes.io/managed-by': 'virt-operator' };
    await cluster.client.create(resources.CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'from-an-old-version', namespace: 'kubevirt', labels },
    });
    await cluster.clock.eventually(async () => {
      expect(await cluster.client.find(resources.CLUSTER_ROLES, 'kubevirt.io:admin')).toBeDefined();
      expect(await cluster.client.find(resources.SECRETS, 'kubevirt/kubevirt-virt-api-certs')).toBeDefined();
      const { spec } = await cluster.client.get(resources.DEPLOYMENTS, 'kubevirt/virt-controller');
      expect([spec?.replicas, spec?.template.spec?.hostNetwork]).toEqual([2, undefined]);
      expect(await cluster.client.find(resources.CONFIG_MAPS, 'kubevirt/from-an-old-version')).toBeUndefined();
    });
    await cluster.until('Available:True');
    await stop();
  });

  it('renews certificates before they end, trusting old and new authority for a while', async () => {
    const stop = operate();
    const selfSigned = { ca: { duration: '10h' }, server: { duration: '4h' } };
    await cluster.client.create(resources.KUBEVIRTS, kubevirt('kubevirt', { certificateRotateStrategy: { selfSigned } }));
    await cluster.until('Available:True');
    const leaf = async (): Promise<number> => {
      const secret: Secret = await cluster.client.get(resources.SECRETS, 'kubevirt/kubevirt-virt-handler-server-certs');
      return readCertificate(Buffer.from(secret.data?.['tls.crt'] ?? '', 'base64').toString())?.notAfter ?? 0;
    };
    const trusted = async (): Promise<number> => {
      const { data } = await cluster.client.get(resources.CONFIG_MAPS, 'kubevirt/kubevirt-ca');
      return data?.['ca-bundle']?.match(/BEGIN/g)?.length ?? 0;
    };
    const hours = (n: number): Promise<void> => cluster.clock.advance(n * 3_600_000);
    const first = await leaf();
    await hours(3);
    expect(await leaf()).toBe(first);
    await hours(0.3);
    expect(await leaf()).toBeGreaterThan(first);
    expect(await trusted()).toBe(1);
    // The authority is renewed a fifth of its life before its end, and its predecessor trusted for as long.
    await hours(4.8);
    expect(await trusted()).toBe(2);
    expect(await leaf()).toBeGreaterThan(cluster.clock.now() + 3 * 3_600_000);
    await hours(2);
    expect(await trusted()).toBe(1);
    await stop();
  });

  it('lets agents go first when it is updated, and keeps Available', async () => {
    let stop = operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True:AllComponentsReady');
    await stop();
    const image = 'registry.example/kv/control:v0.2.0';
    stop = operate({ ...ENV, version: 'v0.2.0', operatorImage: image, apiImage: image, controllerImage: image, handlerImage: image });
    await cluster.until('Available:True:UpdateInProgress');
    const imageOf = async (name: string): Promise<string | undefined> => {
      const { spec }: Deployment = await cluster.client.get(resources.DEPLOYMENTS, `kubevirt/${name}`);
      return spec?.template.spec?.containers[0]?.image;
    };
    const handler = await cluster.client.get(resources.DAEMON_SETS, 'kubevirt/virt-handler');
    expect(handler.spec?.template.spec?.containers[0]?.image).toBe(image);
    expect(await imageOf('virt-api')).toBe(ENV.apiImage);
    await cluster.until('Available:True:AllComponentsReady');
    expect(await imageOf('virt-api')).toBe(image);
    expect((await cluster.kv())?.status?.observedKubeVirtVersion).toBe('v0.2.0');
    await stop();
  });

  it('follows the CR: placement and pull policy', async () => {
    const stop = operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    await cluster.client.mergePatch(resources.KUBEVIRTS, 'kubevirt/kubevirt', {
      spec: { imagePullPolicy: 'Always', infra: { replicas: 1, nodePlacement: { nodeSelector: { zone: 'a' } } } },
    });
    await cluster.clock.eventually(async () => {
      const { spec } = await cluster.client.get(resources.DEPLOYMENTS, 'kubevirt/virt-api');
      expect(spec?.replicas).toBe(1);
      expect(spec?.template.spec?.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux', zone: 'a' });
      expect(spec?.template.spec?.containers[0]?.imagePullPolicy).toBe('Always');
      expect(await cluster.client.find(resources.POD_DISRUPTION_BUDGETS, 'kubevirt/virt-api-pdb')).toBeUndefined();
    });
    await cluster.clock.eventually(async () => expect((await cluster.kv())?.status?.observedGeneration).toBe(2));
    await cluster.until('Available:True');
    await stop();
  });

  it('refuses a second CR', async () => {
    const stop = operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    await cluster.client.create(resources.KUBEVIRTS, kubevirt('another'));
    await cluster.clock.eventually(async () => expect(await cluster.conditions('another')).toBe('Synchronized:False:ExistingDeployment'));
    await cluster.client.delete(resources.KUBEVIRTS, 'kubevirt/another');
    expect(await cluster.kv('another')).toBeUndefined();
    expect(await cluster.conditions()).toContain('Available:True');
    await stop();
  });

  it('removes everything, virtual machines first, and can install again', async () => {
    const stop = operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    cluster.instances = 1;
    await cluster.client.delete(resources.KUBEVIRTS, 'kubevirt/kubevirt');
    await cluster.clock.advance(30_000);
    expect(await cluster.kv()).toMatchObject({ status: { phase: 'Deleting' } });
    expect(await cluster.conditions()).toContain('Degraded:True:DeletionInProgress');
    // While guests are left, everything still runs.
    expect(await cluster.client.find(resources.DEPLOYMENTS, 'kubevirt/virt-controller')).toBeDefined();

    cluster.instances = 0;
    for (const crd of cluster.server.store.list('apiextensions.k8s.io/customresourcedefinitions')) {
      const conditions = [{ type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted' }];
      cluster.server.store.update(
        'apiextensions.k8s.io/customresourcedefinitions',
        { ...crd, status: { conditions } } as KubeObject,
        'status',
      );
    }
    await cluster.clock.eventually(async () => expect(await cluster.kv()).toBeUndefined());
    const left = [
      ...['apps/deployments', 'apps/daemonsets', '/services', '/secrets', '/configmaps', '/serviceaccounts'],
      ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map((plural) => `rbac.authorization.k8s.io/${plural}`),
      ...['apiregistration.k8s.io/apiservices', 'apiextensions.k8s.io/customresourcedefinitions', 'policy/poddisruptionbudgets'],
      ...['validatingwebhookconfigurations', 'mutatingwebhookconfigurations', 'validatingadmissionpolicies'].map(
        (plural) => `admissionregistration.k8s.io/${plural}`,
      ),
    ].flatMap((collection) => cluster.server.store.list(collection).map(({ metadata }) => `${collection} ${metadata.name}`));
    expect(left).toEqual([]);

    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    await stop();
  });
});
