// What counts as left behind by a run, and what as somebody else's.
import { describe, expect, it } from 'vitest';
import { clusterConfig } from '../../test/cluster/config.js';
import { leftOn, type Machine, ourThings, readMachine } from './leftovers.js';

const config = clusterConfig({ KUBEVIRT_TS_CLUSTER_DIR: '/state', KUBEVIRT_TS_CACHE: '/cache' });
const ours = ourThings(config, '/tmp/kvt-abcdef');
const empty: Machine = { mounts: '', namespaces: [], loops: [], links: [], groups: [], processes: [] };
const process = (pid: number, args: string[], env: string[] = []) => ({ pid, args, env });

describe('left behind', () => {
  it.each<[string, Partial<Machine>, string]>([
    ['a mount', { mounts: 'tmpfs /tmp/kvt-abcdef/kv-1/run tmpfs rw 0 0\n' }, 'mount /tmp/kvt-abcdef/kv-1/run'],
    ['a mount of the cluster', { mounts: 'proc /state/node1/proc proc rw 0 0\n' }, 'mount /state/node1/proc'],
    ['a mount of an image', { mounts: 'overlay /cache/images/work overlay rw 0 0\n' }, 'mount /cache/images/work'],
    ['a namespace of a test that is over', { namespaces: ['kvt-41-pod-1'] }, 'network namespace kvt-41-pod-1'],
    [
      'a loop device',
      { loops: [{ name: 'loop0', file: '/state/node1/block-volumes/x' }] },
      'loop device loop0 (/state/node1/block-volumes/x)',
    ],
    [
      'a loop device over a removed file',
      { loops: [{ name: 'loop0', file: '/tmp/kvt-abcdef/d.img (deleted)' }] },
      'loop device loop0 (/tmp/kvt-abcdef/d.img (deleted))',
    ],
    ['the bridge', { links: ['eth0', 'kvts0'] }, 'network link kvts0'],
    ['a cable', { links: ['kvts-node2'] }, 'network link kvts-node2'],
    ['a control group', { groups: ['/sys/fs/cgroup/cpu/state'] }, 'control group /sys/fs/cgroup/cpu/state'],
    ['a child', { processes: [process(7, ['sleep', '9'], ['A=b', 'TMPDIR=/tmp/kvt-abcdef'])] }, 'process 7 (sleep 9)'],
    [
      'a process with a clean environment',
      { processes: [process(7, ['tail', '/tmp/kvt-abcdef/kv-1/log'])] },
      'process 7 (tail /tmp/kvt-abcdef/kv-1/log)',
    ],
    ['a component', { processes: [process(7, ['/state/bin/etcd', '--x'])] }, 'process 7 (/state/bin/etcd --x)'],
  ])('%s', (_what, after, phrase) => {
    expect(leftOn(empty, { ...empty, ...after }, ours)).toEqual([phrase]);
  });

  it.each<[string, Partial<Machine>]>([
    [
      'the temporary folder of another run',
      { mounts: 'tmpfs /tmp/kvt-ghijkl/run tmpfs rw 0 0\ntmpfs /tmp/kvt-abcdef2/run tmpfs rw 0 0\n' },
    ],
    ['a namespace of a living test', { namespaces: ['kvt-41-pod-1'], processes: [process(41, ['node'])] }],
    ["another program's namespace", { namespaces: ['cni-41'] }],
    ["another's loop device", { loops: [{ name: 'loop3', file: '/home/x/disk.img' }] }],
    ['other links', { links: ['eth0', 'docker0'] }],
    [
      'other processes',
      {
        processes: [
          process(7, ['sleep', '9'], ['TMPDIR=/tmp']),
          process(8, ['tail', '/cache/images/log']),
          process(9, ['tail', '/state/logs/etcd.log']),
        ],
      },
    ],
  ])('not ours: %s', (_what, after) => {
    expect(leftOn(empty, { ...empty, ...after }, ours)).toEqual([]);
  });

  it('what was there before does not count', () => {
    const before: Machine = {
      ...empty,
      mounts: 'overlay /cache/images/work overlay rw 0 0\n',
      namespaces: ['kvt-41-pod-1'],
      loops: [{ name: 'loop0', file: '/cache/x.img' }],
    };
    expect(leftOn(before, before, ours)).toEqual([]);
  });
});

it('reads this machine', () => {
  const machine = readMachine(config);
  expect(machine.links).toContain('lo');
  expect(machine.mounts).toMatch(/ \/proc /);
  expect(machine.processes.map(({ pid }) => pid)).toContain(globalThis.process.ppid);
});
