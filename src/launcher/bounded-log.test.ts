// Logs that grow for ever are kept short, and nothing of their end is lost.
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { systemClock } from '../base/clock.js';
import { makeCtx } from '../base/context.js';
import { silentLogger } from '../base/logger.js';
import { boundLog } from './bounded-log.js';

const ctx = makeCtx(new AbortController().signal, silentLogger, systemClock);
let path: string;
let end: () => void;
beforeEach(() => {
  path = join(scratchDir(), 'guest.log');
  end = boundLog(ctx, path, 100, 10);
});
afterEach(() => end());

const text = (): Promise<string> => readFile(path, 'utf8');

it('keeps the end of a log that has become long, and goes on with an empty one', async () => {
  await writeFile(path, `${'x'.repeat(500)}the last words`);
  await expect.poll(text).toBe('');
  expect(await readFile(`${path}.0`, 'utf8')).toBe(`${'x'.repeat(86)}the last words`);
  await appendFile(path, 'more');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await text()).toBe('more');
});

it('waits for a log that is not there yet', async () => {
  await new Promise((resolve) => setTimeout(resolve, 50));
  await writeFile(path, 'y'.repeat(200));
  await expect.poll(text).toBe('');
});
