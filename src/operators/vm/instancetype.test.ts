// What a VM keeps of its instance type and preference, what they make of its VMI, and when a running guest differs from them.
import { describe, expect, it } from 'vitest';
import type { ControllerRevision, InstancetypeStatusRef, VirtualMachine, VirtualMachineInstance } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { Chosen } from '../../core/instancetype/index.js';
import { comparedTemplates, withChosen, withRevisionNames } from './instancetype-apply.js';
import { type Matcher, nextRef, refPatch, revisionOf } from './instancetype-revision.js';
import { patienceMs } from './instancetype-sync.js';

const kept = { name: 'r1' };

describe('nextRef', () => {
  const own = 'VirtualMachineInstancetype';
  it.each<[string, Matcher, InstancetypeStatusRef | undefined, InstancetypeStatusRef]>([
    ['a new VM', { name: 'a' }, undefined, { name: 'a' }],
    ['a VM that keeps one', { name: 'a' }, { name: 'a', controllerRevisionRef: kept }, { name: 'a', controllerRevisionRef: kept }],
    ['another name', { name: 'b' }, { name: 'a', controllerRevisionRef: kept }, { name: 'b' }],
    ['another kind', { name: 'a', kind: own }, { name: 'a', controllerRevisionRef: kept }, { name: 'a', kind: own }],
    [
      'a kind that is no longer said',
      { name: 'a' },
      { name: 'a', kind: own, controllerRevisionRef: kept },
      { name: 'a', kind: own, controllerRevisionRef: kept },
    ],
    ['a named revision', { name: 'a', revisionName: 'r2' }, undefined, { name: 'a', controllerRevisionRef: { name: 'r2' } }],
    [
      'another named revision',
      { name: 'a', revisionName: 'r2' },
      { name: 'a', controllerRevisionRef: kept },
      { name: 'a', controllerRevisionRef: { name: 'r2' } },
    ],
    [
      'another policy only',
      { name: 'a', inferFromVolumeFailurePolicy: 'Ignore' },
      { name: 'a', controllerRevisionRef: kept },
      { name: 'a', inferFromVolumeFailurePolicy: 'Ignore', controllerRevisionRef: kept },
    ],
  ])('%s', (_title, matcher, current, expected) => {
    expect(nextRef(matcher, current)).toEqual(expected);
  });
});

describe('refPatch', () => {
  it('says nothing about an equal reference', () => expect(refPatch({ name: 'a' }, { name: 'a' })).toBeUndefined());
  it('removes what is gone', () => {
    expect(refPatch({ name: 'a', controllerRevisionRef: kept }, { name: 'b' })).toEqual({ name: 'b', controllerRevisionRef: null });
  });
});

const vm = (spec: object, status: object = {}): VirtualMachine =>
  ({
    metadata: { name: 'web', namespace: 'shop', uid: 'u' },
    spec: { template: { spec: { domain: { devices: {} } } }, ...spec },
    status,
  }) as VirtualMachine;

const typeNamed = (name: string, guest: number): ControllerRevision =>
  ({
    metadata: { name, labels: { 'instancetype.kubevirt.io/object-name': 'small' } },
    data: { kind: 'VirtualMachineClusterInstancetype', spec: { cpu: { guest }, memory: { guest: '1Gi' } } },
  }) as unknown as ControllerRevision;

describe('revisionOf', () => {
  it('holds the object without what changes nothing, and tells which one it is', () => {
    const metadata = { name: 'small', uid: 'i', generation: 3, labels: { a: 'b' }, managedFields: [{}], annotations: { c: 'd' } };
    const revision = revisionOf(vm({}), 'VirtualMachineClusterInstancetype', { metadata, spec: { cpu: { guest: 1 } } });
    expect(revision.metadata).toMatchObject({
      name: 'web-small-v1beta1-i-3',
      namespace: 'shop',
      labels: {
        'instancetype.kubevirt.io/object-generation': '3',
        'instancetype.kubevirt.io/object-kind': 'VirtualMachineClusterInstancetype',
        'instancetype.kubevirt.io/object-name': 'small',
        'instancetype.kubevirt.io/object-uid': 'i',
        'instancetype.kubevirt.io/object-version': 'v1beta1',
      },
      ownerReferences: [{ kind: 'VirtualMachine', uid: 'u', controller: true }],
    });
    expect(revision.data).toEqual({
      apiVersion: 'instancetype.kubevirt.io/v1beta1',
      kind: 'VirtualMachineClusterInstancetype',
      metadata: { name: 'small', uid: 'i', generation: 3 },
      spec: { cpu: { guest: 1 } },
    });
  });
});

describe('withChosen', () => {
  const config = clusterConfigOf({ network: { defaultNetworkInterface: 'masquerade' } });
  const vmi = (domain: object = {}): VirtualMachineInstance =>
    ({ metadata: { name: 'web' }, spec: { domain: { devices: {}, ...domain } } }) as VirtualMachineInstance;
  const small: Chosen = { instancetype: { cpu: { guest: 2 }, memory: { guest: '1Gi' } } };
  const started = (given: VirtualMachineInstance, spec: object, chosen: Chosen): ReturnType<typeof withChosen> =>
    withChosen(given, { vm: vm(spec), chosen, config });

  it('gives sizes, a network and the names of both', () => {
    const result = started(
      vmi(),
      { instancetype: { name: 'small' }, preference: { name: 'linux', kind: 'VirtualMachinePreference' } },
      small,
    );
    expect(result).toMatchObject({
      ok: true,
      value: {
        metadata: { annotations: { 'kubevirt.io/cluster-instancetype-name': 'small', 'kubevirt.io/preference-name': 'linux' } },
        spec: { domain: { cpu: { sockets: 2 }, memory: { guest: '1Gi' }, devices: { interfaces: [{ masquerade: {} }] } } },
      },
    });
  });

  it('adds the input device that the preference attaches, as it prefers it', () => {
    const devices = { preferredAutoattachInputDevice: true, preferredInputBus: 'virtio', preferredInputType: 'tablet' };
    expect(started(vmi(), { preference: { name: 'p' } }, { preference: { devices } })).toMatchObject({
      value: { spec: { domain: { devices: { inputs: [{ name: 'default-0', bus: 'virtio', type: 'tablet' }] } } } },
    });
  });

  it('adds no network that the preference does not want', () => {
    const result = started(vmi(), { preference: { name: 'p' } }, { preference: { devices: { preferredAutoattachPodInterface: false } } });
    expect(result).toMatchObject({ ok: true, value: { spec: expect.not.objectContaining({ networks: expect.anything() }) } });
  });

  it('says what conflicts', () => {
    expect(started(vmi({ memory: { guest: '2Gi' } }), { instancetype: { name: 'small' } }, small)).toEqual({
      ok: false,
      error: expect.stringContaining('spec.domain.memory.guest conflicts with selected instance type'),
    });
  });

  it('leaves a VMI alone whose VM refers to neither', () => expect(started(vmi(), {}, {})).toEqual({ ok: true, value: vmi() }));
});

describe('comparedTemplates', () => {
  const small = { instancetype: { name: 'small' } };
  const running = vm(small, { instancetypeRef: { name: 'small', controllerRevisionRef: kept } });
  const compare = (now: VirtualMachine, ...revisions: ControllerRevision[]): ReturnType<typeof comparedTemplates> =>
    comparedTemplates(now, withRevisionNames(running), revisions);

  it('shows no difference while the same revision is kept', () => {
    const result = compare(running, typeNamed('r1', 2));
    expect(result?.current).toEqual(result?.started);
    expect(result?.current?.domain.cpu).toMatchObject({ sockets: 2 });
  });

  it('shows the sizes of another revision', () => {
    const next = vm(small, { instancetypeRef: { name: 'small', controllerRevisionRef: { name: 'r2' } } });
    const result = compare(next, typeNamed('r1', 2), typeNamed('r2', 4));
    expect([result?.started?.domain.cpu?.sockets, result?.current?.domain.cpu?.sockets]).toEqual([2, 4]);
  });

  it('says nothing when a revision is missing', () => expect(compare(running)).toBeUndefined());

  it('compares templates as they are without references', () => {
    expect(comparedTemplates(vm({}), vm({}).spec, [])).toEqual({
      started: { domain: { devices: {} } },
      current: { domain: { devices: {} } },
    });
  });
});

describe('patienceMs', () => {
  it.each([
    [5_000, 1_000],
    [120_000, 10_000],
  ])('after %i ms', (age, expected) => {
    const created = '2026-01-01T00:00:00Z';
    expect(patienceMs({ metadata: { creationTimestamp: created } } as VirtualMachine, Date.parse(created) + age)).toBe(expected);
  });
});
