// Which version of control groups a machine has, and what is asked of each; the version 2 tree is played in a plain folder.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../fakes/scratch.js';
import { adoptInto, createCgroups, detectCgroups, nodeCgroup, usableControllers } from './cgroups.js';

describe('detectCgroups', () => {
  it.each([
    ['version 2 alone', 'cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0', { version: 2, mount: '/sys/fs/cgroup' }],
    [
      'version 1, and a version 2 mount without controllers',
      'cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0',
      { version: 1, mounts: ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/unified'] },
    ],
    [
      'version 2 with a lone systemd hierarchy of version 1',
      'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0',
      { version: 2, mount: '/sys/fs/cgroup' },
    ],
    [
      'version 2 mounted beside what others keep of version 1 without limits',
      'cgroup /sys/fs/cgroup/net_cls cgroup rw,net_cls 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0',
      { version: 2, mount: '/sys/fs/cgroup/unified' },
    ],
    [
      'version 2 mounted twice: the first is the machine’s',
      'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup2 /var/lib/x/sys/fs/cgroup cgroup2 rw 0 0',
      { version: 2, mount: '/sys/fs/cgroup' },
    ],
    [
      'version 1 with controllers that share a mount',
      'cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0',
      { version: 1, mounts: ['/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup/memory'] },
    ],
    [
      'version 1, its mounts shown twice',
      'cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0',
      { version: 1, mounts: ['/sys/fs/cgroup/memory'] },
    ],
  ])('%s', (_title, mounts, expected) => {
    expect(detectCgroups(`proc /proc proc rw 0 0\n${mounts}\n`)).toEqual(expected);
  });

  it('says what to do when there are none', () => {
    expect(() => detectCgroups('proc /proc proc rw 0 0\n')).toThrow(/mount cgroup2 on \/sys\/fs\/cgroup/);
  });
});

describe('usableControllers', () => {
  it('takes what the kubelet needs and the machine has', () => {
    expect(usableControllers('cpuset cpu io memory pids misc\n')).toEqual(['cpu', 'cpuset', 'memory', 'pids', 'io']);
  });

  it.each([
    ['cpu io', 'memory, pids'],
    ['', 'cpu, memory, pids'],
    ['cpuset cpu io memory', 'pids'],
  ])('names what is missing of %j', (available, missing) => {
    expect(() => usableControllers(available)).toThrow(`the control group controllers ${missing} are not available here`);
  });
});

describe('createCgroups', () => {
  let mount: string;
  beforeEach(() => {
    mount = scratchDir();
  });

  it('version 2: delegates the controllers down to the nodes and makes a leaf for our own processes', () => {
    writeFileSync(join(mount, 'cgroup.controllers'), 'cpu memory pids\n');

    createCgroups({ version: 2, mount }, 'kvts', ['node1']);

    expect(readFileSync(join(mount, 'cgroup.subtree_control'), 'utf8')).toBe('+cpu +memory +pids');
    expect(readFileSync(join(mount, 'kvts/cgroup.subtree_control'), 'utf8')).toBe('+cpu +memory +pids');
    expect(['kvts/node1', 'kvts/system'].map((group) => existsSync(join(mount, group)))).toEqual([true, true]);
  });

  it('version 2: takes a process into the leaf; version 1 leaves it where it is', () => {
    mkdirSync(join(mount, 'kvts/system'), { recursive: true });

    adoptInto({ version: 1, mounts: [mount] }, 'kvts')(41);
    adoptInto({ version: 2, mount }, 'kvts')(42);

    expect(readFileSync(join(mount, 'kvts/system/cgroup.procs'), 'utf8')).toBe('42');
  });

  it('version 1: makes a group a node under every controller, and leaves an existing one alone', () => {
    const mounts = [join(mount, 'cpu'), join(mount, 'memory')];
    for (const each of mounts) mkdirSync(each);

    createCgroups({ version: 1, mounts }, 'kvts', ['node1', 'node2']);
    createCgroups({ version: 1, mounts }, 'kvts', ['node1', 'node2']);

    for (const each of mounts) expect(existsSync(join(each, 'kvts/node2'))).toBe(true);
  });
});

it('the kubelet gets its group as a path below the root', () => {
  expect(nodeCgroup('kvts', 'node1')).toBe('/kvts/node1');
});
