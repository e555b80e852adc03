import { describe, expect, it } from 'vitest';
import { factsOf, guest } from '../../../test/builders/domain.js';
import { buildDomain } from './assemble.js';
import { describeDomain, reportDevices } from './describe.js';

const domain = buildDomain(
  guest({
    devices: {
      disks: [
        { name: 'root', disk: { bus: 'virtio' } },
        { name: 'data', disk: { bus: 'scsi' } },
        { name: 'tracked', disk: { bus: 'virtio' } },
        { name: 'drive', cdrom: { bus: 'sata' } },
      ],
    },
    spec: {
      volumes: [
        { name: 'root', containerDisk: { image: 'a' } },
        { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'tracked', persistentVolumeClaim: { claimName: 'tracked' } },
      ],
    },
  }),
  factsOf({
    links: { default: { tap: 'tap0', mac: '02:00:00:00:00:01' } },
    blockVolumes: new Set(['data', 'tracked']),
    changedBlockOverlays: { tracked: '/cbt/tracked.qcow2' },
  }),
);

describe('describeDomain', () => {
  it('tells name, type, machine and memory', () => {
    expect(describeDomain(domain)).toMatchObject({ name: 'default_vm', type: 'kvm', machineType: 'q35', memoryBytes: 256 * 1024 ** 2 });
  });

  it('tells what lies behind each disk', () => {
    expect(describeDomain(domain).disks).toEqual([
      {
        name: 'root',
        target: 'vda',
        device: 'disk',
        format: 'qcow2',
        isBlock: false,
        path: '/var/run/kubevirt-ephemeral-disks/disk-data/root/disk.qcow2',
        backingPath: '/var/run/kubevirt/container-disks/disk_0.img',
        backingFormat: 'qcow2',
      },
      { name: 'data', target: 'sda', device: 'disk', format: 'raw', isBlock: true, path: '/dev/data' },
      {
        name: 'tracked',
        target: 'vdb',
        device: 'disk',
        format: 'qcow2',
        isBlock: true,
        path: '/cbt/tracked.qcow2',
        dataPath: '/dev/tracked',
      },
      { name: 'drive', target: 'sdb', device: 'cdrom', format: 'raw', isBlock: true },
    ]);
  });

  it('fills a report', () => {
    expect(reportDevices(domain)).toEqual({
      disks: [
        { name: 'root', target: 'vda' },
        { name: 'data', target: 'sda' },
        { name: 'tracked', target: 'vdb' },
        { name: 'drive', target: 'sdb' },
      ],
      interfaces: [{ name: 'default', mac: '02:00:00:00:00:01' }],
    });
  });
});
