import { describe, expect, it } from 'vitest';
import { debianMirror, parsePackages } from './packages.js';

describe('parsePackages', () => {
  it('keeps what is for this architecture and drops comments', () => {
    const text = '# title\nqemu-utils\nqemu-system-x86 [amd64]\nqemu-system-arm [arm64] # other\n\n  tini # first process\n';
    expect(parsePackages(text, 'amd64')).toEqual(['qemu-utils', 'qemu-system-x86', 'tini']);
  });
});

const DEB822 = `Types: deb
# a note
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
`;

describe('debianMirror', () => {
  it.each<[string, Record<string, string>, string | undefined]>([
    ['deb822', { 'debian.sources': DEB822 }, 'http://mirror.example/debian'],
    ['one line', { 'sources.list': 'deb [signed-by=/k.gpg] https://m.example/debian trixie main contrib\n' }, 'https://m.example/debian'],
    [
      'security comes first',
      { 'sources.list': 'deb http://s.example/ trixie-security main\ndeb http://m.example/ trixie main\n' },
      'http://m.example/',
    ],
    ['vendor lists only', { 'x.sources': 'Types: deb\nURIs: https://v.example/\nSuites: nodistro\nComponents: main\n' }, undefined],
    ['disabled', { 'x.sources': `Enabled: no\n${DEB822.split('\n\n')[0]}` }, undefined],
    ['source packages only', { 'x.sources': DEB822.replace('Types: deb', 'Types: deb-src').split('\n\n')[0] ?? '' }, undefined],
    ['nothing', {}, undefined],
  ])('%s', (_title, files, expected) => {
    expect(debianMirror(files)).toBe(expected);
  });
});
