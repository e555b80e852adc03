import { describe, expect, it } from 'vitest';
import { findHostPaths, mountOf, mountPointsBelow, parseMountInfo } from './mount.js';

const table = (...lines: string[]) => parseMountInfo(`${lines.join('\n')}\n`);

describe('parseMountInfo', () => {
  it('reads the fields, with and without optional ones, and undoes the escapes', () => {
    expect(
      table(
        '36 35 98:0 /sub\\040dir /mnt/with\\040blank ro,noatime shared:7 master:1 - ext3 /dev/root rw,errors=continue',
        '37 36 0:21 / /sys rw - sysfs sysfs rw',
      ),
    ).toEqual([
      {
        id: 36,
        parentId: 35,
        device: '98:0',
        root: '/sub dir',
        mountPoint: '/mnt/with blank',
        isReadOnly: true,
        isShared: true,
        fsType: 'ext3',
      },
      { id: 37, parentId: 36, device: '0:21', root: '/', mountPoint: '/sys', isReadOnly: false, isShared: false, fsType: 'sysfs' },
    ]);
  });

  it('refuses a line that is something else', () => {
    expect(() => table('36 35 98:0 / /')).toThrow('not a line of mountinfo');
  });
});

const host = table(
  '1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw',
  '2 1 0:25 / /run rw shared:2 - tmpfs tmpfs rw',
  '3 2 0:90 / /run/runtime/c1/rootfs rw shared:3 - overlay overlay rw',
  '4 1 0:44 /@/var /var rw shared:4 - btrfs /dev/sdb rw',
);

describe('findHostPaths', () => {
  it.each([
    [
      'overlay root, mounted by the runtime',
      ['9 8 0:90 / / rw master:3 - overlay overlay rw'],
      '/disk/a.img',
      ['/run/runtime/c1/rootfs/disk/a.img'],
    ],
    [
      'sub-directory of a file system that the host mounts elsewhere',
      ['9 8 0:44 /@/var/lib/sub/x / rw - btrfs /dev/sdb rw'],
      '/disk/a.img',
      ['/var/lib/sub/x/disk/a.img'],
    ],
    [
      'a volume over the root',
      ['9 8 0:90 / / rw - overlay overlay rw', '10 9 8:1 /var/lib/kubelet/v /disk rw - ext4 /dev/sda1 rw'],
      '/disk/a.img',
      ['/var/lib/kubelet/v/a.img'],
    ],
    ['a file mounted by itself', ['9 8 8:1 /etc/thing /etc/hosts rw - ext4 /dev/sda1 rw'], '/etc/hosts', ['/etc/thing']],
    ['nothing the host knows', ['9 8 0:99 / / rw - overlay overlay rw'], '/disk/a.img', []],
    ['nothing mounted there', ['9 8 0:90 / /elsewhere rw - overlay overlay rw'], '/disk/a.img', []],
  ])('%s', (_title, container, path, expected) => {
    expect(findHostPaths(host, table(...container), path)).toEqual(expected);
  });

  it('offers the most specific place first', () => {
    const twice = [...host, ...table('7 1 8:1 /data /mnt/data rw - ext4 /dev/sda1 rw')];
    const container = table('9 8 8:1 /data/disk / rw - ext4 /dev/sda1 rw');
    expect(findHostPaths(twice, container, '/a.img')).toEqual(['/mnt/data/disk/a.img', '/data/disk/a.img']);
  });
});

describe('mountOf', () => {
  it('takes the later of two mounts at one place, and no look-alike', () => {
    const mounts = [...host, ...table('8 2 0:77 / /run rw - tmpfs tmpfs rw')];
    expect(mountOf(mounts, '/run/x')?.device).toBe('0:77');
    expect(mountOf(mounts, '/runtime')?.device).toBe('8:1');
  });
});

describe('mountPointsBelow', () => {
  it('lists strictly below, innermost first', () => {
    const mounts = table(
      '1 0 8:1 / / rw - ext4 x rw',
      '2 1 8:2 / /a rw - ext4 x rw',
      '3 2 8:3 / /a/b rw - ext4 x rw',
      '4 1 8:4 / /ab rw - ext4 x rw',
    );
    expect(mountPointsBelow(mounts, '/a')).toEqual(['/a/b']);
    expect(mountPointsBelow(mounts, '/')).toEqual(['/ab', '/a/b', '/a']);
  });
});
