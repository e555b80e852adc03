// Which disk images a VMI needs and how large a new one becomes.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance, Volume, VolumeStatus } from '../../api/index.js';
import { blockVolumesOf, fitDiskImage, planDiskImages } from './disk-images.js';

function vmi(
  volume: Volume,
  info?: VolumeStatus['persistentVolumeClaimInfo'],
  disks: readonly string[] = ['data'],
): VirtualMachineInstance {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm' },
    spec: { domain: { devices: { disks: disks.map((name) => ({ name })) } }, volumes: [volume] },
    ...(info ? { status: { volumeStatus: [{ name: 'data', target: '', persistentVolumeClaimInfo: info }] } } : {}),
  };
}

const MIB = 1024n * 1024n;
const DIR = '/var/run/kubevirt-private/vmi-disks/data';
const filesystem = { capacity: { storage: '2Gi' }, requests: { storage: '1Gi' }, volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] };
const claim: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };
const base = { volume: 'data', dir: DIR, file: 'disk.img', where: 'PersistentVolumeClaim c' };

describe('planDiskImages', () => {
  it.each<[string, VirtualMachineInstance, object[]]>([
    ['a claim gets an image of the smaller size', vmi(claim, filesystem), [{ ...base, bytes: 1024n * MIB, roomBytes: 2048n * MIB }]],
    ['a block claim needs none', vmi(claim, { ...filesystem, volumeMode: 'Block' }), []],
    [
      'a read-only claim must hold one',
      vmi({ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } }, filesystem),
      [base],
    ],
    [
      'an ephemeral volume must have something below it',
      vmi({ name: 'data', ephemeral: { persistentVolumeClaim: { claimName: 'c' } } }, filesystem),
      [base],
    ],
    [
      'a data volume is filled by its importer',
      vmi({ name: 'data', dataVolume: { name: 'c' } }, filesystem),
      [{ ...base, roomBytes: 2048n * MIB }],
    ],
    ['a plugged claim comes later', vmi({ name: 'data', persistentVolumeClaim: { claimName: 'c', hotpluggable: true } }, filesystem), []],
    ['a claim that is shared as a directory', vmi(claim, filesystem, []), []],
    [
      'a file of the host',
      vmi({ name: 'data', hostDisk: { path: '/data/x.img', type: 'Disk' } }),
      [{ ...base, file: 'x.img', where: 'host path /data/x.img' }],
    ],
    [
      'a file of the host that may be made',
      vmi({ name: 'data', hostDisk: { path: '/data/x.img', type: 'DiskOrCreate', capacity: '1Mi', shared: true } }),
      [{ ...base, file: 'x.img', where: 'host path /data/x.img', bytes: MIB }],
    ],
    ['an empty disk', vmi({ name: 'data', emptyDisk: { capacity: '1Mi' } }), []],
  ])('%s', (_title, object, expected) => {
    expect(planDiskImages(object)).toEqual(expected);
  });

  it('says which field a host disk lacks', () => {
    const object = vmi({ name: 'data', hostDisk: { path: '/x.img', type: 'DiskOrCreate' } });
    expect(() => planDiskImages(object)).toThrow(/volume data has no capacity/);
  });
});

describe('blockVolumesOf', () => {
  it.each<[string, VirtualMachineInstance, string[]]>([
    ['a block claim', vmi(claim, { ...filesystem, volumeMode: 'Block' }), ['data']],
    ['a filesystem claim', vmi(claim, filesystem), []],
    ['a claim of which nothing is known yet', vmi(claim), []],
    ['a disk of another kind', vmi({ name: 'data', emptyDisk: { capacity: '1Mi' } }), []],
  ])('%s', (_title, object, expected) => {
    expect(blockVolumesOf(object)).toEqual(expected);
  });
});

describe('fitDiskImage', () => {
  const space = (availableBytes: bigint) => ({ availableBytes, reserveBytes: 100n, tolerancePercent: 10n });
  it.each<[string, bigint, bigint, boolean]>([
    ['enough space', 20_000n, 10_000n, false],
    ['exactly enough', 10_100n, 10_000n, false],
    ['nearly enough, in whole sectors', 10_099n, 9_728n, true],
    ['the last tolerated byte', 9_100n, 8_704n, true],
  ])('%s', (_title, available, bytes, warns) => {
    const fitted = fitDiskImage(10_000n, space(available), base);
    expect([fitted.bytes, fitted.warning !== undefined]).toEqual([bytes, warns]);
  });

  it('names volume, place and sizes when it is not enough', () => {
    expect(() => fitDiskImage(10_000n, space(9_099n), base)).toThrow(
      'unable to create the disk of volume data on PersistentVolumeClaim c, not enough space, demanded size 10000 B is bigger than available space 8999 B, also after taking 10 % toleration into account',
    );
  });
});
