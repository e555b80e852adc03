// Compares text with a file beside the test; UPDATE_GOLDEN=1 writes the file instead. The difference is reviewed as code.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const HERE = dirname(fileURLToPath(import.meta.url));

/** `name` is the path of the file below test/golden. */
export function expectGolden(name: string, text: string): void {
  const path = join(HERE, name);
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return;
  }
  if (!existsSync(path)) throw new Error(`golden file ${name} does not exist: run this test with UPDATE_GOLDEN=1 and review the new file`);
  expect(text).toBe(readFileSync(path, 'utf8'));
}
