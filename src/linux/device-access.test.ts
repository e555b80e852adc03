// What the prologue of a device program answers, run by a small interpreter of the instructions that it uses, and where a container's group is found.
import { describe, expect, it } from 'vitest';
import { deviceGroup, isListed } from './device-access.js';
import { devicesOf, withDevices } from './device-program.js';
import { parseMountInfo } from './mount.js';

const LOOP = { major: 7, minor: 3 };
const OTHER = { major: 252, minor: 300 };
/** mov r0, 0; exit */
const REFUSE = Buffer.from('b700000000000000' + '9500000000000000', 'hex');

type Registers = Record<number, number>;
interface Request {
  readonly type: 'b' | 'c';
  readonly major: number;
  readonly minor: number;
}

function answer(program: Buffer, { type, major, minor }: Request): number {
  const context: Registers = { 0: (6 << 16) | (type === 'b' ? 1 : 2), 4: major, 8: minor };
  const registers: Registers = {};
  for (let at = 0; ; at++) {
    const [op, to, from] = [program[at * 8], (program[at * 8 + 1] ?? 0) & 15, (program[at * 8 + 1] ?? 0) >> 4];
    const [offset, value] = [program.readInt16LE(at * 8 + 2), program.readInt32LE(at * 8 + 4)];
    if (op === 0x95) return registers[0] ?? -1;
    const now = registers[to] ?? 0;
    if (op === 0x55) at += now === value ? 0 : offset;
    else registers[to] = resultOf(op, now, value, from === 1 ? (context[offset] ?? -1) : -1);
  }
}

function resultOf(op: number | undefined, now: number, value: number, loaded: number): number {
  switch (op) {
    case 0xb4:
    case 0xb7:
      return value;
    case 0x61:
      return loaded;
    case 0x54:
      return now & value;
    default:
      throw new Error(`instruction ${op}`);
  }
}

describe('the program of a group', () => {
  const program = withDevices(REFUSE, [LOOP, OTHER], true);

  it.each([
    ['a plugged device', { type: 'b', ...LOOP }, 1],
    ['another one', { type: 'b', ...OTHER }, 1],
    ['a device of the same major', { type: 'b', major: 7, minor: 4 }, 0],
    ['a character device of the same numbers', { type: 'c', ...LOOP }, 0],
  ] as const)('answers for %s', (_, request, expected) => {
    expect(answer(program, request)).toBe(expected);
  });

  it('tells what it allows, and becomes the old one again', () => {
    expect(devicesOf(program, true)).toEqual([LOOP, OTHER]);
    expect(devicesOf(REFUSE, true)).toEqual([]);
    expect(devicesOf(withDevices(program, [OTHER], true), true)).toEqual([OTHER]);
    expect(withDevices(program, [], true)).toEqual(REFUSE);
  });
});

describe('the group of a container', () => {
  const v1 = parseMountInfo('30 20 0:26 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices');
  const v2 = parseMountInfo('31 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw');
  const hybrid = parseMountInfo(
    [
      '30 20 0:26 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices',
      '31 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate',
      '32 20 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd',
    ].join('\n'),
  );
  const joined = parseMountInfo('30 20 0:26 / /sys/fs/cgroup/devices,freezer rw - cgroup cgroup rw,devices,freezer');
  // A container engine shows a container its own group, and some show it twice.
  const parts = parseMountInfo(
    ['31 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw', '32 20 0:27 /kubepods/y /var/lib/y/cgroup rw - cgroup2 cgroup2 rw'].join('\n'),
  );
  const part = parseMountInfo('31 20 0:27 /kubepods /sys/fs/cgroup rw - cgroup2 cgroup2 rw');
  const unified = (path: string) => ({ hierarchy: 0, controllers: [], path });
  const devices = { hierarchy: 5, controllers: ['devices'], path: '/kubepods/x' };
  const systemd = { hierarchy: 1, controllers: ['name=systemd'], path: '/' };
  it.each([
    [
      'version 1',
      [{ hierarchy: 5, controllers: ['devices'], path: '/kubepods/x' }],
      v1,
      { version: 1, dir: '/sys/fs/cgroup/devices/kubepods/x' },
    ],
    ['version 2', [{ hierarchy: 0, controllers: [], path: '/kubepods/x' }], v2, { version: 2, dir: '/sys/fs/cgroup/kubepods/x' }],
    ['both, the devices on version 1', [devices, unified('/other')], hybrid, { version: 1, dir: '/sys/fs/cgroup/devices/kubepods/x' }],
    ['controllers that share a mount', [devices], joined, { version: 1, dir: '/sys/fs/cgroup/devices,freezer/kubepods/x' }],
    ['version 2 beside a lone systemd hierarchy', [systemd, unified('/kubepods/x')], v2, { version: 2, dir: '/sys/fs/cgroup/kubepods/x' }],
    ['version 2, mounted a second time in part', [unified('/kubepods/x')], parts, { version: 2, dir: '/sys/fs/cgroup/kubepods/x' }],
    ['version 2, of which a part is mounted', [unified('/kubepods/x')], part, { version: 2, dir: '/sys/fs/cgroup/x' }],
    ['version 2, the part itself', [unified('/kubepods')], part, { version: 2, dir: '/sys/fs/cgroup' }],
    ['version 2, outside of the part', [unified('/kubepods2/x')], part, undefined],
    ['version 2, above the reader’s own group', [unified('/../../kubepods-y/x')], v2, undefined],
    ['a process that is gone', [], v2, undefined],
    ['none that is visible', [{ hierarchy: 0, controllers: [], path: '/kubepods/x' }], v1, undefined],
  ])('with %s', (_, entries, mounts, expected) => {
    expect(deviceGroup(entries, mounts)).toEqual(expected);
  });

  it.each([
    ['c 1:3 rwm\nb 7:3 rwm\n', true],
    ['a *:* rwm\n', true],
    ['b 7:3 r\nb 7:31 rwm\n', false],
  ])('lists %j', (list, expected) => {
    expect(isListed(list, LOOP)).toBe(expected);
  });
});
