import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { systemClock } from '../../base/clock.js';
import { makeCtx } from '../../base/context.js';
import { silentLogger } from '../../base/logger.js';
import { createGhostRecords, type GhostRecord } from './ghost-records.js';

const RECORD: GhostRecord = { uid: 'u1', namespace: 'default', name: 'vm', podUid: 'p1' };
const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let dir: string;

beforeEach(async () => {
  dir = scratchDir();
});

describe('ghost records', () => {
  it('survive the process, change and go', async () => {
    await createGhostRecords(dir).write(RECORD);
    expect(await createGhostRecords(dir).readAll(ctx)).toEqual([RECORD]);
    await createGhostRecords(dir).write({ ...RECORD, unresponsive: true });
    expect(await createGhostRecords(dir).readAll(ctx)).toEqual([{ ...RECORD, unresponsive: true }]);
    await createGhostRecords(dir).remove('u1');
    expect(await createGhostRecords(dir).readAll(ctx)).toEqual([]);
  });

  it('are read past damaged and half-written ones', async () => {
    const ghosts = createGhostRecords(dir);
    await ghosts.write(RECORD);
    await writeFile(join(dir, 'ghost-records/u2'), '{"uid":');
    await writeFile(join(dir, 'ghost-records/u3'), '{"uid":"u3"}');
    await writeFile(join(dir, 'ghost-records/u4.partial'), '{}');
    expect(await ghosts.readAll(ctx)).toEqual([RECORD]);
  });

  it('are empty on a new node, and stay inside their directory', async () => {
    expect(await createGhostRecords(dir).readAll(ctx)).toEqual([]);
    await createGhostRecords(dir).write({ ...RECORD, uid: '../escape' });
    expect(await readdir(dir)).toEqual(['ghost-records']);
  });
});
