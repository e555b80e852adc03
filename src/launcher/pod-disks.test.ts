import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyDiskImage, overlayImage } from '../core/storage/paths.js';
import { podDisks } from './pod-disks.js';
import { text } from './text.js';

const MIB = 1024 * 1024;

describe('podDisks', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'pod-disks-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  const write = async (path: string, bytes: number): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), Buffer.alloc(bytes, 1));
  };

  it('names the volumes whose disks lie in the pod, the largest first', async () => {
    await write(overlayImage('root'), MIB);
    await write(emptyDiskImage('scratch'), 3 * MIB);
    await write(`${dirname(emptyDiskImage('scratch'))}/no-disk`, MIB);
    const disks = await podDisks(root);
    expect(disks.map(({ volume }) => volume)).toEqual(['scratch', 'root']);
    expect(disks[0]?.bytes).toBeGreaterThanOrEqual(3 * MIB);
  });

  it('finds none in a pod without them', async () => expect(await podDisks(root)).toEqual([]));
});

describe('the last words of a launcher whose pod was told to end', () => {
  it.each([
    [
      'with disks',
      [
        { volume: 'scratch', bytes: 3 * MIB },
        { volume: 'root', bytes: 200 * 1024 },
      ],
      'VM web was told to end with its pod; of the pod’s storage its volumes took: scratch 3 MiB',
    ],
    ['without', [], 'VM web was told to end with its pod'],
  ])('%s', (_title, disks, expected) => expect(text.toldToEnd('web', disks)).toBe(expected));
});
