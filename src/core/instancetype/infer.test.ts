// Inference from volumes: every chain from a volume to the object whose labels decide, and what happens when it ends without an answer.
import { describe, expect, it } from 'vitest';
import type { KubeObject, VirtualMachine } from '../../api/index.js';
import { inferMatchers, type VolumeSource } from './infer.js';

const LABELS = {
  'instancetype.kubevirt.io/default-instancetype': 'large',
  'instancetype.kubevirt.io/default-instancetype-kind': 'VirtualMachineInstancetype',
  'instancetype.kubevirt.io/default-preference': 'linux',
};
const TAKEN = { name: 'large', kind: 'VirtualMachineInstancetype' };

type Objects = Readonly<Record<string, { labels?: object; spec?: object }>>;

const object = (key: string, objects: Objects): KubeObject | undefined => {
  const found = objects[key];
  return found && ({ metadata: { name: key, labels: found.labels ?? {} }, spec: found.spec } as unknown as KubeObject);
};

interface Asked {
  readonly volume?: object;
  readonly templates?: object[];
  readonly policy?: string;
  readonly more?: object;
}

const vm = ({ volume = { persistentVolumeClaim: { claimName: 'c' } }, templates, policy, more }: Asked): VirtualMachine =>
  ({
    metadata: { name: 'm' },
    spec: {
      instancetype: { inferFromVolume: 'root', ...(policy ? { inferFromVolumeFailurePolicy: policy } : {}) },
      ...(templates ? { dataVolumeTemplates: templates } : {}),
      template: { spec: { domain: { devices: {}, memory: { guest: '1Gi' } }, volumes: [{ name: 'root', ...volume }] } },
      ...more,
    },
  }) as unknown as VirtualMachine;

const infer = (machine: VirtualMachine, objects: Objects = {}): ReturnType<typeof inferMatchers> =>
  inferMatchers(machine, 'shop', async ({ kind, namespace, name }: VolumeSource) => object(`${kind} ${namespace}/${name}`, objects));

const dv = { dataVolume: { name: 'd' } };
const template = (spec: object): object[] => [{ metadata: { name: 'd' }, spec }];
const labelled = { labels: LABELS };
const ref = { kind: 'DataSource', name: 's', namespace: 'images' };

describe('inferMatchers finds the labels of', () => {
  it.each<[string, Asked, Objects]>([
    ['a claim', {}, { 'PersistentVolumeClaim shop/c': labelled }],
    ['a DataVolume', { volume: dv }, { 'DataVolume shop/d': labelled }],
    ['the claim that a collected DataVolume has left', { volume: dv }, { 'PersistentVolumeClaim shop/d': labelled }],
    [
      'a DataVolume’s source claim',
      { volume: dv },
      {
        'DataVolume shop/d': { spec: { source: { pvc: { name: 'p', namespace: 'images' } } } },
        'PersistentVolumeClaim images/p': labelled,
      },
    ],
    [
      'a DataVolume’s source snapshot',
      { volume: dv },
      { 'DataVolume shop/d': { spec: { source: { snapshot: { name: 'p', namespace: 'images' } } } }, 'VolumeSnapshot images/p': labelled },
    ],
    ['a DataSource', { volume: dv }, { 'DataVolume shop/d': { spec: { sourceRef: ref } }, 'DataSource images/s': labelled }],
    ['a template’s DataSource', { volume: dv, templates: template({ sourceRef: ref }) }, { 'DataSource images/s': labelled }],
    [
      'a DataSource of the VM’s own namespace',
      { volume: dv, templates: template({ sourceRef: { kind: 'DataSource', name: 's' } }) },
      { 'DataSource shop/s': labelled },
    ],
    [
      'a template’s source claim without namespace',
      { volume: dv, templates: template({ source: { pvc: { name: 'p' } } }) },
      { 'PersistentVolumeClaim shop/p': labelled },
    ],
    [
      'the claim behind a DataSource',
      { volume: dv, templates: template({ sourceRef: ref }) },
      {
        'DataSource images/s': { spec: { source: { pvc: { name: 'p', namespace: 'images' } } } },
        'PersistentVolumeClaim images/p': labelled,
      },
    ],
    [
      'the snapshot behind a DataSource behind a DataSource',
      { volume: dv, templates: template({ sourceRef: ref }) },
      {
        'DataSource images/s': { spec: { source: { dataSource: { name: 't' } } } },
        'DataSource images/t': { spec: { source: { snapshot: { name: 'p', namespace: 'images' } } } },
        'VolumeSnapshot images/p': labelled,
      },
    ],
  ])('%s', async (_title, asked, objects) => {
    expect(await infer(vm(asked), objects)).toMatchObject({ ok: true, value: { spec: { instancetype: TAKEN } } });
  });
});

describe('inferMatchers without an answer', () => {
  const noLabel = { 'PersistentVolumeClaim shop/c': {} };
  it.each<[string, Asked, Objects, string]>([
    ['no such volume', { more: { template: { spec: { domain: { devices: {} } } } } }, {}, 'unable to find volume root'],
    ['a container disk', { volume: { containerDisk: { image: 'i' } } }, {}, 'type is not supported'],
    ['a claim that is missing', {}, {}, 'PersistentVolumeClaim shop/c was not found'],
    ['a claim without label', {}, noLabel, 'unable to find required instancetype.kubevirt.io/default-instancetype label'],
    ['a DataVolume from a registry', { volume: dv, templates: template({ source: { registry: {} } }) }, {}, 'neither a PVC'],
    ['another kind of reference', { volume: dv, templates: template({ sourceRef: { kind: 'Foo', name: 's' } }) }, {}, 'Kind Foo'],
    [
      'a ring of DataSources',
      { volume: dv, templates: template({ sourceRef: ref }) },
      { 'DataSource images/s': { spec: { source: { dataSource: { name: 's' } } } } },
      'circle',
    ],
  ])('refuses: %s', async (_title, asked, objects, message) => {
    expect(await infer(vm(asked), objects)).toEqual({ ok: false, error: expect.stringContaining(message) });
  });

  it.each<[string, Asked, Objects]>([
    ['a claim without label', { policy: 'Ignore' }, noLabel],
    ['a container disk', { policy: 'Ignore', volume: { containerDisk: { image: 'i' } } }, {}],
  ])('drops the reference when that may be ignored: %s', async (_title, asked, objects) => {
    const result = await infer(vm(asked), objects);
    if (!result.ok) throw new Error(result.error);
    expect(result.value.spec).not.toHaveProperty('instancetype');
    expect(result.value.spec.template.spec?.domain.memory).toEqual({ guest: '1Gi' });
  });

  it('does not ignore what is broken', async () => {
    expect(await infer(vm({ policy: 'Ignore' }))).toMatchObject({ ok: false });
  });
});

describe('inferMatchers', () => {
  const claim = { 'PersistentVolumeClaim shop/c': labelled };

  it('gives up the memory size that was meant for the other case', async () => {
    const result = await infer(vm({ policy: 'Ignore' }), claim);
    if (!result.ok) throw new Error(result.error);
    expect(result.value.spec.template.spec?.domain).not.toHaveProperty('memory');
  });

  it('infers both, the preference without a kind, and leaves the given VM alone', async () => {
    const given = vm({ more: { preference: { inferFromVolume: 'root' } } });
    const before = structuredClone(given);
    expect(await infer(given, claim)).toMatchObject({ value: { spec: { instancetype: TAKEN, preference: { name: 'linux' } } } });
    expect(given).toEqual(before);
  });

  it('leaves a VM that names its instance type as it is', async () => {
    const given = vm({ more: { instancetype: { name: 'x' } } });
    expect(await infer(given)).toEqual({ ok: true, value: given });
  });
});
