// The tiny guest's disk as a plain file, for tests that start QEMU themselves. Taken out of the image's archive.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { KvError } from '../src/base/errors.js';
import { run } from '../test/cluster/run.js';
import { ensureImages, type ImageOptions } from './ensure.js';

/** Read-only: start QEMU with snapshot=on or an overlay. */
export async function tinyDisk(options: Pick<ImageOptions, 'log'> = {}): Promise<string> {
  const { tiny } = await ensureImages({ ...options, only: ['tiny'] });
  const file = tiny.replace(/\.tar$/, '.img');
  if (existsSync(file)) return file;
  const dir = `${file}.part`;
  mkdirSync(dir, { recursive: true });
  try {
    await run(['tar', '-C', dir, '-xf', tiny]);
    const manifest = JSON.parse(await run(['cat', `${dir}/manifest.json`])) as { Layers: string[] }[];
    const layer = manifest[0]?.Layers.at(-1);
    if (!layer) throw new KvError('Internal', `${tiny} has no layer; remove it and try again`);
    await run(['tar', '-C', dir, '-xf', `${dir}/${layer}`, 'disk/disk.img']);
    renameSync(`${dir}/disk/disk.img`, file);
    return file;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
