import { describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import type { Volume } from '../../api/index.js';
import { planPreparedDisks, wholeMebibytes } from './prepared-disks.js';

const plan = (volumes: Volume[], disks = volumes.map(({ name }) => name), blockVolumes = new Set<string>()) =>
  planPreparedDisks(guest({ spec: { volumes }, devices: { disks: disks.map((name) => ({ name, disk: { bus: 'virtio' } })) } }), {
    containerDiskFormats: { image: 'raw' },
    blockVolumes,
  });

describe('planPreparedDisks', () => {
  it('overlays images by their place among the volumes', () => {
    const { overlays } = plan([
      { name: 'ci', cloudInitNoCloud: {} },
      { name: 'image', containerDisk: { image: 'i' } },
      { name: 'scratch', ephemeral: {} },
    ]);
    expect(overlays).toEqual([
      {
        volume: 'image',
        path: '/var/run/kubevirt-ephemeral-disks/disk-data/image/disk.qcow2',
        backingPath: '/var/run/kubevirt/container-disks/disk_1.img',
        backingFormat: 'raw',
      },
      {
        volume: 'scratch',
        path: '/var/run/kubevirt-ephemeral-disks/disk-data/scratch/disk.qcow2',
        backingPath: '/var/run/kubevirt-private/vmi-disks/scratch/disk.img',
        backingFormat: 'raw',
      },
    ]);
  });

  it('overlays block devices', () => {
    expect(plan([{ name: 'scratch', ephemeral: {} }], ['scratch'], new Set(['scratch'])).overlays[0]?.backingPath).toBe('/dev/scratch');
  });

  it('makes empty disks', () => {
    expect(plan([{ name: 'e', emptyDisk: { capacity: '1500k' } }]).emptyDisks).toEqual([
      { volume: 'e', path: '/var/run/libvirt/empty-disks/e.qcow2', bytes: 1024n * 1024n },
    ]);
  });

  it('makes ISOs of attached config volumes only', () => {
    const volumes: Volume[] = [
      { name: 'cm', configMap: { name: 'x', volumeLabel: 'label' } },
      { name: 'se', secret: {} },
      { name: 'da', downwardAPI: {} },
      { name: 'sa', serviceAccount: {} },
      { name: 'sys', sysprep: {} },
      { name: 'shared', configMap: {} },
    ];
    const { configIsos } = plan(volumes, ['cm', 'se', 'da', 'sa', 'sys']);
    expect(configIsos.map(({ volume, volumeId, sourceDir, iso }) => [volume, volumeId, sourceDir, iso])).toEqual([
      ['cm', 'label', '/var/run/kubevirt-private/config-map/cm', '/var/run/kubevirt-private/config-map-disks/cm.iso'],
      ['se', 'cfgdata', '/var/run/kubevirt-private/secret/se', '/var/run/kubevirt-private/secret-disks/se.iso'],
      ['da', 'cfgdata', '/var/run/kubevirt-private/downwardapi/da', '/var/run/kubevirt-private/downwardapi-disks/da.iso'],
      [
        'sa',
        'cfgdata',
        '/var/run/secrets/kubernetes.io/serviceaccount',
        '/var/run/kubevirt-private/service-account-disk/service-account.iso',
      ],
      ['sys', 'unattendCD', '/var/run/kubevirt-private/sysprep/sys', '/var/run/kubevirt-private/sysprep-disks/sys.iso'],
    ]);
    expect(configIsos.at(-1)?.requires).toEqual(['autounattend.xml', 'unattend.xml']);
  });

  it('waits for images', () => {
    expect(() => plan([{ name: 'unseen', containerDisk: { image: 'i' } }])).toThrow('no disk info provided for volume unseen');
  });
});

describe('wholeMebibytes', () => {
  it.each([
    ['1Gi', 2n ** 30n],
    ['1500k', 2n ** 20n],
    ['10M', 9n * 2n ** 20n],
  ])('%s', (capacity, want) => {
    expect(wholeMebibytes(capacity, 'e')).toBe(want);
  });

  it('refuses less than one', () => {
    expect(() => wholeMebibytes('1000k', 'e')).toThrow('the size for volume e is too low');
  });
});
