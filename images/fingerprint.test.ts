import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../test/fakes/scratch.js';
import { fingerprint, treeHash } from './fingerprint.js';

describe('fingerprint', () => {
  it('tells apart what merely reads alike when joined', () => {
    expect(fingerprint(['ab', 'c'])).not.toBe(fingerprint(['a', 'bc']));
    expect(fingerprint(['a', 'b'])).not.toBe(fingerprint(['b', 'a']));
    expect(fingerprint(['a', 'b'])).toBe(fingerprint(['a', 'b']));
  });
});

describe('treeHash', () => {
  let dir: string;
  beforeEach(() => {
    dir = scratchDir();
    mkdirSync(join(dir, 'sub'));
    writeFileSync(join(dir, 'sub', 'a'), 'one');
  });

  it.each<[string, () => void]>([
    ['a content', () => writeFileSync(join(dir, 'sub', 'a'), 'two')],
    ['a new file', () => writeFileSync(join(dir, 'b'), '')],
    ['a file becoming executable', () => chmodSync(join(dir, 'sub', 'a'), 0o755)],
  ])('changes with %s', (_title, change) => {
    const before = treeHash(dir);
    expect(treeHash(dir)).toBe(before);
    change();
    expect(treeHash(dir)).not.toBe(before);
  });

  it('does not see what is not wanted', () => {
    const wanted = (path: string): boolean => path !== 'b';
    const before = treeHash(dir, wanted);
    writeFileSync(join(dir, 'b'), 'x');
    expect(treeHash(dir, wanted)).toBe(before);
  });
});
