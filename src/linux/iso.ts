// ISO images by xorrisofs: files of a directory, or named files, under a volume label guests look for. The image is written beside its
// final place and renamed, so that nobody attaches half of it.
import { rename, rm } from 'node:fs/promises';
import type { Ctx } from '../base/context.js';
import type { Run } from './exec.js';

export interface IsoOptions {
  readonly output: string;
  readonly volumeId: string;
}

// Joliet for Windows, Rock Ridge for everyone else; the cylinder alignment pads the image to what old BIOSes accept.
const FORMAT = ['-joliet', '-rock', '-partition_cyl_align', 'on'];
const TIMEOUT_MS = 10_000;

async function build(ctx: Ctx, run: Run, { output, volumeId }: IsoOptions, rest: readonly string[]): Promise<void> {
  const staging = `${output}.staging`;
  try {
    await run(ctx, 'xorrisofs', ['-quiet', '-output', staging, '-volid', volumeId, ...rest], { timeoutMs: TIMEOUT_MS });
    await rename(staging, output);
  } catch (err) {
    await rm(staging, { force: true });
    throw err;
  }
}

/** Everything below `dir`, as it lies there. */
export function isoOfDirectory(ctx: Ctx, run: Run, options: IsoOptions, dir: string): Promise<void> {
  return build(ctx, run, options, [...FORMAT, dir]);
}

/** Graft points read "/name=path", as a name may begin like an option; in either part a backslash quotes "=" and itself. */
const graftPart = (text: string): string => text.replace(/[\\=]/g, '\\$&');

/** Files under names of their own; links are followed, as Kubernetes mounts its volumes through links. */
export function isoOfFiles(ctx: Ctx, run: Run, options: IsoOptions, files: ReadonlyMap<string, string>): Promise<void> {
  const grafts = [...files].map(([name, path]) => `/${graftPart(name)}=${graftPart(path)}`);
  return build(ctx, run, options, ['-follow-links', '-graft-points', ...FORMAT, ...grafts]);
}
