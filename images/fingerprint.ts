// Content hashes that name cached results: equal inputs, equal name. Called by the image builders; reads files, writes nothing.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const DIGITS = 16;

/** A short name for a list of values; order counts. */
export function fingerprint(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest('hex').slice(0, DIGITS);
}

export function fileHash(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** All files below `dir` that `wanted` takes, as paths relative to it, in a fixed order. */
export function filesBelow(dir: string, wanted: (path: string) => boolean = () => true): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .filter(wanted)
    .sort();
}

/** Hash of names, contents and whether a file is executable, which a container image keeps. */
export function treeHash(dir: string, wanted?: (path: string) => boolean): string {
  return fingerprint(
    filesBelow(dir, wanted).flatMap((path) => {
      const isExecutable = (statSync(join(dir, path)).mode & 0o100) !== 0;
      return [path, isExecutable ? 'x' : '-', fileHash(join(dir, path))];
    }),
  );
}
