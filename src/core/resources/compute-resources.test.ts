import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration, VirtualMachineInstance, VirtualMachineInstanceSpec } from '../../api/index.js';
import { parseQuantity } from '../../api/quantity.js';
import { clusterConfigOf } from '../config/cluster-config.js';
import { computeResources, type ResourceFacts } from './compute-resources.js';

type Domain = VirtualMachineInstanceSpec['domain'];

function vmi(domain: Partial<Domain> = {}, annotations: Record<string, string> = {}): VirtualMachineInstance {
  const devices = { interfaces: [{ name: 'default', masquerade: {} }] };
  return {
    metadata: { name: 'vm', annotations },
    spec: { domain: { cpu: { cores: 1 }, memory: { guest: '1Gi' }, ...domain, devices: { ...devices, ...domain.devices } } },
  };
}

interface Given extends Partial<Omit<ResourceFacts, 'config'>> {
  readonly config?: KubeVirtConfiguration;
}

const of = (given: VirtualMachineInstance, { config, ...facts }: Given = {}) =>
  computeResources(given, {
    config: clusterConfigOf(config),
    overhead: parseQuantity('100Mi'),
    autoCpuLimits: false,
    networkResources: [],
    ...facts,
  });

const pick = (of: Record<string, string>, ...names: string[]): (string | undefined)[] => names.map((name) => of[name]);

describe('requests and limits of compute', () => {
  it('gives a plain VMI a share of a CPU, its memory and the devices of its node', () => {
    expect(of(vmi())).toEqual({
      requests: { 'ephemeral-storage': '50M', memory: '1124Mi', cpu: '100m' },
      limits: { 'devices.kubevirt.io/kvm': '1', 'devices.kubevirt.io/tun': '1', 'devices.kubevirt.io/vhost-net': '1' },
    });
  });

  it.each([
    ['emulation needs no hardware', vmi(), { config: { developerConfiguration: { useEmulation: true } } }, ['tun']],
    [
      'another NIC model needs no vhost',
      vmi({ devices: { interfaces: [{ name: 'd', model: 'e1000', masquerade: {} }] } }),
      {},
      ['kvm', 'tun'],
    ],
    ['no network needs no tun', vmi({ devices: { interfaces: [], autoattachPodInterface: false } }), {}, ['kvm']],
    ['a vsock', vmi({ devices: { autoattachVSOCK: true } }), {}, ['kvm', 'tun', 'vhost-net', 'vhost-vsock']],
    [
      'another hypervisor',
      vmi(),
      { config: { hypervisors: [{ name: 'hyperv-direct' }], developerConfiguration: { featureGates: ['ConfigurableHypervisor'] } } },
      ['mshv', 'tun', 'vhost-net'],
    ],
  ])('%s', (_, given, facts, devices) => {
    const names = Object.keys(of(given, facts).limits).filter((name) => name.startsWith('devices.'));
    expect(names).toEqual(devices.map((device) => `devices.kubevirt.io/${device}`));
  });

  it.each([
    ['the guest’s memory', {}, {}, ['1124Mi', undefined]],
    ['the request, whatever the guest has', { resources: { requests: { memory: '2Gi' } } }, {}, ['2148Mi', undefined]],
    ['the limit as request', { resources: { limits: { memory: '2Gi' } } }, {}, ['2148Mi', '2148Mi']],
    ['no overhead in the request', { resources: { overcommitGuestOverhead: true, limits: { memory: '2Gi' } } }, {}, ['2Gi', '2148Mi']],
    ['the cluster’s overcommit', {}, { config: { developerConfiguration: { memoryOvercommit: 200 } } }, ['612Mi', undefined]],
    ['one huge page without guest memory', { memory: { hugepages: { pageSize: '2Mi' } } }, {}, ['100Mi', undefined]],
    [
      'what is asked for beyond the huge pages',
      { memory: { guest: '32Mi', hugepages: { pageSize: '2Mi' } }, resources: { requests: { memory: '64Mi' } } },
      {},
      ['132Mi', undefined],
    ],
    ['a limit where a quota asks for one', {}, { autoMemoryRatio: 1.5 }, ['1124Mi', '1686Mi']],
    ['the user’s limit under a quota', { resources: { limits: { memory: '2Gi' } } }, { autoMemoryRatio: 1.5 }, ['2148Mi', '2148Mi']],
  ])('memory: %s', (_, domain, facts, expected) => {
    const { requests, limits } = of(vmi(domain), facts);
    expect([requests.memory, limits.memory]).toEqual(expected);
  });

  it.each([
    ['a tenth a vCPU', { cpu: { cores: 4, sockets: 2 } }, {}, ['800m', undefined]],
    ['whole CPUs', { cpu: { cores: 40 } }, {}, ['4', undefined]],
    ['another ratio', {}, { config: { developerConfiguration: { cpuAllocationRatio: 4 } } }, ['250m', undefined]],
    ['pool threads count', { ioThreads: { supplementalPoolThreadCount: 3 } }, {}, ['400m', undefined]],
    ['the user’s own', { resources: { requests: { cpu: '50m' }, limits: { cpu: '1500m' } } }, {}, ['50m', '1500m']],
    ['a limit where the namespace asks for one', { cpu: { cores: 2 } }, { autoCpuLimits: true }, ['200m', '2']],
    ['dedicated', { cpu: { cores: 2, dedicatedCpuPlacement: true } }, {}, ['2', '2']],
    [
      'dedicated, with pool threads',
      { cpu: { cores: 2, dedicatedCpuPlacement: true }, ioThreads: { supplementalPoolThreadCount: 2 } },
      {},
      ['4', '4'],
    ],
    ['dedicated by the limit', { cpu: { dedicatedCpuPlacement: true }, resources: { limits: { cpu: '3' } } }, {}, ['3', '3']],
    ['one more for the emulator', { cpu: { cores: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true } }, {}, ['3', '3']],
  ])('CPU: %s', (_, domain, facts, expected) => {
    const { requests, limits } = of(vmi(domain), facts);
    expect([requests.cpu, limits.cpu]).toEqual(expected);
  });

  it.each([
    [2, '4'],
    [3, '4'],
  ])('completes pairs of CPUs for the emulator of %i vCPUs', (cores, cpus) => {
    const given = vmi(
      { cpu: { cores, dedicatedCpuPlacement: true, isolateEmulatorThread: true } },
      { 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity': '' },
    );
    expect(of(given).limits.cpu).toBe(cpus);
  });

  it('guarantees memory along with CPUs', () => {
    expect(of(vmi({ cpu: { cores: 2, dedicatedCpuPlacement: true } })).limits.memory).toBe('1124Mi');
  });

  it('counts devices, networks and secure guests as extended resources', () => {
    const { requests, limits } = of(
      vmi({
        devices: {
          gpus: [
            { name: 'a', deviceName: 'v.com/gpu' },
            { name: 'b', deviceName: 'v.com/gpu' },
          ],
        },
        launchSecurity: { sev: {} },
      }),
      { networkResources: ['v.com/nic'] },
    );
    const names = ['v.com/gpu', 'v.com/nic', 'devices.kubevirt.io/sev'];
    expect([pick(requests, ...names), pick(limits, ...names)]).toEqual([
      ['2', '1', '1'],
      ['2', '1', '1'],
    ]);
  });

  it.each([
    ['GPU', { gpus: [{ name: 'a', deviceName: 'v.com/other' }] }],
    ['HostDevice', { hostDevices: [{ name: 'a', deviceName: 'v.com/other' }] }],
  ])('refuses a %s that the cluster does not permit', (kind, devices) => {
    const config = { permittedHostDevices: { pciHostDevices: [{ pciVendorSelector: '1:2', resourceName: 'v.com/gpu' }] } };
    expect(() => of(vmi({ devices }), { config })).toThrow(`${kind} v.com/other is not permitted`);
  });

  it('claims devices of dynamic allocation once each', () => {
    const gpus = [
      { name: 'a', claimName: 'c', requestName: 'r' },
      { name: 'b', claimName: 'c', requestName: 'r' },
    ];
    expect(of(vmi({ devices: { gpus } })).claims).toEqual([{ name: 'c', request: 'r' }]);
  });
});
