// What a process leaves behind when it ends, with real processes: each case runs one.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';

const MODULE = join(import.meta.dirname, 'process.ts');

it.each([
  ['returns', 'return;', 0],
  ['fails', 'throw new Error("broken");', 1],
  [
    'is told to stop',
    'process.kill(process.pid, "SIGTERM"); await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));',
    0,
  ],
])('its temporary folder goes with it: a process that %s', (_how, work, code) => {
  const outer = scratchDir();
  const program = [
    `import { runProcess, temporaryFolder } from ${JSON.stringify(MODULE)};`,
    'runProcess("virt-test", 0, async (ctx) => {',
    'const folder = temporaryFolder("virt-test");',
    'process.stdout.write(folder);',
    work,
    '});',
  ].join('\n');
  const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: outer, TSX_DISABLE_CACHE: '1' },
  });
  const folder = new RegExp(`${outer}/virt-test-\\w+`).exec(stdout)?.[0] ?? '';
  expect([status, folder]).toEqual([code, expect.stringContaining(outer)]);
  expect(existsSync(folder)).toBe(false);
  expect(readdirSync(outer)).toEqual([]);
});
