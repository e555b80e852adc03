// What a fresh clone is found to lack: npm packages, Debian packages, Go.
import { afterEach, describe, expect, it } from 'vitest';

/** Plain JavaScript without declarations: what the tests use of it is declared here. */
interface Bootstrap {
  readonly COMMANDS: Record<string, { needs: (args: string[]) => { debian: string[]; go: boolean } }>;
  readonly missingOf: (wanted: string[], list: string) => string[];
  readonly parseVersion: (text: string) => number[] | undefined;
  readonly atLeast: (version: number[], wanted: number[]) => boolean;
  readonly isInstalled: (lock: object, installed: object | undefined) => boolean;
}

const parts = await Promise.all(['commands', 'debian', 'go', 'npm'].map((name) => import(`./${name}.mjs`) as Promise<object>));
const { COMMANDS, missingOf, parseVersion, atLeast, isInstalled } = Object.assign({}, ...parts) as Bootstrap;

describe('isInstalled', () => {
  const lock = { packages: { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0', optional: true } } };
  it.each([
    ['nothing', undefined, false],
    ['the locked version', { packages: { 'node_modules/a': { version: '1.0.0' } } }, true],
    ['another version', { packages: { 'node_modules/a': { version: '1.0.1' } } }, false],
    ['another package', { packages: {} }, false],
  ])('%s: %s', (_title, installed, expected) => {
    expect(isInstalled(lock, installed)).toBe(expected);
  });
});

it('a Debian package counts only when it is fully installed', () => {
  expect(missingOf(['a', 'b', 'c'], 'a installed\nb config-files\n')).toEqual(['b', 'c']);
});

describe('Go versions', () => {
  it.each([
    ['go version go1.26.8 linux/amd64', [1, 26]],
    ['2:1.19~1', [1, 19]],
    ['1.24', [1, 24]],
    ['(none)', undefined],
  ])('%s', (text, expected) => {
    expect(parseVersion(text)).toEqual(expected);
  });

  it.each([
    [[1, 26], [1, 26], true],
    [[1, 9], [1, 21], false],
    [[2, 0], [1, 26], true],
  ])('%j is at least %j: %s', (version, wanted, expected) => {
    expect(atLeast(version, wanted)).toBe(expected);
  });
});

describe('needs of a command', () => {
  it.each([
    ['cluster', ['up'], true],
    ['cluster', ['kubeconfig'], false],
    ['quick', [], false],
    ['start', [], true],
    ['start', ['--kubeconfig', 'x'], false],
    ['test', [], true],
  ])('%s %j builds programs: %s', (name, args, expected) => {
    expect(COMMANDS[name]?.needs(args).go).toBe(expected);
  });
});

describe('without openssl', () => {
  const path = process.env.PATH;
  afterEach(() => {
    process.env.PATH = path;
  });

  it.each([
    ['is not there', '/nowhere', ['openssl']],
    ['is there, whoever brought it', path, []],
  ])('the quick checks bring it when it %s', (_title, value, debian) => {
    process.env.PATH = value;
    expect(COMMANDS.quick?.needs([])).toEqual({ debian, go: false });
  });

  it('the whole run brings it', () => {
    expect(COMMANDS.test?.needs([]).debian).toContain('openssl');
  });
});
