// What an installation looks like where it matters: rights, placement, security, names that must fit together.
import { describe, expect, it } from 'vitest';
import type { Container, KubeVirtSpec, PodSpec } from '../../../api/index.js';
import { type InstallContext, type InstallEnv, installContext, registryOf } from '../install-context.js';
import { targetOf } from '../target.js';
import { renderInstall, renderTrusting } from './index.js';
import { merged, operatorDeployment, operatorRbac, operatorRules } from './operator.js';
import { placed } from './placement.js';
import type { PolicyRule } from './rbac.js';
import { USER_RULES } from './rbac-users.js';

const env: InstallEnv = {
  namespace: 'kubevirt',
  version: 'v1',
  operatorImage: 'reg/kv/control:v1',
  apiImage: 'reg/kv/control:v1',
  controllerImage: 'reg/kv/control:v1',
  handlerImage: 'reg/kv/control:v1',
  launcherImage: 'reg/kv/launcher:v1',
  extraEnv: {},
};
const context = (spec: KubeVirtSpec = {}, nodes = 3): InstallContext =>
  installContext({ metadata: { name: 'kv' }, spec }, env, { schedulableNodes: nodes });
const set = (spec: KubeVirtSpec = {}, nodes = 3) => renderInstall(context(spec, nodes), () => true);
const pods = (spec: KubeVirtSpec = {}): PodSpec[] =>
  Object.values(set(spec).workloads).map((workload) => workload.spec?.template.spec as PodSpec);

const gates = (...featureGates: string[]) => ({ developerConfiguration: { featureGates } });

const allows = (rules: readonly PolicyRule[], group: string, resource: string, verb: string): boolean =>
  rules.some(
    ({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.includes(group) &&
      (resources.includes(resource) || resources.includes('*')) &&
      (verbs.includes(verb) || verbs.includes('*')),
  );

describe('rights', () => {
  it('gives the operator every right that it hands out', () => {
    const own = operatorRules();
    const inNamespace = operatorRbac('kubevirt').find(({ kind }) => kind === 'Role') as { rules?: PolicyRule[] } | undefined;
    for (const object of set().rbac) {
      const rules = (object as { rules?: PolicyRule[] }).rules ?? [];
      const held = object.kind === 'Role' ? [...own, ...(inNamespace?.rules ?? [])] : own;
      for (const { apiGroups = [], resources = [], verbs } of rules) {
        for (const resource of resources) {
          for (const verb of verbs)
            expect([object.metadata.name, resource, verb, allows(held, apiGroups[0] ?? '', resource, verb)]).toContain(true);
        }
      }
    }
  });

  it('merges rules without changing what they allow', () => {
    const rules: PolicyRule[] = [
      { apiGroups: ['a'], resources: ['x', 'y'], verbs: ['get'] },
      { apiGroups: ['a'], resources: ['x'], verbs: ['list'] },
      { apiGroups: ['b'], resources: ['x'], verbs: ['get'] },
    ];
    expect(merged(rules)).toEqual([
      { apiGroups: ['a'], resources: ['x'], verbs: ['get', 'list'] },
      { apiGroups: ['a'], resources: ['y'], verbs: ['get'] },
      { apiGroups: ['b'], resources: ['x'], verbs: ['get'] },
    ]);
  });

  it.each([
    ['admin', 'virtualmachineinstances/vnc/screenshot', 'get', true],
    ['edit', 'virtualmachineinstances/vnc/screenshot', 'get', false],
    ['edit', 'virtualmachineinstances/console', 'get', true],
    ['view', 'virtualmachineinstances/console', 'get', false],
    ['admin', 'virtualmachines/migrate', 'update', false],
    ['migrate', 'virtualmachines/migrate', 'update', true],
    ['edit', 'virtualmachines/start', 'update', true],
    ['view', 'virtualmachines/start', 'update', false],
    ['default', 'version', 'get', true],
  ] as const)('role %s: %s %s %s', (role, resource, verb, expected) => {
    expect(allows(USER_RULES[role], 'subresources.kubevirt.io', resource, verb)).toBe(expected);
  });

  it('aggregates roles only where the CR does not say Manual', () => {
    const label = (spec: KubeVirtSpec): string | undefined =>
      set(spec).rbac.find(({ metadata }) => metadata.name === 'kubevirt.io:edit')?.metadata.labels?.[
        'rbac.authorization.k8s.io/aggregate-to-edit'
      ];
    expect([label({}), label({ configuration: { roleAggregationStrategy: 'Manual' } })]).toEqual(['true', 'false']);
  });
});

describe('workloads', () => {
  it('mounts only secrets that are made, under accounts that exist', async () => {
    const { leafSpecs, AUTHORITIES } = await import('../certificates/specs.js');
    const made = new Set([...leafSpecs('kubevirt').map(({ secret }) => secret), ...AUTHORITIES.map(({ name }) => name)]);
    const accounts = new Set(
      set()
        .rbac.filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ metadata }) => metadata.name),
    );
    for (const pod of pods()) {
      const mounted = (pod.volumes ?? []).flatMap(({ secret }) => (secret?.secretName ? [secret.secretName] : []));
      expect(mounted.filter((name) => !made.has(name))).toEqual([]);
      expect(accounts.has(pod.serviceAccountName)).toBe(true);
      const volumes = (pod.volumes ?? []).map(({ name }) => name);
      for (const { volumeMounts = [] } of [...pod.containers, ...(pod.initContainers ?? [])]) {
        expect(volumeMounts.filter(({ name }) => !volumes.includes(name))).toEqual([]);
      }
    }
  });

  it('keeps everything but the node agent unprivileged', () => {
    const { api, controller } = set().workloads;
    for (const { spec } of [api, controller, operatorDeployment('kubevirt', { control: 'c', launcher: 'l', version: 'v' })]) {
      const pod = spec?.template.spec as PodSpec;
      expect(pod.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod.containers.map((container: Container) => container.securityContext?.capabilities)).toEqual([{ drop: ['ALL'] }]);
    }
  });

  it.each([
    [1, 1],
    [2, 2],
    [19, 2],
    [45, 4],
  ])('%d nodes: %d virt-api', (nodes, replicas) => {
    const { workloads, budgets } = set({}, nodes);
    expect(workloads.api.spec?.replicas).toBe(replicas);
    expect(budgets.some(({ metadata }) => metadata.name === 'virt-api-pdb')).toBe(replicas > 1);
  });

  it('places infrastructure on the control plane and agents everywhere, unless told otherwise', () => {
    const [api, , handler] = pods();
    expect(api?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toHaveLength(2);
    expect(api?.affinity?.podAntiAffinity).toBeDefined();
    expect(handler?.affinity).toBeUndefined();
    const nodePlacement = { nodeSelector: { zone: 'a' }, tolerations: [{ key: 'x', operator: 'Exists' }] };
    const [moved, , agents] = pods({ infra: { nodePlacement }, workloads: { nodePlacement } });
    expect(moved?.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux', zone: 'a' });
    expect(moved?.affinity?.nodeAffinity).toBeUndefined();
    expect([moved?.tolerations?.length, agents?.nodeSelector?.zone]).toEqual([2, 'a']);
  });

  it('joins affinities of both sides', () => {
    const term = (key: string) => ({ nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }] });
    const own = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term('own') } };
    const given = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term('given') } };
    const pod = placed({ containers: [], affinity: own }, { nodePlacement: { affinity: given } } as never, 'infra');
    expect(pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toHaveLength(2);
  });

  it.each<[string, KubeVirtSpec['configuration'], string, string]>([
    ['KVM', {}, 'kvm', 'kvm'],
    ['emulation', { developerConfiguration: { useEmulation: true } }, 'qemu', 'kvm'],
    ['another hypervisor', { hypervisors: [{ name: 'hyperv-direct' }], ...gates('ConfigurableHypervisor') }, 'hyperv', 'mshv'],
    ['another hypervisor without its gate', { hypervisors: [{ name: 'hyperv-direct' }] }, 'kvm', 'kvm'],
  ])('asks libvirt what nodes can do with %s', (_, configuration = {}, virtType, device) => {
    expect(pods({ configuration })[2]?.initContainers?.[0]?.env).toEqual([
      { name: 'PREFERRED_VIRTTYPE', value: virtType },
      { name: 'HYPERVISOR_DEVICE', value: device },
    ]);
  });

  it('holds the launcher image on each node when it needs a pull secret', () => {
    const spec = { imagePullSecrets: [{ name: 'ps' }] };
    const handler = pods(spec)[2];
    expect(handler?.containers.map(({ name }) => name)).toEqual(['virt-handler', 'virt-launcher-image-holder']);
    expect(handler?.imagePullSecrets).toEqual([{ name: 'ps' }]);
  });

  it.each<[string, KubeVirtSpec['configuration'], boolean]>([
    ['nothing said', {}, false],
    ['the setting', { persistentReservationConfiguration: { enabled: true } }, true],
    ['the gate of before', gates('PersistentReservation'), true],
    ['the setting against the gate', { persistentReservationConfiguration: { enabled: false }, ...gates('PersistentReservation') }, false],
  ])('runs the helper for reservations with %s', (_, configuration = {}, isThere) => {
    const handler = pods({ configuration })[2];
    expect(handler?.containers.some(({ name }) => name === 'pr-helper')).toBe(isThere);
    expect(handler?.volumes?.some(({ name }) => name === 'pr-helper-socket-vol')).toBe(isThere);
  });

  it('gives the helper for reservations the devices of the node and the folder that launchers get', () => {
    const configuration = { persistentReservationConfiguration: { enabled: true } };
    const handler = pods({ configuration })[2];
    const helper = handler?.containers.find(({ name }) => name === 'pr-helper');
    expect(helper).toMatchObject({
      image: 'reg/kv/launcher:v1',
      args: ['-k', '/var/run/kubevirt/daemons/pr/pr-helper.sock'],
      securityContext: { privileged: true, runAsUser: 0 },
    });
    expect(helper?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(['/var/run/kubevirt/daemons/pr', '/dev', '/etc/multipath']);
    expect(
      handler?.volumes?.filter(({ hostPath }) => hostPath?.type === 'DirectoryOrCreate').map(({ hostPath }) => hostPath?.path),
    ).toEqual(['/var/run/kubevirt/daemons/pr', '/etc/multipath']);
    expect(targetOf(context({ configuration }), set({ configuration })).id).not.toBe(targetOf(context(), set()).id);
  });
});

describe('target', () => {
  it('changes with what is installed and with nothing else', () => {
    const id = (spec: KubeVirtSpec): string => targetOf(context(spec), set(spec)).id;
    expect(id({})).toBe(id({ configuration: { developerConfiguration: { featureGates: ['Snapshot'] } } }));
    expect(id({})).not.toBe(id({ imagePullPolicy: 'Always' }));
  });

  it.each([
    ['reg.example:5000/a/b:v1', 'reg.example:5000/a'],
    ['image', ''],
  ])('registry of %s', (image, expected) => {
    expect(registryOf(image)).toBe(expected);
  });
});

it('trusts one bundle everywhere', () => {
  const texts = renderTrusting({ namespace: 'kubevirt', containerPaths: true, custom: undefined }, 'PEM').map((object) =>
    JSON.stringify(object),
  );
  for (const text of texts) expect(text).toContain(Buffer.from('PEM').toString('base64'));
  expect(texts).toHaveLength(6);
});
