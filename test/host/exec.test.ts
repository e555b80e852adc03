// A command that cannot be killed, as one that waits for a file server that is away: it stands in a frozen control group.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { run } from '../../src/linux/exec.js';
import { hostCtx } from './namespaces.js';

const GROUP = join('/sys/fs/cgroup/freezer', `kvt-${process.pid}`);

beforeEach(() => {
  if (!existsSync('/sys/fs/cgroup/freezer'))
    throw new Error('this test needs control groups of version 1, which keep frozen processes from being killed');
  mkdirSync(GROUP);
});
afterEach(async () => {
  writeFileSync(join(GROUP, 'freezer.state'), 'THAWED');
  await expect.poll(() => readFileSync(join(GROUP, 'cgroup.procs'), 'utf8')).toBe('');
  rmdirSync(GROUP);
});

it('does not keep its caller for ever', async () => {
  const script = `echo $$ > ${GROUP}/cgroup.procs; echo FROZEN > ${GROUP}/freezer.state; sleep 1000`;
  const began = performance.now();
  await expect(run(hostCtx(), 'sh', ['-c', script], { timeoutMs: 300 })).rejects.toMatchObject({ code: 'Timeout' });
  expect(performance.now() - began).toBeLessThan(10_000);
});
