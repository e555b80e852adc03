// A temporary folder of a test run's own. Everything that the run's processes put into the temporary directory lands in it, so that what
// is left at the end is the run's, whoever else works on the machine. Called by vitest.config.ts and by tools/test.ts; the inner of
// two runs uses the folder of the outer. A run that was killed leaves its folder: the next one takes it away.
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountsBelow } from '../../test/cluster/mounts.js';
import { isAlive, parseRecord, recordOf } from '../../test/cluster/process-records.js';

/** Short: sockets lie deep below it, and their paths may have 107 bytes. */
const PREFIX = 'kvt-';
const OWNER = '.owner';
/** Which process a folder belongs to: a folder without is one whose run begins in this moment. */
const ownerOf = (dir: string) => {
  const file = join(dir, OWNER);
  return existsSync(file) ? parseRecord(readFileSync(file, 'utf8')) : undefined;
};

/** Made by tools for all their runs, not by a test. */
const CACHES = /^(tsx-\d+|node-compile-cache)$/;

export interface OwnFolder {
  readonly dir: string;
  /** What the run left in it, by name. */
  leftovers(): string[];
  /** Takes it away; what is still mounted in it keeps it, and is named. */
  remove(): string[];
}

/** Nothing when an outer run has made one already. */
export function ownFolder(env: NodeJS.ProcessEnv): OwnFolder | undefined {
  const outer = tmpdir();
  if (existsSync(join(outer, OWNER))) return undefined;
  sweep(outer);
  const dir = mkdtempSync(join(outer, PREFIX));
  // Like the one it stands for: others than the caller, such as a launcher's user, work below it.
  chmodSync(dir, 0o1777);
  writeFileSync(join(dir, OWNER), JSON.stringify(recordOf('test run', process.pid, process.argv)));
  env.TMPDIR = dir;
  return {
    dir,
    leftovers: () => readdirSync(dir).filter((name) => name !== OWNER && !CACHES.test(name)),
    remove: () => removeFolder(dir),
  };
}

function removeFolder(dir: string): string[] {
  const mounted = mountsBelow(dir, readFileSync('/proc/self/mounts', 'utf8'));
  if (mounted.length === 0) rmSync(dir, { recursive: true, force: true });
  return mounted;
}

/** Folders of runs that are over. */
function sweep(outer: string): void {
  for (const name of readdirSync(outer)) {
    const dir = join(outer, name);
    const owner = name.startsWith(PREFIX) ? ownerOf(dir) : undefined;
    if (owner && !isAlive(owner)) removeFolder(dir);
  }
}

/** For a run that ends together with this process: names what it left, and fails for it. */
export function useOwnFolder(say: (line: string) => void): void {
  const own = ownFolder(process.env);
  if (!own) return;
  process.once('exit', () => {
    const left = own.leftovers();
    const mounted = own.remove();
    if (left.length > 0) say(`left behind in the temporary folder: ${left.join(', ')}`);
    if (mounted.length > 0) say(`still mounted: ${mounted.join(', ')}`);
    if (left.length + mounted.length > 0) process.exitCode = 1;
  });
}
