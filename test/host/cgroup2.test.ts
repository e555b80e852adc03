// The local cluster's groups in the kernel's own version 2 hierarchy. Machines with version 1 have one, too, of the controllers that
// nobody mounted the old way: enough to see what the kernel refuses. Needs root.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { adoptInto, delegate, removeCgroups } from '../cluster/cgroups.js';

const mount = readFileSync('/proc/mounts', 'utf8')
  .split('\n')
  .map((line) => line.split(' '))
  .find(([, , type]) => type === 'cgroup2')?.[1];
const controller =
  mount === undefined ? undefined : readFileSync(join(mount, 'cgroup.controllers'), 'utf8').trim().split(' ').find(Boolean);

describe.skipIf(mount === undefined)('a tree of version 2', () => {
  const layout = { version: 2, mount: mount ?? '' } as const;
  const name = `kvt-${process.pid}`;
  const top = join(layout.mount, name);
  let children: ChildProcess[];

  beforeEach(() => {
    children = [];
    mkdirSync(join(top, 'system'), { recursive: true });
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await removeCgroups(layout, name);
  });

  const start = async (group: string): Promise<ChildProcess & { pid: number }> => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    writeFileSync(join(group, 'cgroup.procs'), String(child.pid));
    return child as ChildProcess & { pid: number };
  };
  const groupOf = (pid: number): string | undefined => /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];

  it('takes a process in', async () => {
    const child = await start(layout.mount);
    adoptInto(layout, name)(child.pid);
    expect(groupOf(child.pid)).toMatch(new RegExp(`/${name}/system$`));
  });

  it('does not mind a process that has ended', async () => {
    const child = spawn('true');
    await once(child, 'close');
    expect(() => adoptInto(layout, name)(child.pid ?? 0)).not.toThrow();
  });

  it('ends what runs in it and goes, groups below included', async () => {
    mkdirSync(join(top, 'node1/kubepods/pod1'), { recursive: true });
    const inner = await start(join(top, 'node1/kubepods/pod1'));
    const outer = await start(join(top, 'system'));
    const ends = Promise.all([once(inner, 'exit'), once(outer, 'exit')]);
    await removeCgroups(layout, name);
    expect((await ends).map(([, signal]) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
    expect(existsSync(top)).toBe(false);
  });

  it('one node’s groups go alone', async () => {
    for (const node of ['node1', 'node2']) mkdirSync(join(top, node, 'kubepods'), { recursive: true });
    await removeCgroups(layout, join(name, 'node1'));
    expect([existsSync(join(top, 'node1')), existsSync(join(top, 'node2/kubepods'))]).toEqual([false, true]);
  });

  describe.skipIf(controller === undefined)('delegation', () => {
    const enabled = readFileSync(join(layout.mount || '/proc/self', mount === undefined ? 'stat' : 'cgroup.subtree_control'), 'utf8');
    const wasOn = enabled
      .trim()
      .split(' ')
      .includes(controller ?? '');
    beforeAll(() => delegate(layout.mount, [controller ?? '']));
    afterAll(async () => {
      await removeCgroups(layout, name);
      if (!wasOn) writeFileSync(join(layout.mount, 'cgroup.subtree_control'), `-${controller}`);
    });

    it('moves processes out of the way, which the kernel wants', async () => {
      const child = await start(top);
      expect(() => writeFileSync(join(top, 'cgroup.subtree_control'), `+${controller}`)).toThrow(/EBUSY/);
      delegate(top, [controller ?? '']);
      expect(groupOf(child.pid)).toMatch(new RegExp(`/${name}/init$`));
      expect(readFileSync(join(top, 'cgroup.subtree_control'), 'utf8').trim()).toBe(controller);
      expect(readFileSync(join(top, 'system/cgroup.controllers'), 'utf8').trim()).toBe(controller);
    });

    it('fails for a controller that is not there', () => {
      expect(() => delegate(top, ['none-such'])).toThrow(/EINVAL/);
    });

    it('can be taken away again', async () => {
      delegate(top, [controller ?? '']);
      mkdirSync(join(top, 'node1/kubepods'), { recursive: true });
      rmdirSync(join(top, 'node1/kubepods'));
      await removeCgroups(layout, name);
      expect(existsSync(top)).toBe(false);
    });
  });
});
