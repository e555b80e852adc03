// Our installation beside the recorded one, where recordings exist; and how objects are compared, always.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/api/index.js';
import { installAgreement } from './install/agreement.js';
import { differences } from './install/compare.js';
import { ABSENT, DIFFERENT } from './install/explained.js';
import { hasRecordings, ORACLES } from './schema/recorded.js';

if (!hasRecordings) console.warn(`there are no recordings at ${ORACLES}: the installation is not compared with a recorded one`);

describe.skipIf(!hasRecordings)('recorded installation', () => {
  const { verdicts, stale } = installAgreement();

  it('is there', () => expect(verdicts.length).toBeGreaterThan(0));
  it.each(verdicts.map((verdict) => [verdict.id, verdict] as const))('%s', (_id, verdict) => expect(verdict.differences).toEqual([]));
  it('needs every explanation', () => expect(stale).toEqual([]));
});

it('gives a reason for each difference', () => {
  const reasons = [...ABSENT.map(([, reason]) => reason), ...DIFFERENT.map(({ reason }) => reason)];
  expect(reasons.filter((reason) => reason.length < 10)).toEqual([]);
});

describe('differences', () => {
  const role = (...rules: object[]): KubeObject => ({ kind: 'ClusterRole', metadata: { name: 'r' }, rules }) as KubeObject;
  const rule = (resources: string[], verbs: string[]): object => ({ apiGroups: ['g'], resources, verbs });
  const pod = (...containers: object[]): KubeObject => ({ kind: 'Pod', metadata: { name: 'p' }, spec: { containers } }) as KubeObject;

  it.each([
    ['the same rights in other rules', role(rule(['a', 'b'], ['get'])), role(rule(['b'], ['get']), rule(['a'], ['get'])), []],
    ['a right less', role(rule(['a'], ['get', 'list'])), role(rule(['a'], ['get'])), ['-/rules/list g/a']],
    ['a right more', role(rule(['a'], ['get'])), role(rule(['a'], ['get', 'list'])), ['+/rules/list g/a']],
    ['another order of named things', pod({ name: 'a' }, { name: 'b' }), pod({ name: 'b' }, { name: 'a' }), []],
    ['another value', pod({ name: 'a', tty: true }), pod({ name: 'a', tty: false }), ['/spec/containers/a/tty']],
    ['one more', pod({ name: 'a' }), pod({ name: 'a' }, { name: 'b', tty: true }), ['+/spec/containers/b/name', '+/spec/containers/b/tty']],
    ['lists of texts', pod({ name: 'a', args: ['x', 'y'] }), pod({ name: 'a', args: ['x'] }), ['/spec/containers/a/args']],
  ])('%s', (_title, recorded, own, expected) => {
    expect(differences(recorded, own)).toEqual(expected);
  });
});
