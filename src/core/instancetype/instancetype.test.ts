// Instance types and preferences: what each field decides, what conflicts, what is required, where the objects are looked for.
import { describe, expect, it } from 'vitest';
import type {
  VirtualMachine,
  VirtualMachineInstanceSpec,
  VirtualMachineInstancetypeSpec,
  VirtualMachinePreferenceSpec,
} from '../../api/index.js';
import { clusterConfigOf } from '../config/cluster-config.js';
import { applyTo, type ControllerRevision, expandVm, lookupOf, requirementShortfall, specFrom, spreadProblem } from './index.js';
import { topologyFor } from './topology.js';

type Type = Partial<VirtualMachineInstancetypeSpec>;
const type = (more: Type = {}): VirtualMachineInstancetypeSpec => ({ cpu: { guest: 4 }, memory: { guest: '2Gi' }, ...more });
const spec = (more: object = {}, domain: object = {}): VirtualMachineInstanceSpec =>
  ({ domain: { devices: {}, ...domain }, ...more }) as VirtualMachineInstanceSpec;
const spread = (across?: string, ratio?: number): VirtualMachinePreferenceSpec => ({
  cpu: { preferredCPUTopology: 'spread', spreadOptions: { ...(across ? { across } : {}), ...(ratio ? { ratio } : {}) } },
});

describe('topologyFor', () => {
  it.each<[string, number, VirtualMachinePreferenceSpec | undefined, [number, number, number]]>([
    ['no preference', 4, undefined, [4, 1, 1]],
    ['any', 4, { cpu: { preferredCPUTopology: 'any' } }, [4, 1, 1]],
    ['cores', 4, { cpu: { preferredCPUTopology: 'cores' } }, [1, 4, 1]],
    ['the older spelling', 4, { cpu: { preferredCPUTopology: 'preferThreads' } }, [1, 1, 4]],
    ['a single vCPU', 1, { cpu: { preferredCPUTopology: 'cores' } }, [1, 1, 1]],
    ['spread', 6, spread(), [3, 2, 1]],
    ['spread with a ratio', 6, spread('SocketsCores', 3), [2, 3, 1]],
    ['spread with the older ratio', 8, { ...spread(), preferSpreadSocketToCoreRatio: 4 }, [2, 4, 1]],
    ['spread over cores and threads', 6, spread('CoresThreads'), [1, 3, 2]],
    ['spread over all', 8, spread('SocketsCoresThreads'), [2, 2, 2]],
    ['an unknown word', 4, { cpu: { preferredCPUTopology: 'rings' } }, [1, 1, 1]],
  ])('%s', (_name, vcpus, preference, [sockets, cores, threads]) => {
    expect(topologyFor(vcpus, preference)).toEqual({ sockets, cores, threads });
  });

  it.each<[number, VirtualMachinePreferenceSpec, boolean]>([
    [4, spread(), true],
    [5, spread(), false],
    [6, spread('SocketsCoresThreads'), false],
    [5, { cpu: { preferredCPUTopology: 'cores' } }, true],
  ])('%d vCPUs are even: %o', (guest, preference, even) => {
    expect(spreadProblem(type({ cpu: { guest } }), preference) === undefined).toBe(even);
  });
});

describe('applyTo with an instance type', () => {
  it('writes sizes, placement and devices', () => {
    const given = spec({}, { cpu: { features: [{ name: 'vmx' }] } });
    const metadata = {};
    const sizes = type({
      cpu: { guest: 2, model: 'host-model', dedicatedCPUPlacement: true, maxSockets: 8 },
      memory: { guest: '1000Mi', overcommitPercent: 15, hugepages: { pageSize: '2Mi' }, maxGuest: '4Gi' },
      nodeSelector: { zone: 'a' },
      schedulerName: 'packer',
      ioThreads: { supplementalPoolThreadCount: 2 },
      ioThreadsPolicy: 'supplementalPool',
      gpus: [{ name: 'g', deviceName: 'x/y' }],
      annotations: { note: 'n' },
    });
    expect(applyTo({ spec: given, metadata }, { instancetype: sizes })).toEqual([]);
    expect(given).toEqual({
      nodeSelector: { zone: 'a' },
      schedulerName: 'packer',
      domain: {
        cpu: {
          features: [{ name: 'vmx' }],
          model: 'host-model',
          dedicatedCpuPlacement: true,
          maxSockets: 8,
          sockets: 2,
          cores: 1,
          threads: 1,
        },
        memory: { guest: '1000Mi', hugepages: { pageSize: '2Mi' }, maxGuest: '4Gi' },
        resources: { requests: { memory: '850Mi' } },
        ioThreads: { supplementalPoolThreadCount: 2 },
        ioThreadsPolicy: 'supplementalPool',
        devices: { gpus: [{ name: 'g', deviceName: 'x/y' }] },
      },
    });
    expect(metadata).toEqual({ annotations: { note: 'n' } });
  });

  it.each<[string, Type, VirtualMachineInstanceSpec, string[]]>([
    ['cores', {}, spec({}, { cpu: { cores: 2 } }), ['spec.domain.cpu.cores']],
    ['cores of zero', {}, spec({}, { cpu: { cores: 0 } }), []],
    [
      'a CPU request and limit',
      {},
      spec({}, { resources: { requests: { cpu: 1 }, limits: { cpu: 1 } } }),
      ['spec.domain.resources.requests.cpu', 'spec.domain.resources.limits.cpu'],
    ],
    ['a model that only the VM names', {}, spec({}, { cpu: { model: 'm' } }), []],
    ['a model that both name', { cpu: { guest: 1, model: 'n' } }, spec({}, { cpu: { model: 'm' } }), ['spec.domain.cpu.model']],
    ['guest memory', {}, spec({}, { memory: { guest: '1Gi' } }), ['spec.domain.memory.guest']],
    ['memory limit', {}, spec({}, { resources: { limits: { memory: '1Gi' } } }), ['spec.domain.resources.limits.memory']],
    ['scheduler', { schedulerName: 'a' }, spec({ schedulerName: 'b' }), ['spec.schedulerName']],
    ['an empty list of GPUs', { gpus: [] }, spec({}, { devices: { gpus: [{ name: 'g' }] } }), []],
    ['GPUs', { gpus: [{ name: 'a', deviceName: 'd' }] }, spec({}, { devices: { gpus: [{ name: 'g' }] } }), ['spec.domain.devices.gpus']],
    [
      'several at once',
      { nodeSelector: {} },
      spec({ nodeSelector: {} }, { cpu: { threads: 2 } }),
      ['spec.nodeSelector', 'spec.domain.cpu.threads'],
    ],
  ])('%s', (_name, more, given, conflicts) => {
    expect(applyTo({ spec: given, metadata: {} }, { instancetype: type(more) }, 'spec')).toEqual(conflicts);
  });

  it('names a conflicting annotation from its own root, and keeps an equal one', () => {
    const metadata = { annotations: { a: '1', b: '2' } };
    expect(applyTo({ spec: spec(), metadata }, { instancetype: type({ annotations: { a: '1', b: '3' } }) })).toEqual(['annotations.b']);
  });
});

const preferring = (preference: VirtualMachinePreferenceSpec, given: VirtualMachineInstanceSpec): VirtualMachineInstanceSpec => {
  expect(applyTo({ spec: given, metadata: {} }, { preference })).toEqual([]);
  return given;
};

describe('applyTo with a preference', () => {
  it.each<[string, VirtualMachinePreferenceSpec, object, object]>([
    [
      'a disk without a target',
      { devices: { preferredDiskBus: 'virtio' } },
      { disks: [{ name: 'a' }] },
      { disks: [{ name: 'a', disk: { bus: 'virtio' } }] },
    ],
    [
      'a disk with a bus',
      { devices: { preferredDiskBus: 'virtio' } },
      { disks: [{ name: 'a', disk: { bus: 'sata' } }] },
      { disks: [{ name: 'a', disk: { bus: 'sata' } }] },
    ],
    [
      'a CD-ROM',
      { devices: { preferredCdromBus: 'scsi', preferredDiskCache: 'none' } },
      { disks: [{ name: 'a', cdrom: {} }] },
      { disks: [{ name: 'a', cdrom: { bus: 'scsi' } }] },
    ],
    [
      'an IO thread of its own, on virtio only',
      { devices: { preferredDiskDedicatedIoThread: true } },
      {
        disks: [
          { name: 'a', disk: { bus: 'sata' } },
          { name: 'b', disk: { bus: 'virtio' } },
        ],
      },
      {
        disks: [
          { name: 'a', disk: { bus: 'sata' } },
          { name: 'b', disk: { bus: 'virtio' }, dedicatedIOThread: true },
        ],
      },
    ],
    [
      'a switch that is off in the VM',
      { devices: { preferredAutoattachMemBalloon: true } },
      { autoattachMemBalloon: false },
      { autoattachMemBalloon: false },
    ],
    ['a switch that is open', { devices: { preferredAutoattachMemBalloon: false } }, {}, { autoattachMemBalloon: false }],
    ['hot-plug', { devices: { preferredDisableHotplug: false } }, { disableHotplug: true }, { disableHotplug: false }],
    ['a sound card', { devices: { preferredSoundModel: 'ac97' } }, { sound: { name: 's' } }, { sound: { name: 's', model: 'ac97' } }],
    ['no sound card', { devices: { preferredSoundModel: 'ac97' } }, {}, {}],
    ['video', { devices: { preferredVideoType: 'vga' } }, {}, { video: { type: 'vga' } }],
    ['a panic device', { devices: { preferredPanicDeviceModel: 'isa' } }, {}, { panicDevices: [{ model: 'isa' }] }],
  ])('%s', (_name, preference, given, wanted) => {
    expect(preferring(preference, spec({}, { devices: given })).domain.devices).toEqual(wanted);
  });

  it('binds an open interface of the pod network by masquerade', () => {
    const given = spec(
      {
        networks: [
          { name: 'a', pod: {} },
          { name: 'b', multus: { networkName: 'n' } },
        ],
      },
      { devices: { interfaces: [{ name: 'a' }, { name: 'b' }] } },
    );
    const preference = { devices: { preferredInterfaceMasquerade: {}, preferredInterfaceModel: 'e1000' } };
    expect(preferring(preference, given).domain.devices.interfaces).toEqual([
      { name: 'a', model: 'e1000', masquerade: {} },
      { name: 'b', model: 'e1000' },
    ]);
  });

  it.each<[string, NonNullable<VirtualMachinePreferenceSpec['firmware']>, object | undefined, object]>([
    ['EFI with its options', { preferredEfi: { persistent: true } }, undefined, { efi: { persistent: true } }],
    ['EFI by the older switches', { preferredUseEfi: true, preferredUseSecureBoot: false }, undefined, { efi: { secureBoot: false } }],
    ['the VM chose BIOS', { preferredEfi: {}, preferredUseBiosSerial: true }, { bios: {} }, { bios: { useSerial: true } }],
    ['BIOS before EFI', { preferredUseBios: true, preferredEfi: {} }, undefined, { bios: {} }],
  ])('firmware: %s', (_name, firmware, bootloader, wanted) => {
    const given = spec({}, bootloader ? { firmware: { bootloader } } : {});
    expect(preferring({ firmware }, given).domain.firmware?.bootloader).toEqual(wanted);
  });

  it('leaves what the template says', () => {
    const given = spec({ subdomain: 's' }, { clock: { timezone: 'UTC' }, features: { hyperv: { relaxed: { enabled: false } } } });
    preferring(
      {
        preferredSubdomain: 'p',
        preferredTerminationGracePeriodSeconds: 5,
        clock: { preferredClockOffset: { utc: {} }, preferredTimer: { hpet: { present: false } } },
        features: { preferredHyperv: { relaxed: {}, vapic: {} }, preferredSmm: {} },
        cpu: { preferredCPUFeatures: [{ name: 'vmx', policy: 'require' }] },
      },
      given,
    );
    expect(given).toMatchObject({ subdomain: 's', terminationGracePeriodSeconds: 5 });
    expect(given.domain).toMatchObject({
      clock: { timezone: 'UTC', timer: { hpet: { present: false } } },
      features: { hyperv: { relaxed: { enabled: false }, vapic: {} }, smm: {} },
      cpu: { features: [{ name: 'vmx', policy: 'require' }] },
    });
    expect(given.domain.clock).not.toHaveProperty('utc');
  });
});

describe('requirementShortfall', () => {
  const needs = (requirements: VirtualMachinePreferenceSpec['requirements'], cpu: VirtualMachinePreferenceSpec['cpu'] = {}) =>
    ({ cpu, ...(requirements ? { requirements } : {}) }) satisfies VirtualMachinePreferenceSpec;
  const at = 'spec.template.spec.domain';
  it.each<
    [string, VirtualMachinePreferenceSpec, VirtualMachineInstancetypeSpec | undefined, VirtualMachineInstanceSpec, string[] | undefined]
  >([
    ['nothing required', needs(undefined), undefined, spec(), undefined],
    ['small instance type', needs({ cpu: { guest: 8 } }), type(), spec(), ['spec.instancetype']],
    ['large instance type', needs({ cpu: { guest: 4 }, memory: { guest: '2Gi' } }), type(), spec(), undefined],
    ['no CPU', needs({ cpu: { guest: 2 } }), undefined, spec(), [`${at}.cpu`]],
    ['few sockets', needs({ cpu: { guest: 2 } }), undefined, spec({}, { cpu: { sockets: 1, cores: 4 } }), [`${at}.cpu.sockets`]],
    [
      'any',
      needs({ cpu: { guest: 4 } }, { preferredCPUTopology: 'any' }),
      undefined,
      spec({}, { cpu: { sockets: 2, cores: 2, threads: 1 } }),
      undefined,
    ],
    [
      'spread',
      needs({ cpu: { guest: 4 } }, { preferredCPUTopology: 'spread' }),
      undefined,
      spec({}, { cpu: { sockets: 1, cores: 2 } }),
      [`${at}.cpu.sockets`, `${at}.cpu.cores`],
    ],
    ['little memory', needs({ memory: { guest: '4Gi' } }), undefined, spec({}, { memory: { guest: '1Gi' } }), [`${at}.memory`]],
    ['architecture', needs({ architecture: 'arm64' }), undefined, spec({ architecture: 'amd64' }), ['spec.template.spec.architecture']],
  ])('%s', (_name, preference, instancetype, given, fields) => {
    expect(requirementShortfall({ preference, instancetype, spec: given })?.fields).toEqual(fields);
  });
});

const vm = (more: object, status?: object): VirtualMachine =>
  ({ metadata: { name: 'm', namespace: 'ns' }, spec: { template: {}, ...more }, ...(status ? { status } : {}) }) as VirtualMachine;
const revision = (kind: string, labels = {}): ControllerRevision => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name: 'r', labels },
  data: { kind, spec: type() },
});

function lookedUp(machine: VirtualMachine) {
  const lookup = lookupOf(machine, 'instancetype');
  if (!lookup) throw new Error('the VM names no instance type');
  return { ...lookup, family: 'instancetype' } as const;
}

describe('lookupOf and specFrom', () => {
  it.each<[string, object, object]>([
    ['no kind', { name: 'x' }, { ok: true, value: { kind: 'VirtualMachineClusterInstancetype', name: 'x' } }],
    [
      'own kind in plural',
      { name: 'x', kind: 'VirtualMachineInstancetypes' },
      { ok: true, value: { kind: 'VirtualMachineInstancetype', name: 'x', namespace: 'ns' } },
    ],
    ['unknown kind', { name: 'x', kind: 'Foo' }, { ok: false, error: expect.stringContaining('Foo') }],
  ])('%s', (_name, instancetype, object) => {
    expect(lookupOf(vm({ instancetype }), 'instancetype')).toEqual({ family: 'instancetype', object });
  });

  it('needs nothing for a VM without a matcher', () => expect(lookupOf(vm({}), 'preference')).toBeUndefined());

  it('takes the named revision alone', () => {
    const read = lookedUp(vm({ instancetype: { name: 'x', revisionName: 'r' } }));
    expect(specFrom(read, { object: { spec: type() } })).toMatchObject({ ok: false });
    expect(specFrom(read, { revision: revision('VirtualMachineInstancetype') })).toEqual({ ok: true, value: type() });
    expect(specFrom(read, { revision: revision('VirtualMachinePreference') })).toMatchObject({ ok: false });
  });

  it.each([
    undefined,
    {},
    { cpu: { guest: 1 } },
    { cpu: { guest: '1' }, memory: { guest: '1Gi' } },
    { cpu: { guest: 1 }, memory: { guest: 'x' } },
  ])('passes over a revision that holds %j', (held) => {
    const read = lookedUp(vm({ instancetype: { name: 'x', revisionName: 'r' } }));
    const broken = { ...revision('VirtualMachineInstancetype'), data: { kind: 'VirtualMachineInstancetype', spec: held } };
    expect(specFrom(read, { revision: broken })).toEqual({ ok: false, error: expect.stringContaining('required fields') });
  });

  it.each([
    ['of the same object', 'x', 4],
    ['of another object', 'y', 8],
  ])('takes the kept revision %s', (_name, label, guest) => {
    const kept = vm({ instancetype: { name: 'x' } }, { instancetypeRef: { controllerRevisionRef: { name: 'r' } } });
    const found = {
      revision: revision('VirtualMachineInstancetype', { 'instancetype.kubevirt.io/object-name': label }),
      object: { spec: type({ cpu: { guest: 8 } }) },
    };
    expect(specFrom(lookedUp(kept), found)).toMatchObject({ ok: true, value: { cpu: { guest } } });
  });
});

describe('expandVm', () => {
  const config = clusterConfigOf({});
  const named = (domain: object = {}): VirtualMachine =>
    vm({ instancetype: { name: 'x' }, template: { spec: spec({ volumes: [{ name: 'v', emptyDisk: { capacity: '1Gi' } }] }, domain) } });

  it('writes sizes, preferred buses and defaults, and drops the references', () => {
    const result = expandVm(named(), { instancetype: type(), preference: { devices: { preferredDiskBus: 'virtio' } } }, config);
    if (!result.ok) throw new Error(result.error.message);
    expect(result.value.spec).not.toHaveProperty('instancetype');
    expect(result.value.spec.template.spec?.domain).toMatchObject({
      cpu: { sockets: 4 },
      memory: { guest: '2Gi' },
      machine: { type: 'q35' },
      devices: { disks: [{ name: 'v', disk: { bus: 'virtio' } }] },
    });
  });

  it('names what conflicts', () => {
    expect(expandVm(named({ memory: { guest: '1Gi' } }), { instancetype: type() }, config)).toMatchObject({
      ok: false,
      error: {
        conflicts: ['spec.template.spec.domain.memory.guest'],
        message: expect.stringContaining('conflicts with selected instance type'),
      },
    });
  });

  it('answers a VM without references as it is', () => {
    const plain = vm({});
    expect(expandVm(plain, {}, config)).toEqual({ ok: true, value: plain });
  });
});
