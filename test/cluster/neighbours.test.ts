// Two local clusters on one machine: when the second may start, and what the first to go leaves to the other.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../fakes/scratch.js';
import { clusterConfig } from './config.js';
import { assertBridgeIsOurs, neighbours, ownerOfBridge, register, unregister } from './neighbours.js';
import { removeMadeDirs } from './node.js';
import { recordOf, writeRecord } from './process-records.js';

let root: string;
beforeEach(() => {
  root = scratchDir();
});

const cluster = (name: string, { runs }: { runs: boolean }) => {
  const config = { ...clusterConfig({ KUBEVIRT_TS_CLUSTER_DIR: join(root, name) }), registerDir: join(root, 'register') };
  const record = recordOf('etcd', process.pid, []);
  if (!record) throw new Error('this process runs');
  writeRecord(config.pidsDir, runs ? record : { ...record, startTime: '1' });
  return config;
};

describe('groups', () => {
  it('differ for folders of one name, and keep the name of the usual folder', () => {
    const groups = [{}, { KUBEVIRT_TS_CLUSTER_DIR: '/a/cluster' }, { KUBEVIRT_TS_CLUSTER_DIR: '/b/cluster' }].map(
      (env) => clusterConfig(env).cgroup,
    );
    expect(groups).toEqual(['kubevirt-ts-cluster', expect.stringMatching(/^cluster-\w{8}$/), expect.stringMatching(/^cluster-\w{8}$/)]);
    expect(new Set(groups).size).toBe(3);
  });

  it('are the same however the folder is written', () => {
    const spellings = ['/a/b/', '/a/./b', '/a/b'].map((dir) => clusterConfig({ KUBEVIRT_TS_CLUSTER_DIR: dir }));
    expect(new Set(spellings.map(({ cgroup }) => cgroup)).size).toBe(1);
    expect(spellings.map(({ stateDir }) => stateDir)).toEqual(['/a/b', '/a/b', '/a/b']);
  });
});

describe('the network', () => {
  const config = clusterConfig({ KUBEVIRT_TS_CLUSTER_DIR: '/mine' });
  it.each([
    ['no bridge', [{ ifname: 'eth0', ifalias: '/other' }], undefined],
    ['a bridge that does not say', [{ ifname: 'kvts0' }], undefined],
    ['our own', [{ ifname: 'lo' }, { ifname: 'kvts0', ifalias: '/mine' }], '/mine'],
    ["another's", [{ ifname: 'kvts0', ifalias: '/other' }], '/other'],
  ])('%s', (_title, links, owner) => {
    expect(ownerOfBridge(links, config)).toBe(owner);
    const start = () => assertBridgeIsOurs(ownerOfBridge(links, config), config);
    if (owner === '/other')
      expect(start).toThrow(/bridge kvts0\): the one in \/other\..*KUBEVIRT_TS_CLUSTER_DIR=\/other npm run cluster -- down/);
    else expect(start).not.toThrow();
  });
});

describe('neighbours', () => {
  it('are the others in the register that run', () => {
    const [one, two, dead] = [cluster('one', { runs: true }), cluster('two', { runs: true }), cluster('dead', { runs: false })];
    expect(neighbours(one)).toEqual([]);
    for (const each of [one, two, dead]) register(each);
    expect(neighbours(one)).toEqual([two.stateDir]);
    unregister(two);
    expect(neighbours(one)).toEqual([]);
  });

  it('the register goes with its last entry', () => {
    const [one, two] = [cluster('one', { runs: true }), cluster('two', { runs: true })];
    register(one);
    register(two);
    unregister(one);
    expect(existsSync(one.registerDir)).toBe(true);
    unregister(two);
    expect(existsSync(one.registerDir)).toBe(false);
    unregister(two);
  });
});

describe('mount points that a cluster made', () => {
  const made = () => {
    const [one, two] = [cluster('one', { runs: true }), cluster('two', { runs: true })];
    const dir = join(root, 'var/lib/kubelet');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(one.stateDir, 'made-dirs'), `${dir}\n`);
    return { one, two, dir };
  };

  it('stay while another cluster runs, which takes them away in the end', () => {
    const { one, two, dir } = made();
    register(two);
    removeMadeDirs(one, neighbours(one));
    expect([existsSync(dir), readFileSync(join(two.stateDir, 'made-dirs'), 'utf8')]).toEqual([true, `${dir}\n`]);
    removeMadeDirs(two, neighbours(two));
    expect(existsSync(dir)).toBe(false);
  });

  it('go with a cluster that is alone, unless somebody uses them', () => {
    const { one, dir } = made();
    const used = join(root, 'var/log/pods');
    mkdirSync(join(used, 'pod'), { recursive: true });
    writeFileSync(join(one.stateDir, 'made-dirs'), `${used}\n`, { flag: 'a' });
    removeMadeDirs(one, []);
    expect([existsSync(dir), existsSync(used)]).toEqual([false, true]);
  });
});
