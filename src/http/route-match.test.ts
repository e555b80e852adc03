// Which paths a pattern matches and what it takes from them.
import { describe, expect, it } from 'vitest';
import { matchPath, parsePattern } from './route-match.js';

describe('matchPath', () => {
  it.each([
    ['literal', '/healthz', '/healthz', {}],
    ['other literal', '/healthz', '/healthy', undefined],
    ['parameter', '/ns/:ns/vm/:name', '/ns/a/vm/b', { ns: 'a', name: 'b' }],
    ['percent-encoded parameter', '/ns/:ns', '/ns/a%20b', { ns: 'a b' }],
    ['several segments in one', '/ns/:ns', '/ns/a%2Fb', undefined],
    ['a step up', '/ns/:ns', '/ns/..', undefined],
    ['broken escape', '/ns/:ns', '/ns/%zz', undefined],
    ['empty parameter', '/ns/:ns', '/ns/', undefined],
    ['longer path', '/ns/:ns', '/ns/a/b', undefined],
    ['root', '/', '/', {}],
  ])('%s', (_title, pattern, path, expected) => {
    expect(matchPath(parsePattern(pattern), path)).toEqual(expected);
  });
});
