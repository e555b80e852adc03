// config/ is generated: the files say what the code says.
import { expect, it } from 'vitest';
import { staleFiles } from './gen-config.js';

it('is up to date (npx tsx tools/gen-config.ts)', () => {
  expect(staleFiles()).toEqual([]);
});
