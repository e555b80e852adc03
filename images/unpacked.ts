// Contents of images for tests on this machine: the tiny guest's disk as a plain file, and QEMU as the launcher image has it.
// Both are unpacked once per version of their image, beside its archive.
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ensureImages, type ImageOptions } from './ensure.js';
import { unpackArchive } from './unpack.js';

type Options = Pick<ImageOptions, 'log'>;

/** Read-only: start QEMU with snapshot=on or an overlay. */
export async function tinyDisk(options: Options = {}): Promise<string> {
  const { tiny } = await ensureImages({ ...options, only: ['tiny'] });
  return join(await unpackBeside(tiny, ['disk/disk.img']), 'disk', 'disk.img');
}

/** The root file system of the launcher image. */
export async function launcherRoot(options: Options = {}): Promise<string> {
  const { launcher } = await ensureImages({ ...options, only: ['launcher'] });
  return await unpackBeside(launcher);
}

async function unpackBeside(archive: string, only: readonly string[] = []): Promise<string> {
  const target = archive.replace(/\.tar$/, '.root');
  await unpackArchive(archive, target, only);
  const [image = ''] = basename(archive).split('-');
  for (const name of readdirSync(dirname(archive))) {
    const isOlder = name.startsWith(`${image}-`) && name.endsWith('.root') && name !== basename(target);
    if (isOlder) rmSync(join(dirname(archive), name), { recursive: true, force: true });
  }
  return target;
}

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

/** A program of an unpacked image with its own libraries, runnable without entering the image. */
export function programOf(root: string, path: string): Program {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const loader = machine === 'aarch64' ? 'lib/ld-linux-aarch64.so.1' : 'lib64/ld-linux-x86-64.so.2';
  return { file: join(root, 'usr', loader), args: ['--library-path', join(root, `usr/lib/${machine}-linux-gnu`), join(root, path)] };
}
