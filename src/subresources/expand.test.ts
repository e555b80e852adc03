// expand-spec and expand-vm-spec: what they answer, and what each says when something is missing or does not fit.
import { describe, expect, it } from 'vitest';
import type { KubeObject, VirtualMachine } from '../api/index.js';
import { silentLogger } from '../base/logger.js';
import { clusterConfigOf } from '../core/config/cluster-config.js';
import type { HttpRequest } from '../http/index.js';
import type { KubeClient, Resource } from '../runtime/types.js';
import { expandSpecHandler, expandVmSpecHandler } from './expand.js';

const type = {
  kind: 'VirtualMachineClusterInstancetype',
  metadata: { name: 'small' },
  spec: { cpu: { guest: 2 }, memory: { guest: '1Gi' } },
};
const preference = {
  kind: 'VirtualMachinePreference',
  metadata: { name: 'linux', namespace: 'shop' },
  spec: { devices: { preferredDiskBus: 'scsi' } },
};

const vm = (name: string, spec: object, domain: object = {}): VirtualMachine =>
  ({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace: 'shop' },
    spec: {
      template: { spec: { domain: { devices: {}, ...domain }, volumes: [{ name: 'root', containerDisk: { image: 'i' } }] } },
      ...spec,
    },
  }) as VirtualMachine;

const SMALL = { instancetype: { name: 'small' }, preference: { name: 'linux', kind: 'VirtualMachinePreference' } };
const OBJECTS: readonly object[] = [
  type,
  preference,
  vm('sized', SMALL),
  vm('plain', {}),
  vm('lost', { instancetype: { name: 'gone' } }),
  vm('torn', SMALL, { memory: { guest: '2Gi' } }),
];

const keyOf = ({ metadata: { namespace, name } }: KubeObject): string => (namespace ? `${namespace}/${name}` : `${name}`);
const client = {
  find: async ({ kind }: Resource<KubeObject>, key: string) => (OBJECTS as KubeObject[]).find((o) => o.kind === kind && keyOf(o) === key),
} as unknown as KubeClient;

const deps = { client, config: () => clusterConfigOf({}), log: silentLogger };
const structure = {
  problems: (_kind: string, object: unknown) => ((object as VirtualMachine).spec ? [] : ['spec in body is required']),
  completed: <T>(_kind: string, object: T): T => object,
};

interface Answer {
  readonly status: number;
  readonly body: VirtualMachine & { message?: string; details?: object };
}

async function answerOf(handler: ReturnType<typeof expandSpecHandler>, request: object): Promise<Answer> {
  const answer = await handler({ path: '/', params: { ns: 'shop' }, body: Buffer.alloc(0), ...request } as unknown as HttpRequest);
  return { status: answer.status, body: JSON.parse(String(answer.body)) };
}

const stored = (name: string): Promise<Answer> => answerOf(expandSpecHandler(deps), { params: { ns: 'shop', name } });
const given = (body: string): Promise<Answer> => answerOf(expandVmSpecHandler({ ...deps, structure }), { body: Buffer.from(body) });

const WRITTEN_OUT = {
  spec: {
    template: { spec: { domain: { cpu: { sockets: 2 }, memory: { guest: '1Gi' }, devices: { disks: [{ disk: { bus: 'scsi' } }] } } } },
  },
};

describe('expand-spec', () => {
  it('writes both out and drops the references', async () => {
    const { status, body } = await stored('sized');
    expect([status, body.spec.instancetype, body.spec.preference]).toEqual([200, undefined, undefined]);
    expect(body).toMatchObject(WRITTEN_OUT);
  });

  it('answers a VM without references as it is', async () => {
    expect(await stored('plain')).toEqual({ status: 200, body: vm('plain', {}) });
  });

  it.each([
    ['other', 404, 'virtualmachine.kubevirt.io "other" not found'],
    ['lost', 500, 'VirtualMachineClusterInstancetype gone was not found'],
    ['torn', 500, 'VM field(s) spec.template.spec.domain.memory.guest conflicts with selected instance type'],
  ])('of %s answers %i', async (name, status, message) => {
    const answer = await stored(name);
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe('expand-vm-spec', () => {
  const text = (machine: object): string => JSON.stringify(machine);
  const { namespace: _, ...metadata } = vm('new', SMALL).metadata;

  it('expands a VM that does not exist, in the namespace of the path', async () => {
    const { status, body } = await given(text({ ...vm('new', SMALL), metadata }));
    expect([status, body.metadata.namespace]).toEqual([200, 'shop']);
    expect(body).toMatchObject(WRITTEN_OUT);
  });

  it.each([
    ['nothing', '', 'empty request body'],
    ['no object', '[]', 'Can not unmarshal Request body'],
    ['no VM', '{}', 'Object is not a valid VirtualMachine'],
    [
      'another namespace',
      text({ ...vm('new', SMALL), metadata: { name: 'new', namespace: 'other' } }),
      'VM namespace must be empty or shop',
    ],
    ['a missing instance type', text(vm('new', { instancetype: { name: 'gone' } })), 'gone was not found'],
    ['a conflict', text(vm('new', SMALL, { memory: { guest: '2Gi' } })), 'conflicts with selected instance type'],
  ])('refuses %s', async (_title, body, message) => {
    const answer = await given(body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it('lists what is wrong with the structure', async () => {
    expect((await given('{}')).body.details).toEqual({ causes: [{ message: 'spec in body is required' }] });
  });
});
