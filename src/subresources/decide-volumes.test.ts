// Hot-plug requests: bodies, the volumes that are there, requests that wait, and the patches that come of them.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { clusterConfigOf } from '../core/config/cluster-config.js';
import type { Decision } from './decide-vm.js';
import { addRequest, decideVmiVolume, decideVmVolume, gateRefusal, removeRequest, type VolumeRequest } from './decide-volumes.js';

const gates = (featureGates: string[], disabledFeatureGates: string[] = []) =>
  clusterConfigOf({ developerConfiguration: { featureGates, disabledFeatureGates } });
const DECLARATIVE = gates([]);
const REQUESTED = gates(['HotplugVolumes']);

const pvc = (claimName: string, hotpluggable?: boolean): object => ({
  persistentVolumeClaim: { claimName, ...(hotpluggable ? { hotpluggable } : {}) },
});
const VOLUMES = [
  { name: 'root', containerDisk: { image: 'x' } },
  { name: 'data', ...pvc('claim-data') },
  { name: 'extra', ...pvc('claim-extra', true) },
  { name: 'dv', dataVolume: { name: 'dv-source', hotpluggable: true } },
];
const DISKS = [{ name: 'root' }, { name: 'data' }, { name: 'extra', disk: { bus: 'scsi' } }, { name: 'dv' }];
const SPEC = { domain: { devices: { disks: DISKS } }, volumes: VOLUMES };
const BARE = { domain: { devices: {} } };

const vm = (spec: object, status?: object): VirtualMachine =>
  ({ metadata: { name: 'test', namespace: 'default' }, spec: { template: { spec } }, ...(status ? { status } : {}) }) as VirtualMachine;
const vmi = (phase: string, owner?: string, spec: object = SPEC): VirtualMachineInstance =>
  ({
    metadata: {
      name: 'test',
      namespace: 'default',
      ...(owner ? { ownerReferences: [{ kind: owner, controller: true, apiVersion: 'kubevirt.io/v1', name: 'o', uid: 'u' }] } : {}),
    },
    spec,
    status: { phase },
  }) as unknown as VirtualMachineInstance;

const add = (name: string, source: object = pvc('new-claim')): VolumeRequest => {
  const request = addRequest({ name, disk: { name: 'ignored', disk: { bus: 'scsi' } }, volumeSource: source });
  if (!request.ok) throw new Error(request.error.message);
  return request.value;
};
const remove = (name: string): VolumeRequest => ({ remove: { name } });

const told = (decision: Decision): unknown[] =>
  'refusal' in decision
    ? [`${decision.refusal.code} ${decision.refusal.message.replace(/^Operation cannot be fulfilled on .*?": /, '')}`]
    : decision.steps.flatMap(({ target, operations }) => operations.map((o) => [target, o.op, o.path, o.value]));

describe('bodies', () => {
  const disk = { name: 'x' };
  it.each([
    ['no name', addRequest({ disk, volumeSource: {} }), 'AddVolumeOptions requires name to be set'],
    ['no disk', addRequest({ name: 'a', volumeSource: {} }), 'AddVolumeOptions requires disk to not be nil'],
    ['no source', addRequest({ name: 'a', disk }), 'AddVolumeOptions requires VolumeSource to not be nil'],
    ['no name to remove', removeRequest({}), 'RemoveVolumeOptions requires name to be set'],
  ])('%s', (_title, request, message) => {
    expect(request).toMatchObject({ ok: false, error: { code: 400, message } });
  });

  it('names the disk as the volume and makes the source hot-pluggable', () => {
    expect(add('new')).toEqual({
      add: { name: 'new', disk: { name: 'new', disk: { bus: 'scsi' } }, volumeSource: pvc('new-claim', true) },
    });
    expect(add('new', { dataVolume: { name: 'd' } })).toMatchObject({ add: { volumeSource: { dataVolume: { hotpluggable: true } } } });
  });
});

describe('gateRefusal', () => {
  it.each([
    ['default', DECLARATIVE, undefined],
    ['the older gate', gates(['HotplugVolumes'], ['DeclarativeHotplugVolumes']), undefined],
    ['neither', gates([], ['DeclarativeHotplugVolumes']), { code: 400 }],
  ])('%s', (_title, config, refusal) => {
    if (refusal) expect(gateRefusal(config)).toMatchObject(refusal);
    else expect(gateRefusal(config)).toBeUndefined();
  });
});

describe('refusals', () => {
  it.each([
    ['name taken', add('data'), '409 Unable to add volume [data] because volume with that name already exists'],
    ['claim taken', add('new', pvc('claim-data')), '409 Unable to add volume source [claim-data] because it already exists'],
    [
      'data volume taken',
      add('new', { dataVolume: { name: 'dv-source' } }),
      '409 Unable to add volume source [dv-source] because it already exists',
    ],
    ['not there', remove('nothing'), '409 Unable to remove volume [nothing] because it does not exist'],
    ['fixed', remove('data'), '409 Unable to remove volume [data] because it is not hotpluggable'],
    ['fixed, by its claim', remove('claim-data'), '409 Unable to remove volume [data] because it is not hotpluggable'],
    ['no claim at all', remove('root'), '409 Unable to remove volume [root] because it is not hotpluggable'],
  ])('%s', (_title, request, expected) => {
    expect(told(decideVmVolume(vm(SPEC), request, DECLARATIVE))).toEqual([expected]);
    expect(told(decideVmiVolume(vmi('Running'), request, DECLARATIVE))).toEqual([expected]);
  });

  it.each(['', 'Pending', 'Scheduling', 'Scheduled', 'Succeeded', 'Failed', 'Unknown'])('VMI in phase %s', (phase) => {
    expect(told(decideVmiVolume(vmi(phase), add('new'), DECLARATIVE))).toEqual(['409 VMI is not running']);
  });

  it.each([
    ['its VM would put it back', 'VirtualMachine', DECLARATIVE, '400 VMI default/test is owned by a VM'],
    ['the VM leaves it alone', 'VirtualMachine', REQUESTED, undefined],
    ['of a replica set', 'VirtualMachineInstanceReplicaSet', DECLARATIVE, undefined],
  ] as const)('VMI with an owner: %s', (_title, owner, config, expected) => {
    const decision = decideVmiVolume(vmi('Running', owner), add('new'), config);
    if (expected) expect(told(decision)).toEqual([expected]);
    else expect(decision).toHaveProperty('steps');
  });
});

describe('patches of a spec', () => {
  const disk = { name: 'new', disk: { bus: 'scsi' } };
  const volume = { name: 'new', ...pvc('new-claim', true) };
  const patch = (target: string, prefix: string, volumes: unknown[], disks: unknown[]): unknown[] => [
    [target, 'test', `${prefix}/spec/volumes`, VOLUMES],
    [target, 'test', `${prefix}/spec/domain/devices/disks`, DISKS],
    [target, 'replace', `${prefix}/spec/volumes`, volumes],
    [target, 'replace', `${prefix}/spec/domain/devices/disks`, disks],
  ];
  const without = (name: string, list: readonly { name: string }[]): unknown[] => list.filter((item) => item.name !== name);

  it.each([
    ['add', add('new'), [...VOLUMES, volume], [...DISKS, disk]],
    ['remove', remove('extra'), without('extra', VOLUMES), without('extra', DISKS)],
    ['remove by its source', remove('dv-source'), without('dv', VOLUMES), without('dv', DISKS)],
  ])('%s', (_title, request, volumes, disks) => {
    expect(told(decideVmVolume(vm(SPEC), request, DECLARATIVE))).toEqual(patch('vm', '/spec/template', volumes, disks));
    expect(told(decideVmiVolume(vmi('Running'), request, DECLARATIVE))).toEqual(patch('vmi', '', volumes, disks));
  });

  it('adds the lists where there are none', () => {
    expect(told(decideVmVolume(vm(BARE), add('new'), DECLARATIVE))).toEqual([
      ['vm', 'test', '/spec/template/spec/volumes', null],
      ['vm', 'test', '/spec/template/spec/domain/devices/disks', null],
      ['vm', 'add', '/spec/template/spec/volumes', [volume]],
      ['vm', 'add', '/spec/template/spec/domain/devices/disks', [disk]],
    ]);
  });
});

describe('requests to the controller', () => {
  const PATH = '/status/volumeRequests';
  const added = { addVolumeOptions: (add('new') as { add: object }).add };
  const removed = { removeVolumeOptions: { name: 'extra' } };
  const decide = (request: VolumeRequest, status?: object) => told(decideVmVolume(vm(SPEC, status), request, REQUESTED));

  it.each([
    [
      'first status',
      add('new'),
      undefined,
      [
        ['vm-status', 'test', '/status', null],
        ['vm-status', 'add', '/status', { volumeRequests: [added] }],
      ],
    ],
    [
      'first',
      add('new'),
      { ready: true },
      [
        ['vm-status', 'test', PATH, null],
        ['vm-status', 'add', PATH, [added]],
      ],
    ],
    [
      'another waits',
      add('new'),
      { volumeRequests: [removed] },
      [
        ['vm-status', 'test', PATH, [removed]],
        ['vm-status', 'add', PATH, [removed, added]],
      ],
    ],
    [
      'a removal replaces an addition',
      remove('extra'),
      { volumeRequests: [{ addVolumeOptions: { name: 'extra' } }] },
      [
        ['vm-status', 'test', PATH, [{ addVolumeOptions: { name: 'extra' } }]],
        ['vm-status', 'add', PATH, [removed]],
      ],
    ],
    ['added already', add('new'), { volumeRequests: [added] }, ['409 add volume request for volume [new] already exists']],
    [
      'being removed',
      add('new'),
      { volumeRequests: [{ removeVolumeOptions: { name: 'new' } }] },
      ['409 unable to add volume since a remove volume request for volume [new] already exists and is still being processed'],
    ],
    [
      'removed already',
      remove('extra'),
      { volumeRequests: [removed] },
      ['409 a remove volume request for volume [extra] already exists and is still being processed'],
    ],
  ])('%s', (_title, request, status, expected) => {
    expect(decide(request, status)).toEqual(expected);
  });
});
