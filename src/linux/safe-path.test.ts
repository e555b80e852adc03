import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../../test/fakes/scratch.js';
import { existsBeneath, openBeneath, withBeneath } from './safe-path.js';

let dir: string;
let root: string;

beforeEach(async () => {
  dir = scratchDir();
  root = join(dir, 'root');
  await mkdir(join(root, 'run', 'app'), { recursive: true });
  await mkdir(join(root, 'var'));
  await writeFile(join(root, 'run', 'app', 'file'), 'inside');
  await writeFile(join(dir, 'secret'), 'outside');
});

const read = (inside: string): Promise<string> => withBeneath(root, inside, (found) => readFile(found.path, 'utf8'));

describe('openBeneath', () => {
  it.each([['/run/app/file'], ['run//app/./file'], ['run/app/../app/file'], ['../../run/app/file']])('finds %s', async (inside) => {
    expect(await read(inside)).toBe('inside');
  });

  it('resolves absolute and relative links against the root', async () => {
    await symlink('/run', join(root, 'var', 'run'));
    await symlink('../run/app', join(root, 'var', 'app'));
    expect(await read('/var/run/app/file')).toBe('inside');
    expect(await read('/var/app/file')).toBe('inside');
    expect(await withBeneath(root, '/var/run/app/../app/file', async ({ resolved }) => resolved)).toBe('/run/app/file');
  });

  it.each([
    ['an absolute link', '/../secret'],
    ['a relative link', '../../secret'],
  ])('is not led out by %s', async (_title, target) => {
    await symlink(target, join(root, 'var', 'out'));
    await expect(openBeneath(root, '/var/out')).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('gives up on links in a circle', async () => {
    await symlink('b', join(root, 'a'));
    await symlink('a', join(root, 'b'));
    await expect(openBeneath(root, '/a')).rejects.toMatchObject({ code: 'Invalid' });
  });

  it('names a missing file', async () => {
    await expect(openBeneath(root, '/run/none')).rejects.toThrow(/cannot open \/run\/none in .*root/);
    await expect(openBeneath(root, '/run/app/file/below')).rejects.toMatchObject({ code: 'NotFound' });
    expect(await existsBeneath(root, '/run/none')).toBe(false);
    expect(await existsBeneath(root, '/run')).toBe(true);
  });

  it('can be used as a parent for new names', async () => {
    await withBeneath(root, '/run/app', (found) => writeFile(`${found.path}/new`, 'made'));
    expect(await readFile(join(root, 'run', 'app', 'new'), 'utf8')).toBe('made');
  });
});
