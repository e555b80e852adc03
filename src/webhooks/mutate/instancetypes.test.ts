// A VM's instance type and preference in the webhooks as the API server calls them: looked up by name, inferred from a volume, checked
// against the template. The cluster is a list of objects.
import { describe, expect, it } from 'vitest';
import type { KubeObject, VirtualMachine } from '../../api/index.js';
import { systemClock } from '../../base/clock.js';
import { KvError } from '../../base/errors.js';
import { silentLogger } from '../../base/logger.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { HttpRequest } from '../../http/index.js';
import type { KubeClient, Resource } from '../../runtime/types.js';
import { webhookRoutes } from '../server.js';

interface Response {
  readonly allowed: boolean;
  readonly patch?: string;
  readonly status?: {
    readonly message: string;
    readonly code: number;
    readonly details?: { readonly causes: { readonly field: string }[] };
  };
}

const object = (kind: string, metadata: object, spec: object = {}): KubeObject => ({ kind, metadata, spec }) as KubeObject;
const keyOf = ({ metadata: { namespace, name } }: KubeObject): string => (namespace ? `${namespace}/${name}` : `${name}`);

/** Snapshots may not be read, as with virt-api's own rights. */
const clientOf = (objects: readonly KubeObject[]): KubeClient =>
  ({
    find: async ({ kind }: Resource<KubeObject>, key: string) => {
      if (kind === 'VolumeSnapshot') throw new KvError('Forbidden', `volumesnapshots "${key}" is forbidden`);
      return objects.find((o) => o.kind === kind && keyOf(o) === key);
    },
  }) as unknown as KubeClient;

const ask = (path: string, vm: VirtualMachine, ...objects: KubeObject[]): Promise<Response> => review(path, { object: vm }, objects);

async function review(path: string, rest: object, objects: readonly KubeObject[]): Promise<Response> {
  const routes = webhookRoutes({
    client: clientOf(objects),
    config: () => clusterConfigOf({}),
    installNamespace: 'kubevirt',
    clock: systemClock,
    log: silentLogger,
    randomUuid: () => '00000000-0000-4000-8000-000000000000',
  });
  const request = {
    uid: 'u',
    resource: { group: 'kubevirt.io', version: 'v1', resource: 'virtualmachines' },
    operation: 'CREATE',
    namespace: 'shop',
    userInfo: { username: 'somebody' },
    ...rest,
  };
  const http = { path, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify({ request })), params: {} };
  const answer = await routes.find((r) => r.path === path)?.handler(http as unknown as HttpRequest);
  return (JSON.parse(String(answer?.body)) as { response: Response }).response;
}

const vm = (spec: object, domain: object = {}): VirtualMachine =>
  ({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name: 'm', namespace: 'shop' },
    spec: {
      runStrategy: 'Always',
      template: {
        spec: { domain: { devices: {}, ...domain }, volumes: [{ name: 'root', persistentVolumeClaim: { claimName: 'c' } }] },
      },
      ...spec,
    },
  }) as VirtualMachine;

const MUTATE = '/virtualmachines-mutate';
const VALIDATE = '/virtualmachines-validate';

const mutatedSpec = async (machine: VirtualMachine, ...objects: KubeObject[]): Promise<VirtualMachine['spec']> =>
  specOf(await ask(MUTATE, machine, ...objects));

function specOf(response: Response): VirtualMachine['spec'] {
  if (!response.patch) throw new Error(`no patch: ${JSON.stringify(response)}`);
  const operations = JSON.parse(Buffer.from(response.patch, 'base64').toString()) as { path: string; value: VirtualMachine['spec'] }[];
  const spec = operations.find((o) => o.path === '/spec')?.value;
  if (!spec) throw new Error('the spec was not changed');
  return spec;
}

const claim = (labels: object): KubeObject => object('PersistentVolumeClaim', { name: 'c', namespace: 'shop', labels });
const preference = object('VirtualMachineClusterPreference', { name: 'linux' }, { machine: { preferredMachineType: 'pc-q35-rhel9.6.0' } });

describe('the mutating webhook', () => {
  it('infers both references and fixes what the inferred preference prefers', async () => {
    const labels = {
      'instancetype.kubevirt.io/default-instancetype': 'large',
      'instancetype.kubevirt.io/default-preference': 'linux',
    };
    const asked = vm({ instancetype: { inferFromVolume: 'root' }, preference: { inferFromVolume: 'root' } });
    const spec = await mutatedSpec(asked, claim(labels), preference);
    expect(spec).toMatchObject({ instancetype: { name: 'large' }, preference: { name: 'linux' } });
    expect(spec.template.spec?.domain.machine).toEqual({ type: 'pc-q35-rhel9.6.0' });
  });

  it.each([
    ['an update that comes without status', 'UPDATE', {}, 'pc-q35-kept'],
    ['a creation that comes with one', 'CREATE', { controllerRevisionRef: { name: 'r' } }, 'pc-q35-rhel9.6.0'],
  ])('looks at what the VM keeps: %s', async (_title, operation, sent, type) => {
    const labels = { 'instancetype.kubevirt.io/object-name': 'linux' };
    const data = { kind: 'VirtualMachineClusterPreference', spec: { machine: { preferredMachineType: 'pc-q35-kept' } } };
    const revision = { ...object('ControllerRevision', { name: 'r', namespace: 'shop', labels }), data };
    const machine = vm({ preference: { name: 'linux' } });
    const oldObject = { ...machine, status: { preferenceRef: { name: 'linux', controllerRevisionRef: { name: 'r' } } } };
    const rest = { operation, object: { ...machine, status: { preferenceRef: sent } }, ...(operation === 'UPDATE' ? { oldObject } : {}) };
    const spec = specOf(await review(MUTATE, rest, [preference, revision]));
    expect(spec.template.spec?.domain.machine).toEqual({ type });
  });

  it('writes a storage class into a template that has none', async () => {
    const fast = object('VirtualMachinePreference', { name: 'fast', namespace: 'shop' }, { volumes: { preferredStorageClassName: 'ssd' } });
    const asked = vm({
      preference: { name: 'fast', kind: 'VirtualMachinePreference' },
      dataVolumeTemplates: [{ metadata: { name: 'c' }, spec: { storage: {}, source: { blank: {} } } }],
    });
    expect((await mutatedSpec(asked, fast)).dataVolumeTemplates?.[0]?.spec.storage).toMatchObject({ storageClassName: 'ssd' });
  });

  it.each<[string, object, KubeObject[], string]>([
    ['a claim without label', { inferFromVolume: 'root' }, [claim({})], 'unable to find required'],
    ['no claim', { inferFromVolume: 'root', inferFromVolumeFailurePolicy: 'Ignore' }, [], 'was not found'],
    ['no such volume', { inferFromVolume: 'other' }, [], 'unable to find volume other'],
  ])('refuses %s', async (_title, instancetype, objects, message) => {
    const { allowed, status } = await ask(MUTATE, vm({ instancetype }), ...objects);
    expect({ allowed, code: status?.code, message: status?.message }).toEqual({
      allowed: false,
      code: 400,
      message: expect.stringContaining(message),
    });
  });

  it('tells what to do when it may not read the volume’s source', async () => {
    const template = { metadata: { name: 'd' }, spec: { source: { snapshot: { name: 's', namespace: 'shop' } }, storage: {} } };
    const asked = vm({
      instancetype: { inferFromVolume: 'root' },
      dataVolumeTemplates: [template],
      template: { spec: { domain: { devices: {} }, volumes: [{ name: 'root', dataVolume: { name: 'd' } }] } },
    });
    expect((await ask(MUTATE, asked)).status?.message).toContain('name the instance type');
  });
});

describe('the validating webhook', () => {
  const large = object('VirtualMachineClusterInstancetype', { name: 'large' }, { cpu: { guest: 2 }, memory: { guest: '1Gi' } });
  const demanding = object('VirtualMachineClusterPreference', { name: 'big' }, { requirements: { cpu: { guest: 4 } } });

  it.each<[string, VirtualMachine, string[]]>([
    ['a VM that leaves sizes to its instance type', vm({ instancetype: { name: 'large' } }), []],
    [
      'every field that both decide',
      vm({ instancetype: { name: 'large' } }, { memory: { guest: '1Gi' }, cpu: { sockets: 1 } }),
      ['spec.template.spec.domain.cpu.sockets', 'spec.template.spec.domain.memory.guest'],
    ],
    ['too small for its preference', vm({ instancetype: { name: 'large' }, preference: { name: 'big' } }), ['spec.instancetype']],
    ['an instance type that is not there yet', vm({ instancetype: { name: 'gone' } }), []],
  ])('%s', async (_title, machine, fields) => {
    const { status } = await ask(VALIDATE, machine, large, demanding);
    expect((status?.details?.causes ?? []).map((c) => c.field)).toEqual(fields);
  });
});
