// virt-operator's installer against the simulated API server in virtual time: install, repair, rotate, update, remove, stay quiet.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Deployment, KubeObject, KubeVirt, Secret } from '../../src/api/index.js';
import { readCertificate } from '../../src/base/crypto/certificates.js';
import * as resources from '../../src/runtime/resources.js';
import { Cluster, ENV, kubevirt } from './installer-world.js';

describe('installer', () => {
  let cluster: Cluster;

  beforeEach(() => {
    cluster = new Cluster();
  });

  it('installs in order, says what it waits for, and then stays quiet', async () => {
    const stop = cluster.operate();
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
    const stop = cluster.operate();
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
    const stop = cluster.operate();
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

  it.each<[string, () => Promise<unknown>]>([
    [
      'its CR has a patch that does not fit',
      async () => {
        const broken = {
          resourceType: 'Deployment',
          resourceName: 'virt-api',
          type: 'json',
          patch: '[{"op":"remove","path":"/spec/nothing"}]',
        };
        await cluster.client.mergePatch(resources.KUBEVIRTS, 'kubevirt/kubevirt', { spec: { customizeComponents: { patches: [broken] } } });
        await cluster.until('Degraded:True:DeploymentFailed');
      },
    ],
    [
      'virtual machines keep it from being removed',
      async () => {
        cluster.instances = 1;
        await cluster.client.delete(resources.KUBEVIRTS, 'kubevirt/kubevirt');
      },
    ],
    [
      'somebody else keeps an object that was deleted',
      async () => {
        const finalizers = ['example.com/mine'];
        await cluster.client.mergePatch(resources.CLUSTER_ROLES, 'kubevirt.io:view', { metadata: { finalizers } });
        await cluster.client.delete(resources.CLUSTER_ROLES, 'kubevirt.io:view');
      },
    ],
  ])('renews certificates, and who trusts them, also while %s', async (_title, hinder) => {
    const stop = cluster.operate();
    const selfSigned = { ca: { duration: '2h' }, server: { duration: '30m' } };
    await cluster.client.create(resources.KUBEVIRTS, kubevirt('kubevirt', { certificateRotateStrategy: { selfSigned } }));
    await cluster.until('Available:True');
    await hinder();
    await cluster.clock.advance(2.2 * 3_600_000);
    const secret: Secret = await cluster.client.get(resources.SECRETS, 'kubevirt/kubevirt-virt-api-certs');
    const { data } = await cluster.client.get(resources.CONFIG_MAPS, 'kubevirt/kubevirt-ca');
    const [webhooks] = (await cluster.client.list(resources.VALIDATING_WEBHOOK_CONFIGURATIONS)).items;
    const decoded = (text = ''): string => Buffer.from(text, 'base64').toString();
    expect(readCertificate(decoded(secret.data?.['tls.crt']))?.notAfter).toBeGreaterThan(cluster.clock.now());
    expect(decoded(webhooks?.webhooks?.[0]?.clientConfig.caBundle)).toBe(data?.['ca-bundle']);
    expect(readCertificate(data?.['ca-bundle'] ?? '')?.notAfter).toBeGreaterThan(cluster.clock.now());
    await stop();
  });

  it('lets agents go first when it is updated, and keeps Available', async () => {
    let stop = cluster.operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True:AllComponentsReady');
    await stop();
    const image = 'registry.example/kv/control:v0.2.0';
    stop = cluster.operate({
      ...ENV,
      version: 'v0.2.0',
      operatorImage: image,
      apiImage: image,
      controllerImage: image,
      handlerImage: image,
    });
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
    const stop = cluster.operate();
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

  const commonNames = (): string[] =>
    ['virtualmachineclusterinstancetypes', 'virtualmachineclusterpreferences'].flatMap((plural) =>
      cluster.server.store.list(`instancetype.kubevirt.io/${plural}`).map(({ metadata }) => metadata.name ?? ''),
    );

  it('keeps the common instance types and preferences, unless the CR does not want them', async () => {
    const stop = cluster.operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    const all = commonNames();
    expect(all).toEqual(expect.arrayContaining(['u1.small', 'rt1.8xlarge', 'fedora', 'windows.2k25.virtio']));
    const small = {
      group: 'instancetype.kubevirt.io',
      version: 'v1beta1',
      plural: 'virtualmachineclusterinstancetypes',
      kind: '',
      namespaced: false,
    };
    await cluster.client.delete(small, 'u1.small');
    await cluster.clock.eventually(async () => expect(commonNames()).toHaveLength(all.length));
    expect((await cluster.kv())?.status?.generations?.filter(({ group }) => group.startsWith('instancetype'))).toEqual([]);
    await cluster.client.mergePatch(resources.KUBEVIRTS, 'kubevirt/kubevirt', {
      spec: { configuration: { commonInstancetypesDeployment: { enabled: false } } },
    });
    await cluster.clock.eventually(async () => expect(commonNames()).toEqual([]));
    await cluster.until('Available:True');
    await stop();
  });

  it('applies the patches and flags of the CR, and says which one does not fit', async () => {
    const stop = cluster.operate();
    const patch = (resourceName: string, type: string, content: unknown): object => ({
      resourceType: 'Deployment',
      resourceName,
      type,
      patch: JSON.stringify(content),
    });
    const customizeComponents = {
      flags: { api: { v: '4' } },
      patches: [patch('virt-controller', 'strategic', { spec: { replicas: 3 } })],
    };
    await cluster.client.create(resources.KUBEVIRTS, kubevirt('kubevirt', { customizeComponents } as KubeVirt['spec']));
    await cluster.until('Available:True');
    const { spec } = await cluster.client.get(resources.DEPLOYMENTS, 'kubevirt/virt-api');
    expect(spec?.template.spec?.containers[0]?.args?.slice(-2)).toEqual(['--v', '4']);
    expect((await cluster.client.get(resources.DEPLOYMENTS, 'kubevirt/virt-controller')).spec?.replicas).toBe(3);
    expect((await cluster.client.get(resources.POD_DISRUPTION_BUDGETS, 'kubevirt/virt-controller-pdb')).spec?.minAvailable).toBe(2);

    const broken = { patches: [patch('virt-api', 'json', [{ op: 'remove', path: '/spec/nothing' }])] };
    await cluster.client.mergePatch(resources.KUBEVIRTS, 'kubevirt/kubevirt', { spec: { customizeComponents: broken } });
    await cluster.until('Degraded:True:DeploymentFailed');
    const said = (await cluster.kv())?.status?.conditions?.find(({ type }) => type === 'Degraded')?.message;
    expect(said).toContain('the json patch of Deployment virt-api in spec.customizeComponents does not fit virt-api');
    await cluster.client.mergePatch(resources.KUBEVIRTS, 'kubevirt/kubevirt', { spec: { customizeComponents: null } });
    await cluster.until('Available:True');
    await stop();
  });

  it('brings monitoring when the Prometheus operator appears, and takes it away with everything else', async () => {
    const stop = cluster.operate();
    await cluster.client.create(resources.KUBEVIRTS, kubevirt());
    await cluster.until('Available:True');
    const monitored = (): string[] =>
      ['servicemonitors', 'prometheusrules'].flatMap((plural) =>
        cluster.server.store.list(`monitoring.coreos.com/${plural}`).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
      );
    expect(monitored()).toEqual([]);
    await cluster.client.create(resources.SERVICE_ACCOUNTS, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'prometheus-k8s', namespace: 'monitoring' },
    });
    for (const plural of ['servicemonitors', 'prometheusrules']) {
      const spec = { group: 'monitoring.coreos.com', names: { plural, kind: plural }, scope: 'Namespaced', versions: [] };
      await cluster.client.create(resources.CUSTOM_RESOURCE_DEFINITIONS, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.monitoring.coreos.com` },
        spec,
      });
    }
    const name = 'prometheus-kubevirt-rules';
    await cluster.clock.eventually(async () => expect(monitored()).toEqual([`monitoring/${name}`, `kubevirt/${name}`]));
    const before = cluster.count();
    await cluster.clock.advance(10 * 60_000);
    expect(cluster.server.writes.slice(before)).toEqual([]);
    await cluster.client.delete(resources.KUBEVIRTS, 'kubevirt/kubevirt');
    await cluster.clock.eventually(async () => expect(await cluster.kv()).toBeUndefined());
    expect(monitored()).toEqual([]);
    await stop();
  });

  it('refuses a second CR', async () => {
    const stop = cluster.operate();
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
    const stop = cluster.operate();
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
