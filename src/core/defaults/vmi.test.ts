// Defaults of VMIs and VMs: one row a field, by architecture and cluster configuration.
import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration, VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import { clusterConfigOf } from '../config/cluster-config.js';
import { canonicalVmiSpec, defaultVm, defaultVmi, defaultVmiSpec, memoryHotplugProblem } from './index.js';

type Spec = VirtualMachineInstanceSpec;
interface Given {
  readonly domain?: object;
  readonly devices?: object;
  readonly spec?: object;
}

const randomUuid = (): string => 'uuid';
const specOf = ({ domain = {}, devices = {}, spec = {} }: Given): Spec =>
  ({ architecture: 'amd64', domain: { memory: { guest: '1Gi' }, ...domain, devices }, ...spec }) as Spec;
const vmiOf = (given: Given): VirtualMachineInstance => ({ metadata: { name: 'test', namespace: 'default' }, spec: specOf(given) });

function defaulted(given: Given, configuration: KubeVirtConfiguration = {}, kv = {}): VirtualMachineInstance {
  const result = defaultVmi(vmiOf(given), clusterConfigOf(configuration, kv), { randomUuid });
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

const noNetwork = { autoattachPodInterface: false };

describe('defaultVmi', () => {
  it('gives a VMI that says nothing but its memory all it needs', () => {
    expect(defaulted({})).toEqual({
      metadata: { name: 'test', namespace: 'default', annotations: { 'kubevirt.io/pci-topology-version': 'v3' } },
      spec: {
        architecture: 'amd64',
        domain: {
          cpu: { sockets: 1, cores: 1, threads: 1, maxSockets: 4, model: 'host-model' },
          devices: { interfaces: [{ name: 'default', bridge: {} }] },
          features: { acpi: { enabled: true } },
          firmware: { uuid: 'uuid' },
          machine: { type: 'q35' },
          memory: { guest: '1Gi', maxGuest: '4Gi' },
          resources: {},
        },
        evictionStrategy: 'None',
        networks: [{ name: 'default', pod: {} }],
      },
      status: {
        currentCPUTopology: { sockets: 1, cores: 1, threads: 1 },
        memory: { guestAtBoot: '1Gi', guestCurrent: '1Gi', guestRequested: '1Gi' },
        runtimeUser: 107,
      },
    });
  });

  it.each<[string, Given, KubeVirtConfiguration, object]>([
    [
      'arm64',
      { spec: { architecture: 'arm64' } },
      {},
      { cpu: { model: 'host-passthrough' }, machine: { type: 'virt' }, firmware: { bootloader: { efi: { secureBoot: false } } } },
    ],
    [
      'POWER where it is configured',
      {
        spec: { architecture: 'ppc64le' },
        devices: {
          disks: [
            { name: 'r', disk: {} },
            { name: 'c', cdrom: {} },
          ],
        },
      },
      { architectureConfiguration: { ppc64le: {} } },
      {
        features: { acpi: { enabled: false } },
        machine: { type: 'pseries' },
        devices: {
          disks: [
            { name: 'r', disk: { bus: 'virtio' } },
            { name: 'c', cdrom: { bus: 'scsi' } },
          ],
        },
      },
    ],
    [
      'POWER where it is not',
      { spec: { architecture: 'ppc64le' } },
      {},
      { features: { acpi: { enabled: true } }, machine: { type: 'q35' } },
    ],
    ['s390x', { spec: { architecture: 's390x' } }, {}, { features: { acpi: { enabled: false } }, machine: { type: 's390-ccw-virtio' } }],
    ['CPU requests become sockets', { domain: { resources: { requests: { cpu: '2500m' } } } }, {}, { cpu: { sockets: 3, maxSockets: 12 } }],
    [
      'CPU limits become requests',
      { domain: { resources: { limits: { cpu: '2' } } } },
      {},
      { resources: { requests: { cpu: '2' } }, cpu: { sockets: 2 } },
    ],
    ['a cluster-wide CPU request', {}, { cpuRequest: '250m' }, { resources: { requests: { cpu: '250m' } } }],
    ['a cluster-wide CPU model', {}, { cpuModel: 'Haswell' }, { cpu: { model: 'Haswell' } }],
    ['a cluster-wide machine type', {}, { machineType: 'pc-q35-9' }, { machine: { type: 'pc-q35-9' } }],
    [
      'a machine type by architecture',
      {},
      { architectureConfiguration: { amd64: { machineType: 'pc-q35-7' } } },
      { machine: { type: 'pc-q35-7' } },
    ],
    [
      'a ceiling for sockets',
      { domain: { cpu: { sockets: 2 } } },
      { liveUpdateConfiguration: { maxCpuSockets: 16 } },
      { cpu: { maxSockets: 16 } },
    ],
    ['at most 512 vCPUs', { domain: { cpu: { sockets: 100, cores: 2, threads: 2 } } }, {}, { cpu: { maxSockets: 128 } }],
    [
      'masquerade by default',
      {},
      { network: { defaultNetworkInterface: 'masquerade' } },
      { devices: { interfaces: [{ name: 'default', masquerade: {} }] } },
    ],
    [
      'a feature that is named is on',
      { domain: { features: { smm: {}, apic: {} } } },
      {},
      { features: { smm: { enabled: true }, apic: { enabled: true } } },
    ],
    [
      'what Hyper-V features need',
      { domain: { features: { hyperv: { synictimer: {}, evmcs: {} } } } },
      {},
      {
        features: { hyperv: { synic: { enabled: true }, vpindex: { enabled: true }, vapic: { enabled: true } } },
        cpu: { features: [{ name: 'vmx', policy: 'require' }] },
      },
    ],
    [
      'disks',
      { devices: { disks: [{ name: 'a' }, { name: 'b', cdrom: {} }, { name: 'c', lun: {} }] } },
      {},
      {
        devices: {
          disks: [
            { name: 'a', disk: { bus: 'sata' } },
            { name: 'b', cdrom: { bus: 'sata', readonly: true, tray: 'closed' } },
            { name: 'c', lun: { bus: 'sata' } },
          ],
        },
      },
    ],
    [
      'a disk for every volume',
      { spec: { volumes: [{ name: 'x', emptyDisk: { capacity: '1024Mi' } }] } },
      {},
      { devices: { disks: [{ name: 'x', disk: { bus: 'sata' } }] } },
    ],
    ['watchdog', { devices: { watchdog: { name: 'w' } } }, {}, { devices: { watchdog: { name: 'w', i6300esb: { action: 'reset' } } } }],
    ['inputs', { devices: { inputs: [{ name: 'i' }] } }, {}, { devices: { inputs: [{ name: 'i', bus: 'usb', type: 'tablet' }] } }],
    ['timers', { domain: { clock: { timer: { hpet: {} } } } }, {}, { clock: { timer: { hpet: { present: true } } } }],
  ])('%s', (_title, given, configuration, expected) => {
    expect(defaulted(given, configuration).spec.domain).toMatchObject(expected);
  });

  it.each<[string, Given, KubeVirtConfiguration]>([
    ['arm64', { spec: { architecture: 'arm64' } }, {}],
    ['staged roll-out', {}, { vmRolloutStrategy: 'Stage' }],
    ['less than 1Gi', { domain: { memory: { guest: '512Mi' } } }, {}],
    ['unaligned memory', { domain: { memory: { guest: '1025Mi' } } }, {}],
    ['realtime', { domain: { cpu: { realtime: {} } } }, {}],
    ['encrypted', { domain: { launchSecurity: { sev: {} } } }, {}],
  ])('no memory hot-plug: %s', (_title, given, configuration) => {
    expect(defaulted(given, configuration).spec.domain.memory?.maxGuest).toBeUndefined();
  });

  it.each<[string, Given, string | undefined]>([
    ['latest', { spec: { volumes: [{ name: 'v', containerDisk: { image: 'r/i:latest' } }] } }, 'Always'],
    ['no tag', { spec: { volumes: [{ name: 'v', containerDisk: { image: 'image' } }] } }, 'Always'],
    ['tag', { spec: { volumes: [{ name: 'v', containerDisk: { image: 'r/i:v1' } }] } }, 'IfNotPresent'],
    ['digest', { spec: { volumes: [{ name: 'v', containerDisk: { image: 'r/i@sha256:1' } }] } }, 'IfNotPresent'],
    ['given', { spec: { volumes: [{ name: 'v', containerDisk: { image: 'r/i', imagePullPolicy: 'Never' } }] } }, 'Never'],
  ])('pull policy of a container disk: %s', (_title, given, expected) => {
    expect(defaulted(given).spec.volumes?.[0]?.containerDisk?.imagePullPolicy).toBe(expected);
  });

  it.each<[string, object, object | undefined]>([
    ['from the request', { memory: undefined, resources: { requests: { memory: '64M' } } }, { guest: '64M' }],
    ['from the limit', { memory: undefined, resources: { limits: { memory: '512Mi' } } }, { guest: '512Mi' }],
    ['from the huge page', { memory: { hugepages: { pageSize: '2Mi' } } }, { guest: '2Mi' }],
    ['none', { memory: undefined }, {}],
  ])('guest memory %s', (_title, domain, expected) => {
    expect(defaulted({ domain }).spec.domain.memory).toMatchObject(expected ?? {});
  });

  it('says why the cluster cannot give a network', () => {
    const config = clusterConfigOf({ network: { permitBridgeInterfaceOnPodNetwork: false } });
    expect(defaultVmi(vmiOf({}), config, { randomUuid })).toEqual({
      ok: false,
      error: 'bridge interface is not enabled in kubevirt-config',
    });
    expect(defaultVmiSpec(specOf({ devices: noNetwork }), config).ok).toBe(true);
  });

  it('copies cluster annotations and gates', () => {
    const domain = { cpu: { cores: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true } };
    const configuration = { developerConfiguration: { featureGates: ['AlignCPUs', 'Root'] } };
    const vmi = defaulted({ domain }, configuration, { annotations: { 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity': '' } });
    expect(vmi.metadata.annotations).toHaveProperty(['alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity'], '');
    expect(vmi.status?.runtimeUser).toBe(0);
  });

  it('changes nothing that it was given', () => {
    const given = vmiOf({ devices: { disks: [{ name: 'a' }] } });
    const before = structuredClone(given);
    defaultVmi(given, clusterConfigOf({}), { randomUuid });
    expect(given).toEqual(before);
  });
});

describe('defaultVm', () => {
  const vm = (spec: object = {}): VirtualMachine =>
    ({
      metadata: { name: 'test' },
      spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} }, ...spec } } },
    }) as VirtualMachine;
  const config = clusterConfigOf({});

  it('fixes architecture, machine, firmware and PCI layout on creation', () => {
    expect(defaultVm(vm(), config, { creating: true, randomUuid }).spec.template).toEqual({
      metadata: { annotations: { 'kubevirt.io/pci-topology-version': 'v3' } },
      spec: { architecture: 'amd64', domain: { devices: {}, firmware: { uuid: 'uuid', serial: 'uuid' }, machine: { type: 'q35' } } },
    });
  });

  it('takes the architecture of the boot source', () => {
    const template = defaultVm(vm(), config, { creating: true, randomUuid, sourceArchitecture: 's390x' }).spec.template;
    expect([template.spec?.architecture, template.spec?.domain.machine?.type, template.metadata]).toEqual([
      's390x',
      's390-ccw-virtio',
      undefined,
    ]);
  });

  it('leaves firmware and PCI layout alone on updates', () => {
    const template = defaultVm(vm(), config, { creating: false, randomUuid }).spec.template;
    expect([template.spec?.domain.firmware, template.metadata]).toEqual([undefined, undefined]);
  });
});

describe('canonicalVmiSpec', () => {
  it('leaves out what means nothing and writes quantities shortly', () => {
    const given = specOf({
      domain: { cpu: { cores: 0, sockets: 2 }, memory: { guest: '1024Mi' }, features: { kvm: { hidden: false } } },
      devices: { disks: [], interfaces: [{ name: 'n', acpiIndex: 0 }] },
      spec: { volumes: [{ name: 'h', hostDisk: { path: '/d', type: 'Disk' } }] },
    });
    expect(canonicalVmiSpec(given)).toEqual({
      architecture: 'amd64',
      domain: { cpu: { sockets: 2 }, memory: { guest: '1Gi' }, features: { kvm: {} }, devices: { interfaces: [{ name: 'n' }] } },
      volumes: [{ name: 'h', hostDisk: { path: '/d', type: 'Disk', capacity: '0' } }],
    });
  });
});

describe('memoryHotplugProblem', () => {
  it.each([
    ['4Gi', undefined],
    ['512Mi', 'Guest memory is greater than the configured maxGuest memory'],
    ['4097Mi', 'MaxGuest must be 2Mi aligned'],
    [undefined, 'Max guest memory must be configured when memory hotplug is enabled'],
  ])('1Gi up to %s', (maxGuest, expected) => {
    expect(memoryHotplugProblem(specOf({}), maxGuest)).toBe(expected);
  });
});
