// Admission of VirtualMachines and updates of VMIs: what each stage refuses, and that it is the first that speaks.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachineInstance } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import type { Verdict } from '../../verdict.js';
import { admitVmiUpdate } from '../vmi/admit.js';
import { admitVm, admitVmStatus, type VmRequest } from './admit.js';

const config = clusterConfigOf({});
const vm = (spec: object = {}, status?: object, template: object = {}): VirtualMachine =>
  ({
    metadata: { name: 'test', namespace: 'default' },
    spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {}, memory: { guest: '1Gi' } }, ...template } }, ...spec },
    ...(status ? { status } : {}),
  }) as VirtualMachine;
const told = (verdict: Verdict): string[] | string => {
  if (verdict.allowed) return ['allowed', ...verdict.warnings];
  return 'causes' in verdict ? verdict.causes.map((c) => `${c.type.replace('FieldValue', '')} ${c.field}: ${c.message}`) : verdict.error;
};
const admit = (machine: VirtualMachine, rest: Partial<VmRequest> = {}): string[] | string =>
  told(admitVm({ vm: machine, namespace: 'default', isOwnAccount: false, ...rest }, config));

const template = (spec: object): object => ({ dataVolumeTemplates: [{ metadata: { name: 'dv' }, spec }] });
const used = { volumes: [{ name: 'v', dataVolume: { name: 'dv' } }] };
const sourced = { pvc: {}, source: { blank: {} } };

describe('admitVm with an instance type and a preference', () => {
  const machine = vm({}, undefined, { domain: { devices: {} } });
  const instancetype = { cpu: { guest: 3 }, memory: { guest: '2Gi' } };
  it.each<[string, VirtualMachine, NonNullable<VmRequest['chosen']>, unknown[]]>([
    ['found', machine, { instancetype }, ['allowed']],
    ['in conflict', vm(), { instancetype }, [expect.stringMatching(/^Invalid spec.template.spec.domain.memory.guest: VM field/)]],
    [
      'spread unevenly',
      machine,
      { instancetype, preference: { cpu: { preferredCPUTopology: 'spread' } } },
      [expect.stringMatching(/^Invalid instancetype.spec.cpu.guest: /)],
    ],
    [
      'too small',
      machine,
      { instancetype, preference: { requirements: { cpu: { guest: 4 } } } },
      [expect.stringMatching(/^NotFound spec.instancetype: failure checking preference requirements: /)],
    ],
    [
      'judged as expanded',
      machine,
      { preference: { devices: { preferredVideoType: 'vga' } }, instancetype: { ...instancetype, ioThreadsPolicy: 'none' } },
      [expect.stringContaining('ioThreadsPolicy')],
    ],
  ])('%s', (_name, given, chosen, wanted) => {
    expect(admit(given, { chosen })).toEqual(wanted);
  });
});

describe('admitVm', () => {
  it.each<[string, VirtualMachine, string[]]>([
    ['sound', vm(), ['allowed']],
    [
      'running',
      vm({ runStrategy: undefined, running: true }),
      ['allowed', 'spec.running is deprecated, please use spec.runStrategy instead: Always for true, Halted for false'],
    ],
    ['being deleted', { ...vm({ runStrategy: 'Nonsense' }), metadata: { deletionTimestamp: 'now' } }, ['allowed']],
    [
      'no template',
      vm({ template: undefined }),
      ['Required spec.template: missing virtual machine template: describe the guest under template.spec'],
    ],
    [
      'no run strategy',
      vm({ runStrategy: undefined }),
      ['Invalid spec.running: RunStrategy must be specified: set runStrategy to one of Halted, Manual, Always, RerunOnFailure, Once'],
    ],
    [
      'unknown run strategy',
      vm({ runStrategy: 'Sometimes' }),
      ['Invalid spec.runStrategy: Invalid RunStrategy (Sometimes): use one of Halted, Manual, Always, RerunOnFailure, Once'],
    ],
    ['both', vm({ running: true }), [expect.stringContaining('exclude each other')]],
    ['template rules', vm({}, undefined, { hostname: 'A' }), [expect.stringMatching(/^Invalid spec.template.spec.hostname: /)]],
    [
      'discontinued binding',
      vm({}, undefined, { domain: { devices: { interfaces: [{ name: 'n', slirp: {} }] } }, networks: [{ name: 'n', pod: {} }] }),
      ['Invalid spec.domain.devices.interfaces[0].slirp: the slirp binding is discontinued since v1.3: use masquerade or passtBinding'],
    ],
    ['DataVolume template', vm(template(sourced), undefined, used), ['allowed']],
    [
      'DataVolume template that nothing uses',
      vm(template(sourced)),
      [expect.stringMatching(/^Required spec.dataVolumeTemplate\[0\]: .*is not used/)],
    ],
    [
      'DataVolume template without storage',
      vm(template({ source: { blank: {} } }), undefined, used),
      ['Invalid spec.dataVolumeTemplate[0].PVC.Storage: the volume has no size: set storage (or pvc)'],
    ],
    [
      'DataVolume template without source',
      vm(template({ pvc: {} }), undefined, used),
      [expect.stringContaining('nothing fills the volume')],
    ],
    [
      'DataVolume template of two sources',
      vm(template({ pvc: {}, source: { blank: {}, upload: {} } }), undefined, used),
      ['Invalid spec.dataVolumeTemplate[0].source: source has several kinds: keep one'],
    ],
    [
      'DataVolume template of another namespace',
      vm({ dataVolumeTemplates: [{ metadata: { name: 'dv', namespace: 'other' }, spec: sourced }] }, undefined, used),
      [expect.stringContaining('differs from VM namespace default')],
    ],
    [
      'unaligned ceiling',
      vm({}, undefined, { architecture: 'amd64', domain: { devices: {}, memory: { guest: '1Gi', maxGuest: '1025Mi' } } }),
      ['Invalid spec.template.spec.domain.memory.guest: MaxGuest must be 2Mi aligned: change it, or leave maxGuest out'],
    ],
  ])('%s', (_title, machine, expected) => {
    expect(admit(machine)).toEqual(expected);
  });

  it.each<[string, VirtualMachine, VirtualMachine, string[]]>([
    [
      'volumes during a snapshot',
      vm({}, { snapshotInProgress: 's' }, { volumes: [{ name: 'x', emptyDisk: { capacity: '1Gi' } }] }),
      vm(),
      [expect.stringContaining('until snapshot "s" completes')],
    ],
    [
      'run state during a snapshot',
      vm({ runStrategy: 'Halted' }, { snapshotInProgress: 's' }),
      vm(),
      ['NotSupported spec: Cannot update vm running state until snapshot "s" completes: try again then'],
    ],
    [
      'run state during a restore',
      vm({ runStrategy: 'Halted' }, { restoreInProgress: 'r' }),
      vm(),
      ['NotSupported spec: Cannot update VM runStrategy until restore "r" completes: try again then'],
    ],
    ['something else during a restore', vm({}, { restoreInProgress: 'r' }), vm(), ['allowed']],
  ])('update: %s', (_title, machine, old, expected) => {
    expect(admit(machine, { old })).toEqual(expected);
  });
});

describe('volume requests', () => {
  const add = (disk: object, name = 'a'): object => ({
    addVolumeOptions: { name, disk, volumeSource: { persistentVolumeClaim: { claimName: 'c' } } },
  });
  const scsi = { name: 'a', disk: { bus: 'scsi' } };
  const status = (...volumeRequests: object[]): VirtualMachine => vm({}, { volumeRequests });
  it.each<[string, VirtualMachine, string[]]>([
    ['add', status(add(scsi)), ['allowed']],
    ['remove', status({ removeVolumeOptions: { name: 'a' } }), ['allowed']],
    ['neither', status({}), [expect.stringContaining('require one of either')]],
    ['both', status({ ...add(scsi), removeVolumeOptions: { name: 'a' } }), [expect.stringContaining('not both')]],
    [
      'twice',
      status(add(scsi), add(scsi)),
      ['Invalid Status.volumeRequests: AddVolume request for [a] already exists: wait until it is carried out'],
    ],
    [
      'wrong bus',
      status(add({ name: 'a', disk: { bus: 'sata' } })),
      [expect.stringContaining("requires bus to be 'scsi' or 'virtio', not [sata]")],
    ],
    ['CD-ROM', status(add({ name: 'a', cdrom: {} })), [expect.stringContaining("requires a disk of type 'disk' or 'lun'")]],
  ])('%s', (_title, machine, expected) => {
    expect(told(admitVmStatus({ vm: machine, namespace: 'default', isOwnAccount: false }, config))).toEqual(expected);
  });

  it('waits for a migration to end', () => {
    const vmi = {
      metadata: { name: 'test' },
      spec: vm().spec.template.spec,
      status: { migrationState: { startTimestamp: 't' } },
    } as unknown as VirtualMachineInstance;
    const verdict = admitVmStatus({ vm: status(add(scsi)), vmi, namespace: 'default', isOwnAccount: true }, config);
    expect(told(verdict)).toEqual([
      'NotSupported spec: Cannot handle volume requests while VMI migration is in progress: try again when it is over',
    ]);
  });
});

describe('admitVmiUpdate', () => {
  const claim = (name: string, claimName = name): object => ({ name, persistentVolumeClaim: { claimName, hotpluggable: true } });
  const vmi = (volumes: object[], disks: object[], rest: { status?: object; labels?: object; cpu?: object } = {}): VirtualMachineInstance =>
    ({
      metadata: { name: 'test', labels: rest.labels ?? {} },
      spec: { domain: { devices: { disks }, cpu: rest.cpu ?? {} }, volumes },
      status: { nodeName: 'node01', volumeStatus: [{ name: 'root', target: 'vda' }], ...rest.status },
    }) as unknown as VirtualMachineInstance;
  const root = { name: 'root', emptyDisk: { capacity: '1Gi' } };
  const rootDisk = { name: 'root', disk: { bus: 'virtio' } };
  const hotDisk = { name: 'hot', disk: { bus: 'scsi' } };
  const old = vmi([root], [rootDisk]);
  const update = (next: VirtualMachineInstance, rest: object = {}): string[] | string =>
    told(admitVmiUpdate({ vmi: next, old, isOwnAccount: true, isNodeAgent: false, ...rest }, config));

  it.each<[string, VirtualMachineInstance, object, string[]]>([
    [
      'a user changes the spec',
      vmi([root, claim('hot')], [rootDisk, hotDisk]),
      { isOwnAccount: false },
      ['NotSupported : update of VMI object is restricted: change the VirtualMachine that owns it, or use the subresources'],
    ],
    [
      'a user changes a reserved label',
      vmi([root], [rootDisk], { labels: { 'kubevirt.io/nodeName': 'x' } }),
      { isOwnAccount: false },
      [expect.stringContaining('kubevirt.io/nodeName are reserved')],
    ],
    ['a user changes another label', vmi([root], [rootDisk], { labels: { a: 'b' } }), { isOwnAccount: false }, ['allowed']],
    ['hot-plug', vmi([root, claim('hot')], [rootDisk, hotDisk]), {}, ['allowed']],
    [
      'hot-plug, and what is there said in other words',
      vmi(
        [{ name: 'root', emptyDisk: { capacity: '1024Mi' } }, claim('hot')],
        [{ name: 'root', disk: { bus: 'virtio', readonly: false } }, hotDisk],
      ),
      {},
      ['allowed'],
    ],
    [
      'hot-plug of something else',
      vmi([root, { name: 'hot', emptyDisk: {} }], [rootDisk, hotDisk]),
      {},
      ['Invalid : volume hot cannot be hot-plugged: only persistentVolumeClaim, dataVolume and memoryDump can'],
    ],
    [
      'hot-plug without disk',
      vmi([root, claim('hot')], [rootDisk]),
      {},
      ['Invalid : there are 2 volumes, and disks and filesystems for 1: each volume needs one, and each of them a volume'],
    ],
    [
      'a permanent volume goes',
      vmi([claim('hot')], [hotDisk]),
      {},
      ['Invalid : a volume that was there at boot was added or removed: only hot-plugged ones can be, others need a restart'],
    ],
    [
      'a permanent volume changes',
      vmi([{ name: 'root', emptyDisk: { capacity: '2Gi' } }], [rootDisk]),
      {},
      ['Invalid : volume root was there at boot and cannot change: change the VM and restart it, or migrate the volume'],
    ],
    [
      'the ceiling of sockets changes',
      vmi([root], [rootDisk], { cpu: { maxSockets: 8 } }),
      {},
      ['Invalid : maxSockets of a running guest cannot change: keep it, or change the VM and restart it'],
    ],
    ['the agent of the node', vmi([root], [rootDisk]), { isNodeAgent: true, nodeName: 'node01' }, ['allowed']],
    [
      'the agent of another node',
      vmi([root], [rootDisk]),
      { isNodeAgent: true, nodeName: 'node02' },
      ['Invalid : Node restriction: the virt-handler of node02 may only change VMIs that run on its node or migrate to it'],
    ],
    [
      'an agent without a node',
      vmi([root], [rootDisk]),
      { isNodeAgent: true },
      ['Invalid : Node restriction failed: the token of virt-handler names no node; it must be bound to its pod'],
    ],
  ])('%s', (_title, next, rest, expected) => {
    expect(update(next, rest)).toEqual(expected);
  });
});
