// A disk that could not be made is made again, and one that is there is never touched.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../../test/fakes/scratch.js';
import { once } from './disks.js';

let dir: string;
const write = (path: string, text: string) => () => writeFile(path, text);

beforeEach(async () => {
  dir = scratchDir();
});

describe('once', () => {
  it('makes a file with its directory, and never again', async () => {
    const path = join(dir, 'new/disk.qcow2');
    await once(path, write(path, 'first'));
    await once(path, write(path, 'second'));
    expect(await readFile(path, 'utf8')).toBe('first');
  });

  it('keeps nothing of a file whose making failed half-way', async () => {
    const path = join(dir, 'seed.iso');
    const half = once(path, async () => {
      await writeFile(path, 'half');
      throw new Error('no space left');
    });
    await expect(half).rejects.toThrow('no space left');
    expect(existsSync(path)).toBe(false);
    await once(path, write(path, 'whole'));
    expect(await readFile(path, 'utf8')).toBe('whole');
  });
});
