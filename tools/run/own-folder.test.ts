// A run's temporary folder, with real processes: what is in it at the end is named, and it goes however the run ends.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { recordOf } from '../../test/cluster/process-records.js';
import { scratchDir } from '../../test/fakes/scratch.js';

const MODULE = join(import.meta.dirname, 'own-folder.ts');
const NODE = ['--import', 'tsx', '--input-type=module', '-e'];

let outer: string;
beforeEach(() => {
  outer = scratchDir();
});

/** A run of its own below `outer`. */
function run(body: string): { status: number | null; said: string } {
  const lines = [
    `import { useOwnFolder } from ${JSON.stringify(MODULE)};`,
    `import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';`,
    `import { tmpdir } from 'node:os';`,
    'useOwnFolder((line) => console.error(line));',
    body,
  ];
  const { status, stderr } = spawnSync(process.execPath, [...NODE, lines.join('\n')], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: outer, TSX_DISABLE_CACHE: '1' },
  });
  return { status, said: stderr };
}

it('a run that cleans up passes', () => {
  expect(run('console.error(tmpdir());')).toEqual({ status: 0, said: expect.stringMatching(`^${outer}/kvt-\\w{6}\n$`) });
  expect(readdirSync(outer)).toEqual([]);
});

it.each([
  ['ends by itself', ''],
  ['says that all was well', 'process.exit(0);'],
  ['throws', 'throw new Error("broken");'],
])('what it left is named and removed: a run that %s', (_how, end) => {
  const { status, said } = run(`mkdirSync(tmpdir() + '/access-x1');\nwriteFileSync(tmpdir() + '/vm.log', '');\n${end}`);
  expect(said).toMatch(/left behind in the temporary folder: (access-x1, vm\.log|vm\.log, access-x1)/);
  expect(status).toBe(1);
  expect(readdirSync(outer)).toEqual([]);
});

it('tells the caches of tools from leftovers', () => {
  expect(run(`mkdirSync(tmpdir() + '/tsx-0'); mkdirSync(tmpdir() + '/node-compile-cache');`)).toEqual({ status: 0, said: '' });
});

it('the next run removes what a killed one left, and no folder of one that runs', () => {
  run(`mkdirSync(tmpdir() + '/half');\nprocess.kill(process.pid, 'SIGKILL');`);
  expect(readdirSync(outer)).toHaveLength(1);
  const living = mkdtempSync(join(outer, 'kvt-'));
  writeFileSync(join(living, '.owner'), JSON.stringify(recordOf('test run', process.pid, [])));
  const young = mkdtempSync(join(outer, 'kvt-'));
  mkdirSync(join(outer, 'of-somebody-else'));
  expect(run('')).toEqual({ status: 0, said: '' });
  expect(readdirSync(outer).sort()).toEqual(
    [living, young, join(outer, 'of-somebody-else')].map((path) => path.slice(outer.length + 1)).sort(),
  );
});

it('a run within a run uses the folder that is there, and leaves it', () => {
  writeFileSync(join(outer, '.owner'), '');
  expect(run(`console.error(tmpdir());`)).toEqual({ status: 0, said: `${outer}\n` });
  expect(existsSync(join(outer, '.owner'))).toBe(true);
});
