// One cluster command (or build) at a time. The lock file names its holder by pid and start time, so that one left behind by
// a killed command is taken over and a living holder is waited for.
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KvError } from '../../src/base/errors.js';
import { isAlive, parseRecord, recordOf } from './process-records.js';
import type { Log } from './progress.js';

const POLL_MS = 200;

export async function withLock<T>(file: string, log: Log, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = false; !tryLock(file); waited = true) {
    const holder = parseRecord(readText(file));
    if (isAlive(holder)) {
      if (!waited) log(`waiting for process ${holder.pid}, which is at work on the same (${holder.name})`);
      await sleep(POLL_MS);
      continue;
    }
    // A holder writes its name a moment after it made the file: look twice before taking it for an orphan.
    await sleep(POLL_MS);
    if (!isAlive(parseRecord(readText(file)))) rmSync(file, { force: true });
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLock(file: string): boolean {
  const self = recordOf(file, process.pid, []);
  if (!self) throw new KvError('Internal', `cannot read /proc/${process.pid}/stat; mount /proc`);
  try {
    const handle = openSync(file, 'wx');
    writeSync(handle, JSON.stringify(self));
    closeSync(handle);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Released meanwhile.
    return '';
  }
}
