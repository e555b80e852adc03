// The handlers of the further kinds as the API server sees them: each on its path, only for its resource, reading what it needs and no more.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import { silentLogger } from '../../base/logger.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { HttpRequest } from '../../http/index.js';
import type { JsonPatchOperation, KubeClient, Resource, WriteOptions } from '../../runtime/types.js';
import { webhookRoutes } from '../server.js';

interface Written {
  readonly key: string;
  readonly operations: readonly JsonPatchOperation[];
  readonly options: WriteOptions | undefined;
}

interface World {
  readonly client: KubeClient;
  readonly written: Written[];
}

/** A cluster of a few objects; kinds without any are not installed. */
function world(...objects: KubeObject[]): World {
  const written: Written[] = [];
  const of = (kind: string): KubeObject[] => objects.filter((o) => o.kind === kind);
  const client = {
    find: async ({ kind }: Resource<KubeObject>, key: string) => of(kind).find((o) => `${o.metadata.namespace}/${o.metadata.name}` === key),
    list: async ({ kind }: Resource<KubeObject>) => {
      if (of(kind).length === 0) throw new KvError('NotFound', 'the server has no such kind');
      return { metadata: {}, items: of(kind) };
    },
    jsonPatch: async (_resource: unknown, key: string, operations: readonly JsonPatchOperation[], options?: WriteOptions) => {
      written.push({ key, operations, options });
    },
  };
  return { client: client as unknown as KubeClient, written };
}

interface Asked {
  readonly path: string;
  readonly resource: string;
  readonly object: object;
  readonly rest?: object;
}

async function ask({ client }: World, { path, resource, object, rest = {} }: Asked): Promise<Record<string, unknown>> {
  const [plural = '', version = '', group = ''] = splitResource(resource);
  const routes = webhookRoutes({
    client,
    config: () => clusterConfigOf({ evictionStrategy: 'LiveMigrate' }),
    installNamespace: 'kubevirt',
    clock: systemClock,
    log: silentLogger,
    randomUuid: () => '12345678-0000',
  });
  const route = routes.find((r) => r.path === path);
  const request = {
    uid: 'u',
    resource: { group, version, resource: plural },
    operation: 'CREATE',
    namespace: 'ns',
    name: 'pod',
    userInfo: { username: 'someone' },
    object,
    ...rest,
  };
  const answer = await route?.handler({
    path,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ request })),
  } as HttpRequest);
  return JSON.parse(String(answer?.body)).response;
}

/** `plural.version.group…`, as kubectl spells it. */
function splitResource(text: string): string[] {
  const [plural = '', version = '', ...group] = text.split('.');
  return [plural, version, group.join('.')];
}

const named = (kind: string, name: string, rest: object = {}): KubeObject => ({ kind, metadata: { name, namespace: 'ns' }, ...rest });
const vmi = named('VirtualMachineInstance', 'vm', {
  spec: {},
  status: { phase: 'Running', nodeName: 'node01', conditions: [{ type: 'LiveMigratable', status: 'True' }] },
});
const vm = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'vm' };

describe('paths', () => {
  const migration = { metadata: { name: 'm', namespace: 'ns' }, spec: { vmiName: 'vm' } };
  const migrations = 'virtualmachineinstancemigrations.v1.kubevirt.io';
  const backups = 'virtualmachinebackups.v1alpha1.backup.kubevirt.io';
  const restore = { metadata: { name: 'r' }, spec: { target: vm, virtualMachineSnapshotName: 's' } };
  const restores = 'virtualmachinerestores.v1beta1.snapshot.kubevirt.io';
  const clone = { metadata: { name: 'c' }, spec: { source: vm } };
  const clones = 'virtualmachineclones.v1beta1.clone.kubevirt.io';
  it.each<[string, string, string, object, object | undefined, boolean | RegExp]>([
    ['migration', '/migration-validate-create', migrations, migration, undefined, true],
    ['migration without a name', '/migration-validate-create', migrations, { ...migration, spec: {} }, undefined, /vmiName is missing/],
    ['migration on the wrong path', '/migration-validate-create', clones, migration, undefined, /expect resource/],
    [
      'migration of wrong structure',
      '/migration-validate-create',
      migrations,
      { ...migration, spec: { vmiName: 1 } },
      undefined,
      /vmiName in body/,
    ],
    [
      'migration changed',
      '/migration-validate-update',
      migrations,
      migration,
      { operation: 'UPDATE', oldObject: { ...migration, spec: {} } },
      /restricted/,
    ],
    [
      'policy',
      '/migration-policy-validate-create',
      'migrationpolicies.v1alpha1.migrations.kubevirt.io',
      { metadata: {}, spec: { completionTimeoutPerGiB: -1 } },
      undefined,
      /must not be negative/,
    ],
    ['restore while another is at work', '/virtualmachinerestores-validate', restores, restore, undefined, /"other" in progress/],
    [
      'restore changed',
      '/virtualmachinerestores-validate',
      restores,
      restore,
      { operation: 'UPDATE', oldObject: { ...restore, spec: {} } },
      /immutable/,
    ],
    [
      'backup without gate',
      '/virtualmachinebackups-validate',
      backups,
      { metadata: {}, spec: { source: vm } },
      undefined,
      /IncrementalBackup/,
    ],
    [
      'backup changed',
      '/virtualmachinebackups-validate',
      backups,
      { metadata: {}, spec: { source: vm } },
      { operation: 'UPDATE', oldObject: { spec: { source: vm } } },
      true,
    ],
    [
      'export',
      '/virtualmachineexports-validate',
      'virtualmachineexports.v1.export.kubevirt.io',
      { metadata: {}, spec: { source: vm } },
      undefined,
      true,
    ],
    ['clone', '/vm-clone-validate-create', clones, clone, undefined, true],
    [
      'preset',
      '/vmipreset-validate',
      'virtualmachineinstancepresets.v1.kubevirt.io',
      { metadata: {}, spec: { selector: {} } },
      undefined,
      /missing domain/,
    ],
    [
      'set',
      '/virtualmachinereplicaset-validate',
      'virtualmachineinstancereplicasets.v1.kubevirt.io',
      { metadata: {}, spec: { selector: {}, template: null } },
      undefined,
      /must be of type object/,
    ],
    [
      'instance type',
      '/virtualmachineinstancetypes-validate',
      'virtualmachineinstancetypes.v1beta1.instancetype.kubevirt.io',
      { metadata: {}, spec: { memory: { overcommitPercent: 101 } } },
      undefined,
      /range 0 to 100/,
    ],
    [
      'cluster preference',
      '/virtualmachineclusterpreferences-validate',
      'virtualmachineclusterpreferences.v1beta1.instancetype.kubevirt.io',
      { metadata: {}, spec: {} },
      undefined,
      true,
    ],
  ])('%s', async (_title, path, resource, object, rest, expected) => {
    const other = named('VirtualMachineRestore', 'other', { spec: { target: vm } });
    const response = await ask(world(vmi, other), { path, resource, object, ...(rest ? { rest } : {}) });
    expect(response.allowed).toBe(expected === true);
    if (expected instanceof RegExp) expect((response.status as { message: string }).message).toMatch(expected);
  });

  it.each<[string, string, object, object]>([
    [
      '/migration-mutate-create',
      migrations,
      migration,
      { finalizers: ['kubevirt.io/migrationJobFinalize'], labels: { 'kubevirt.io/vmi-name': 'vm' } },
    ],
    ['/vm-clone-mutate-create', clones, clone, { target: { ...vm, name: 'clone-vm-12345' } }],
  ])('%s fills in what is missing', async (path, resource, object, expected) => {
    const { patch } = await ask(world(), { path, resource, object });
    const [operation] = JSON.parse(Buffer.from(String(patch), 'base64').toString());
    expect(operation.value).toMatchObject(expected);
  });
});

describe('status', () => {
  const asked = (resource: string, object: object, rest: object = {}): Promise<Record<string, unknown>> =>
    ask(world(), {
      path: '/status-validate',
      resource: `${resource}.v1.kubevirt.io`,
      object,
      rest: { operation: 'UPDATE', oldObject: object, ...rest },
    });
  const set = { metadata: {}, spec: { selector: {}, template: { spec: { domain: { devices: {} } } } } };
  const stored = { metadata: {}, spec: { runStrategy: 'Halted', template: { spec: { domain: { devices: {} } } } } };

  it.each<[string, string, object, true | RegExp]>([
    ['a replica set', 'virtualmachineinstancereplicasets', { ...set, status: { replicas: 1 } }, true],
    [
      'a replica set of wrong type',
      'virtualmachineinstancereplicasets',
      { ...set, status: { replicas: 'one' } },
      /status\.replicas in body/,
    ],
    ['a migration', 'virtualmachineinstancemigrations', { metadata: {}, spec: {}, status: { phase: 1 } }, /status\.phase in body/],
    ['a VM', 'virtualmachines', { ...stored, status: { ready: false } }, true],
    ['a VM whose spec is refused by now', 'virtualmachines', { ...stored, spec: { ...stored.spec, runStrategy: 'Fly' }, status: {} }, true],
    ['requests without a volume', 'virtualmachines', { ...stored, status: { volumeRequests: [{}] } }, /one of/],
    ['requests of wrong type', 'virtualmachines', { ...stored, status: { volumeRequests: {} } }, /status\.volumeRequests in body/],
    ['something else', 'virtualmachineinstances', stored, /not checked here/],
  ])('%s', async (_title, resource, object, expected) => {
    const response = await asked(resource, object);
    expect(response.allowed).toBe(expected === true);
    if (expected !== true) expect((response.status as { message: string }).message).toMatch(expected);
  });

  it('does not judge a change of what cannot be read', async () => {
    const response = await asked('virtualmachines', { ...stored, status: {} }, { oldObject: { spec: 1 } });
    expect(response).toMatchObject({ allowed: false, status: { message: expect.stringMatching(/stored VirtualMachine cannot be read/) } });
  });
});

describe('launcher pods', () => {
  const filesystem = { name: 'token', virtiofs: {} };
  const volume = { name: 'token', containerPath: { path: '/var/run/secrets/token', readOnly: true } };
  const guest = named('VirtualMachineInstance', 'vm', { spec: { domain: { devices: { filesystems: [filesystem] } }, volumes: [volume] } });
  const compute = { name: 'compute', image: 'launcher', volumeMounts: [{ name: 't', mountPath: '/var/run/secrets' }] };
  const launcherPod = named('Pod', 'pod', { spec: { containers: [compute], volumes: [{ name: 't', projected: { sources: [] } }] } });
  launcherPod.metadata.labels = { 'kubevirt.io': 'virt-launcher' };
  launcherPod.metadata.ownerReferences = [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: 'vm', uid: 'u' }];
  const mutate = (around: World, object: object): Promise<Record<string, unknown>> =>
    ask(around, { path: '/virt-launcher-pod-mutate', resource: 'pods.v1.', object });

  it('get the daemons of containerPath volumes', async () => {
    const { patch, allowed } = await mutate(world(guest), launcherPod);
    const operations = JSON.parse(Buffer.from(String(patch), 'base64').toString());
    expect([allowed, operations]).toMatchObject([true, [{ op: 'add', path: '/spec/containers/-', value: { name: 'virtiofs-token' } }]]);
  });

  it.each<[string, World, object]>([
    ['without a VMI', world(), launcherPod],
    ['of someone else', world(guest), named('Pod', 'pod', { spec: { containers: [] } })],
    ['that have them', world(guest), { ...launcherPod, spec: { containers: [compute, { name: 'virtiofs-token' }] } }],
    ['that make no sense', world(guest), { ...launcherPod, spec: { containers: 7 } }],
    [
      'when the cluster does not answer',
      { client: { find: () => Promise.reject(new Error('no')) } as unknown as KubeClient, written: [] },
      launcherPod,
    ],
  ])('pass %s', async (_title, around, object) => {
    expect(await mutate(around, object)).toEqual({ uid: 'u', allowed: true });
  });
});

describe('pods/eviction', () => {
  const launcher = named('Pod', 'pod', { spec: { nodeName: 'node01' }, status: { phase: 'Running' } });
  launcher.metadata.labels = { 'kubevirt.io': 'virt-launcher' };
  launcher.metadata.annotations = { 'kubevirt.io/domain': 'vm' };
  const hotplug = named('Pod', 'pod');
  hotplug.metadata.labels = { 'kubevirt.io': 'hotplug-disk' };
  hotplug.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'launcher', uid: 'u' }];
  const owner = { ...launcher, metadata: { ...launcher.metadata, name: 'launcher' } };
  const evict = (around: World, rest: object = {}): Promise<Record<string, unknown>> =>
    ask(around, { path: '/pod-eviction-validate', resource: 'pods.v1.', object: { metadata: { name: 'pod' } }, rest });

  it.each([
    [false, {}],
    [true, { dryRun: true }],
  ])('marks the VMI and asks for another try (dry run: %s)', async (dryRun, options) => {
    const around = world(vmi, launcher);
    const response = await evict(around, { dryRun });
    expect(response).toMatchObject({ allowed: false, status: { code: 429 } });
    expect(around.written).toEqual([
      { key: 'ns/vm', operations: [{ op: 'add', path: '/status/evacuationNodeName', value: 'node01' }], options },
    ]);
  });

  it.each<[string, World, boolean]>([
    ['no pod', world(), true],
    ['a pod of someone else', world(named('Pod', 'pod')), true],
    ['a launcher whose VMI is gone', world(launcher), false],
    ['a hot-plug pod', world(vmi, hotplug, owner), false],
    ['a hot-plug pod whose VMI is gone', world(hotplug, owner), true],
    ['a hot-plug pod whose launcher is gone', world(vmi, hotplug), true],
  ])('%s', async (_title, around, allowed) => {
    expect(await evict(around)).toMatchObject({ allowed });
    expect(around.written).toEqual([]);
  });

  it('lets a pod go that cannot be read, and holds one whose VMI cannot be marked', async () => {
    const failing = { ...world(vmi, launcher).client, jsonPatch: () => Promise.reject(new KvError('Unavailable', 'no answer')) };
    expect(await evict({ client: failing as KubeClient, written: [] })).toMatchObject({ allowed: false, status: { code: 429 } });
    const blind = { find: () => Promise.reject(new KvError('Unavailable', 'no answer')) };
    expect(await evict({ client: blind as unknown as KubeClient, written: [] })).toMatchObject({ allowed: true });
  });
});
