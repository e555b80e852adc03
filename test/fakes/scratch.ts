// Temporary folders of tests and of the programs around them: whoever needs one calls scratchDir() and forgets it. All of them go
// after the test file, passed or failed (scratch-setup.ts), and at the end of a program that is no test run. A folder under which
// something is still mounted is not removed: what is behind the mount is not ours to delete.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KvError } from '../../src/base/errors.js';
import { mountsBelow } from '../cluster/mounts.js';

const made = new Set<string>();

/** A new empty folder; `mode` where others than the caller must get in. Its path is short, since sockets lie below it. */
export function scratchDir(mode?: number): string {
  if (made.size === 0) process.once('exit', removeScratchDirs);
  const dir = mkdtempSync(join(tmpdir(), 'kv-'));
  if (mode !== undefined) chmodSync(dir, mode);
  made.add(dir);
  return dir;
}

export function removeScratchDirs(): void {
  process.off('exit', removeScratchDirs);
  const mounts = readFileSync('/proc/self/mounts', 'utf8');
  const mounted: string[] = [];
  for (const dir of made) {
    const points = mountsBelow(dir, mounts);
    if (points.length > 0) mounted.push(...points);
    else rmSync(dir, { recursive: true, force: true });
  }
  made.clear();
  if (mounted.length > 0) {
    throw new KvError(
      'Internal',
      `still mounted in temporary folders: ${mounted.join(', ')}; unmount where it was mounted, before the test ends`,
    );
  }
}
