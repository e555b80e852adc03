// What a user is told when QEMU finds an image in use.
import { describe, expect, it } from 'vitest';
import { lockedImageOf } from './qemu-log.js';

const START = `internal error: process exited while connecting to monitor: 2026-11-30T08:00:00Z qemu-system-x86_64: -blockdev {"node-name":"x"}: Failed to get "write" lock`;

describe('an image in use', () => {
  it.each([
    [
      'names its volume',
      `${START}\nIs another process using the image [/var/run/kubevirt-private/vmi-disks/data/disk.img]?`,
      /^the disk of volume data is in use by another guest \(lock on .*\/data\/disk\.img\): stop the VM/,
    ],
    [
      'names what it can',
      `unable to execute QEMU command 'blockdev-add': Failed to get "write" lock`,
      /^the disk is in use by another guest: /,
    ],
    [
      'elsewhere names the file',
      `${START}\nIs another process using the image [/dev/x]?`,
      /^the disk is in use by another guest \(lock on \/dev\/x\)/,
    ],
  ])('%s', (_, reason, expected) => {
    expect(lockedImageOf(reason)).toMatch(expected);
  });

  it('is not seen where there is none', () => {
    expect(lockedImageOf('Could not open /x: No such file or directory')).toBeUndefined();
  });
});
