import { describe, expect, it } from 'vitest';
import type { GPU, VirtualMachineInstanceSpec } from '../../api/index.js';
import { allocate, allocatedAddresses, deviceVariable } from './device-env.js';
import { type DeviceSources, needsUsbBus, passGpus, passHostDevices, passSriov } from './host-devices.js';
import { parsePciAddress, pciAddressOf } from './pci-address.js';

const sources = (env: Record<string, string>, claimedDevices?: DeviceSources['claimedDevices']): DeviceSources => ({
  env,
  ...(claimedDevices ? { claimedDevices } : {}),
});

describe('PCI addresses', () => {
  it('have four parts', () => {
    expect(parsePciAddress('0000:81:1f.7')).toEqual({ domain: '0x0000', bus: '0x81', slot: '0x1f', function: '0x7' });
  });

  it.each(['81:01.0', '0000:81:01.8', '0000:81:01', 'zzzz:81:01.0', '0000:81:01.0.1', ''])('%j is none', (text) => {
    expect(parsePciAddress(text)).toBeUndefined();
    expect(() => pciAddressOf(text, 'disk d')).toThrow('failed to configure disk d: failed to parse pci address');
  });
});

describe('the device plugins’ variables', () => {
  it('are named after resources', () => {
    expect(deviceVariable('mdev', 'nvidia.com/GRID_T4-1Q')).toBe('MDEV_PCI_RESOURCE_NVIDIA_COM_GRID_T4-1Q');
  });

  it.each([
    ['0000:81:01.0,0000:82:01.0', ['0000:81:01.0', '0000:82:01.0']],
    ['0000:81:01.0,', ['0000:81:01.0']],
    ['', []],
    [undefined, undefined],
  ])('%s', (value, want) => {
    expect(allocatedAddresses(value === undefined ? {} : { PCI_RESOURCE_A: value }, 'pci', 'a')).toEqual(want);
  });

  it('give each address once, whatever the resource', () => {
    const env = { PCI_RESOURCE_A: 'x,y', PCI_RESOURCE_B: 'x,z' };
    const devices = [{ deviceName: 'a' }, { deviceName: 'b' }, { deviceName: 'a' }, { deviceName: 'a' }];
    expect(allocate(devices, env, 'pci').map(({ address }) => address)).toEqual(['x', 'z', 'y']);
  });
});

describe('host devices', () => {
  const env = { PCI_RESOURCE_V_COM_NIC: '0000:81:01.0', MDEV_PCI_RESOURCE_V_COM_AP: 'uuid-1', USB_RESOURCE_V_COM_KEY: '1:2' };

  it('come as PCI, then mediated, then USB devices', () => {
    const wanted = ['key', 'ap', 'nic'].map((name) => ({ name, deviceName: `v.com/${name}` }));
    expect(passHostDevices(wanted, sources(env), 'amd64')).toEqual([
      { kind: 'pci', alias: 'hostdevice-nic', host: { domain: '0x0000', bus: '0x81', slot: '0x01', function: '0x0' } },
      { kind: 'mdev', alias: 'hostdevice-ap', uuid: 'uuid-1', model: 'vfio-pci' },
      { kind: 'usb', alias: 'usb-host-key', bus: '1', device: '2' },
    ]);
    expect(needsUsbBus(wanted, env)).toBe(true);
    expect(needsUsbBus(wanted.slice(1), env)).toBe(false);
  });

  it.each([
    [
      'is not allocated',
      { name: 'h', deviceName: 'v.com/none' },
      {},
      'the number of device plugin HostDevice/s do not match the number of devices',
    ],
    ['has a broken USB address', { name: 'h', deviceName: 'v.com/key' }, { USB_RESOURCE_V_COM_KEY: '1' }, '1 is no USB address'],
  ])('refuses one that %s', (_title, device, given, message) => {
    expect(() => passHostDevices([device], sources(given as Record<string, string>), 'amd64')).toThrow(message);
  });

  it('of claims come from their metadata', () => {
    const claim = { claimName: 'c', requestName: 'r' };
    const device = { name: 'h', ...claim };
    expect(passHostDevices([device], sources({}, [{ ...claim, mdevUuid: 'u' }]), 's390x')).toEqual([
      { kind: 'mdev', alias: 'dra-hostdevice-h', uuid: 'u', model: 'vfio-ap' },
    ]);
    expect(passHostDevices([device], sources({}, [{ ...claim, pciBusId: '0000:81:01.0' }]), 'amd64')[0]?.kind).toBe('pci');
    expect(() => passHostDevices([device], sources({}, []), 'amd64')).toThrow('request r of resource claim c of device h names neither');
    expect(passHostDevices([device], sources({}), 'amd64')).toEqual([]);
  });
});

describe('GPUs', () => {
  const env = { MDEV_PCI_RESOURCE_V_COM_VGPU: 'u1,u2', PCI_RESOURCE_V_COM_GPU: '0000:81:01.0' };
  const vgpu = (name: string, display?: object): GPU => ({
    name,
    deviceName: 'v.com/vgpu',
    ...(display ? { virtualGPUOptions: { display } } : {}),
  });
  const shown = (gpus: GPU[]): (string | undefined)[] =>
    passGpus(gpus, sources(env)).map(({ display, ramFb }) => [display && 'display', ramFb && 'ramfb'].filter(Boolean).join('+'));

  it.each<[string, GPU[], string[]]>([
    ['the first mediated one shows its screen', [vgpu('a'), vgpu('b')], ['display+ramfb', '']],
    ['unless one says something about it', [vgpu('a'), vgpu('b', {})], ['', 'display+ramfb']],
    ['display off', [vgpu('a', { enabled: false })], ['']],
    ['display without boot screen', [vgpu('a', { ramFB: { enabled: false } })], ['display']],
    ['a whole GPU only on request', [{ name: 'g', deviceName: 'v.com/gpu' }], ['']],
    ['a whole GPU with a mentioned display', [{ name: 'g', deviceName: 'v.com/gpu', virtualGPUOptions: { display: {} } }], ['']],
    [
      'a whole GPU on request',
      [{ name: 'g', deviceName: 'v.com/gpu', virtualGPUOptions: { display: { enabled: true } } }],
      ['display+ramfb'],
    ],
  ])('%s', (_title, gpus, want) => {
    expect(shown(gpus)).toEqual(want);
  });

  it('of a claim that also name a device are a plugin’s', () => {
    const gpu = { name: 'g', deviceName: 'v.com/none', claimName: 'c', requestName: 'r' };
    expect(() => passGpus([gpu], sources(env, []))).toThrow('the number of device plugin GPU/s do not match');
  });

  it('of claims show the first mediated one too', () => {
    const claim = { claimName: 'c', requestName: 'r' };
    expect(passGpus([{ name: 'g', ...claim }], sources({}, [{ ...claim, mdevUuid: 'u' }]))).toEqual([
      { kind: 'mdev', alias: 'dra-gpu-g', uuid: 'u', model: 'vfio-pci', display: true, ramFb: true },
    ]);
  });
});

describe('SR-IOV', () => {
  const spec: VirtualMachineInstanceSpec = {
    domain: {
      devices: {
        interfaces: [
          { name: 'fast', sriov: {} },
          { name: 'claimed', sriov: {} },
          { name: 'slow', bridge: {} },
        ],
      },
    },
    networks: [
      { name: 'fast', multus: { networkName: 'n' } },
      { name: 'claimed', resourceClaim: { claimName: 'c', requestName: 'r' } },
    ],
  };
  const aliases = (addresses: Record<string, string>, given: DeviceSources): string[] =>
    passSriov(spec, addresses, given).map(({ alias }) => alias);

  it('passes the functions that have an address by now', () => {
    const claimed = [{ claimName: 'c', requestName: 'r', pciBusId: '0000:84:00.0' }];
    expect(aliases({ fast: '0000:83:00.0' }, sources({}, claimed))).toEqual(['sriov-fast', 'sriov-claimed']);
    expect(aliases({}, sources({}))).toEqual([]);
    expect(() => aliases({}, sources({}, []))).toThrow('request r of resource claim c of network claimed names no PCI address');
  });
});
