// Which disks travel with the guest.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../api/index.js';
import { CHANNELS, channelOfPort, channelSocket, targetSocket } from './channels.js';
import { copiesDisks } from './volumes.js';

const vmi = (volume: object, disk: object = { disk: {} }, status: object = {}): VirtualMachineInstance => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec: { domain: { devices: { disks: [{ name: 'root', ...disk }] } }, volumes: [{ name: 'root', ...volume }] },
  status,
});

describe('copiesDisks', () => {
  it.each<[string, VirtualMachineInstance, boolean]>([
    ['a container disk', vmi({ containerDisk: { image: 'x' } }), true],
    ['an empty disk', vmi({ emptyDisk: { capacity: '1Gi' } }), true],
    ['an overlay over a claim', vmi({ ephemeral: { persistentVolumeClaim: { claimName: 'c' } } }), true],
    ['a claim', vmi({ persistentVolumeClaim: { claimName: 'c' } }), false],
    [
      'a claim that is exchanged for another',
      vmi({ dataVolume: { name: 'c' } }, undefined, { migratedVolumes: [{ volumeName: 'root' }] }),
      true,
    ],
    ['a shared host disk', vmi({ hostDisk: { path: '/x', type: 'Disk', shared: true } }), false],
    ['a CD-ROM', vmi({ cloudInitNoCloud: { userData: 'x' } }, { cdrom: {} }), false],
    ['a disk that the guest cannot write', vmi({ containerDisk: { image: 'x' } }, { disk: { readonly: true } }), false],
    ['a file system', { ...vmi({ configMap: { name: 'c' } }), spec: { domain: { devices: {} }, volumes: [] } }, false],
  ])('%s', (_title, given, expected) => {
    expect(copiesDisks(given)).toBe(expected);
  });
});

describe('channels', () => {
  it('have the reference’s names', () => {
    const dir = '/var/run/kubevirt/migrationproxy';
    expect((['libvirt', 'memory', 'disks'] as const).map((channel) => [channelSocket('u1', channel), targetSocket('u1', channel)])).toEqual(
      [
        [`${dir}/u1-source.sock`, '/var/run/libvirt/libvirt-sock'],
        [`${dir}/u1-49152-source.sock`, `${dir}/u1-49152-source.sock`],
        [`${dir}/u1-49153-source.sock`, `${dir}/u1-49153-source.sock`],
      ],
    );
    expect(Object.values(CHANNELS).map(channelOfPort)).toEqual(['libvirt', 'memory', 'disks']);
    expect(channelOfPort(1)).toBeUndefined();
  });
});
