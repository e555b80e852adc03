// What the kubelet hears of the devices of a resource, and what a container gets with them.
import { beforeEach, describe, expect, it } from 'vitest';
import { type SampleHost, sampleHost } from '../../../../test/fakes/sample-sysfs.js';
import { scratchDir } from '../../../../test/fakes/scratch.js';
import { allocate, type DeviceKind } from '../../../core/devices/device-env.js';
import { passHostDevices } from '../../../core/devices/host-devices.js';
import { offerSource, socketName } from './source.js';
import type { Offer, Unit } from './units.js';

const RESOURCE = 'nvidia.com/T4';
const OFFER: Offer = {
  kind: 'pci',
  resourceName: RESOURCE,
  units: [
    {
      id: '7',
      addresses: ['0000:65:00.0'],
      nodes: ['/dev/vfio/vfio', '/dev/vfio/7'],
      extraNodes: ['/dev/vfio/devices/vfio0', '/dev/vfio/devices/vfio1'],
      numaNode: 1,
    },
    { id: '8', addresses: ['0000:66:00.0'], nodes: ['/dev/vfio/vfio', '/dev/vfio/8'] },
    { id: '9', addresses: ['0000:67:00.0'], nodes: ['/dev/vfio/vfio'], isLost: true },
  ],
};

let host: SampleHost;
beforeEach(() => {
  host = sampleHost(scratchDir());
  for (const name of ['vfio', '7', '8', 'devices/vfio1']) host.device(`/dev/vfio/${name}`);
});
const source = () => offerSource(OFFER, () => OFFER.units, host.root);

describe('devices of a resource', () => {
  it('are healthy while their nodes are there', async () => {
    host.remove('/dev/vfio/8');
    expect(await source().look()).toEqual([
      { id: '7', healthy: true, numaNode: 1 },
      { id: '8', healthy: false },
      { id: '9', healthy: false },
    ]);
  });

  it('come with every node once, and with the addresses that the launcher looks for', async () => {
    const { devices, env } = await source().allocate(['7', '8']);
    expect(devices?.map(({ hostPath }) => hostPath)).toEqual(['/dev/vfio/vfio', '/dev/vfio/7', '/dev/vfio/devices/vfio1', '/dev/vfio/8']);
    expect(devices?.every(({ hostPath, containerPath, permissions }) => hostPath === containerPath && permissions === 'rw')).toBe(true);
    expect(env).toEqual({ PCI_RESOURCE_NVIDIA_COM_T4: '0000:65:00.0,0000:66:00.0' });
    const asked = [{ deviceName: RESOURCE }, { deviceName: RESOURCE }];
    expect(allocate(asked, env ?? {}, 'pci').map(({ address }) => address)).toEqual(['0000:65:00.0', '0000:66:00.0']);
  });

  it.each<[DeviceKind, string, Unit, object]>([
    ['pci', 'a.com/nic', { id: '8', addresses: ['0000:66:00.0'], nodes: ['/dev/vfio/8'] }, { kind: 'pci', host: { bus: '0x66' } }],
    ['mdev', 'a.com/vgpu', { id: '8', addresses: ['u1'], nodes: ['/dev/vfio/8'] }, { kind: 'mdev', uuid: 'u1' }],
    ['usb', 'a.com/stick.x', { id: '1:3', addresses: ['1:3'], nodes: ['/dev/vfio/8'] }, { kind: 'usb', bus: '1', device: '3' }],
  ])('of the kind %s are what the launcher passes on', async (kind, resourceName, unit, expected) => {
    const { env = {} } = await offerSource({ kind, resourceName, units: [unit] }, () => [unit], host.root).allocate([unit.id]);
    expect(passHostDevices([{ name: 'dev', deviceName: resourceName }], { env }, 'amd64')).toMatchObject([expected]);
  });

  it.each([
    ['one that is lost', '9', 'has left this node'],
    ['one that nobody knows', '70', 'has left this node'],
    ['one whose node is gone', '8', 'has no /dev/vfio/8'],
  ])('refuse %s', async (_, id, message) => {
    host.remove('/dev/vfio/8');
    await expect(source().allocate([id])).rejects.toThrow(message);
  });
});

describe('socketName', () => {
  it('stays short, and tells long names apart', () => {
    expect(socketName(RESOURCE)).toBe('nvidia.com-T4');
    const [a, b] = ['a', 'b'].map((end) => socketName(`devices.of.a.long.domain.example.com/${'x'.repeat(40)}${end}`));
    expect(a).not.toBe(b);
    expect(Math.max(a?.length ?? 99, b?.length ?? 99)).toBeLessThan(45);
  });
});
