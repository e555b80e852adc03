// docs/subresources.md tells of every verb, and gives the reason of each that is not served.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GROUP_PATHS, SUBRESOURCES } from './verbs.js';

const rows = readFileSync(new URL('../../docs/subresources.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()));

/** The last cell of the row about a subresource. */
const told = (resource: string, name: string): string | undefined =>
  rows.find(([, r, names]) => r?.split(', ').includes(resource) && names?.split(', ').includes(name))?.at(-2);

describe('docs/subresources.md', () => {
  it.each(SUBRESOURCES.map((row) => [row.resource, row.name.split('/:')[0] ?? '', row.missing] as const))(
    '%s/%s',
    (resource, name, missing) => {
      if (missing === undefined) expect(told(resource, name)).toBeDefined();
      else expect(told(resource, name)).toBe(missing);
    },
  );

  it.each(GROUP_PATHS.map(({ path, missing }) => [path.split('/').at(-1) ?? '', missing] as const))('%s', (name, missing) => {
    if (missing === undefined) expect(told('–', name)).toBeDefined();
    else expect(told('–', name)).toBe(missing);
  });
});
