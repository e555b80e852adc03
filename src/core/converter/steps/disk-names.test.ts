import { describe, expect, it } from 'vitest';
import type { Disk } from '../../../api/index.js';
import { nameDisks, targetName } from './disk-names.js';

const disk = (name: string, bus: string): Disk => ({ name, disk: { bus } });

describe('targetName', () => {
  it.each([
    [0, 'vda'],
    [25, 'vdz'],
    [26, 'vdaa'],
    [701, 'vdzz'],
    [702, 'vdaaa'],
  ])('%i is %s', (index, want) => {
    expect(targetName('vd', index)).toBe(want);
  });
});

describe('nameDisks', () => {
  it('counts each kind of bus', () => {
    const disks = [disk('a', 'virtio'), disk('b', 'sata'), disk('c', 'virtio'), disk('d', 'scsi'), disk('e', 'usb')];
    expect(nameDisks(disks, []).map(({ dev }) => dev)).toEqual(['vda', 'sda', 'vdb', 'sdb', 'sdc']);
  });

  it('keeps recorded names and fills the gaps around them', () => {
    const disks = [disk('new', 'virtio'), disk('old', 'virtio'), disk('newer', 'virtio')];
    expect(nameDisks(disks, [{ name: 'old', target: 'vda' }])).toEqual([
      { dev: 'vdb', unit: 1 },
      { dev: 'vda', unit: 0 },
      { dev: 'vdc', unit: 2 },
    ]);
  });

  it('knows units beyond z', () => {
    expect(nameDisks([disk('far', 'scsi')], [{ name: 'far', target: 'sdab' }])).toEqual([{ dev: 'sdab', unit: 27 }]);
  });

  it('takes a recorded name of another bus as it is', () => {
    expect(nameDisks([disk('moved', 'sata')], [{ name: 'moved', target: 'vdb' }])).toEqual([{ dev: 'vdb', unit: 0 }]);
  });
});
