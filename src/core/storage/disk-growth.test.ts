// Which disks may grow, and how far.
import { describe, expect, it } from 'vitest';
import type { Disk, PersistentVolumeClaimInfo, VirtualMachineInstance, Volume } from '../../api/index.js';
import { planGrowth } from './disk-growth.js';

const claim: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };
const grown: PersistentVolumeClaimInfo = {
  capacity: { storage: '10Gi' },
  requests: { storage: '10Gi' },
  volumeMode: 'Filesystem',
  filesystemOverhead: '0.055',
};

const vmi = (volume: Volume, info?: PersistentVolumeClaimInfo, disk: Partial<Disk> = {}): VirtualMachineInstance => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'vm' },
  spec: { domain: { devices: { disks: [{ name: 'data', ...disk }] } }, volumes: [volume] },
  ...(info ? { status: { volumeStatus: [{ name: 'data', target: 'vda', persistentVolumeClaimInfo: info }] } } : {}),
});

const MIB = 1024n ** 2n;

describe('planGrowth', () => {
  it.each<[string, VirtualMachineInstance, object[]]>([
    // 10240 MiB less 5.5 % are 9676.8 MiB.
    ['a filesystem keeps its share', vmi(claim, grown), [{ volume: 'data', bytes: 9676n * MIB, isPreallocated: false }]],
    [
      'the smaller of request and capacity counts',
      vmi(claim, { ...grown, requests: { storage: '5Gi' }, filesystemOverhead: '0' }),
      [{ volume: 'data', bytes: 5120n * MIB, isPreallocated: false }],
    ],
    ['a device is its own measure', vmi(claim, { ...grown, volumeMode: 'Block' }), [{ volume: 'data', isPreallocated: false }]],
    [
      'preallocated blocks stay so',
      vmi({ name: 'data', dataVolume: { name: 'c' } }, { ...grown, preallocated: true }),
      [{ volume: 'data', bytes: 9676n * MIB, isPreallocated: true }],
    ],
    ['nothing is known of the claim', vmi(claim), []],
    ['nothing is known of the filesystem', vmi(claim, { capacity: { storage: '1Gi' }, volumeMode: 'Filesystem' }), []],
    ['a share of everything is nonsense', vmi(claim, { ...grown, filesystemOverhead: '1' }), []],
    ['a read-only claim', vmi({ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } }, grown), []],
    ['an overlay', vmi({ name: 'data', ephemeral: { persistentVolumeClaim: { claimName: 'c' } } }, grown), []],
    ['a drive', vmi(claim, grown, { cdrom: { bus: 'sata' } }), []],
  ])('%s', (_, given, expected) => {
    expect(planGrowth(given)).toEqual(expected);
  });
});
