import { describe, expect, it } from 'vitest';
import type { ResourceQuota } from '../api/index.js';
import { KvError } from '../base/errors.js';
import { explained, givesRoom, withWords } from './refusals.js';

const POD = 'pods "virt-launcher-web-abcde" is forbidden';
const refused = (message: string): KvError =>
  new KvError('Forbidden', `create pods shop/virt-launcher-web-abcde: ${message}`, { retry: 'backoff', details: { status: 403, message } });

const RANGE = '; a LimitRange of namespace shop bounds this, or gives it its defaults: see kubectl describe limitrange -n shop';

describe('explained', () => {
  it.each([
    [
      'a quota without room',
      `${POD}: exceeded quota: small, requested: requests.memory=416Mi, used: requests.memory=0, limited: requests.memory=100Mi`,
      '; raise ResourceQuota small of namespace shop, stop something else there, or ask for less; it is tried again when there is room',
    ],
    [
      'a quota of limits that the pod does not name',
      `${POD}: failed quota: strict: must specify limits.ephemeral-storage for: compute`,
      '; ResourceQuota strict of namespace shop wants this said: set it in spec.domain.resources, or make a LimitRange with defaults',
    ],
    ['a limit range', `${POD}: maximum memory usage per Container is 64Mi, but limit is 80M`, RANGE],
    [
      'a limit range of claims',
      'persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi',
      RANGE,
    ],
    [
      'a limit that a limit range has given it',
      'Pod "virt-launcher-web-abcde" is invalid: spec.containers[0].resources.requests: Invalid value: "416Mi": must be less than or equal to memory limit of 256Mi',
      RANGE,
    ],
    ['anything else', `${POD}: no such service account`, ''],
  ])('adds to the server’s words what to do about them: %s', (_title, words, advice) => {
    expect(explained(refused(words), 'shop')).toBe(`${words}${advice}`);
  });

  it('tells the whole of an error that is not the server’s', () => {
    expect(explained(new KvError('Unavailable', 'connect ECONNREFUSED'), 'shop')).toBe('connect ECONNREFUSED');
  });
});

describe('withWords', () => {
  it('keeps what callers decide by', () => {
    expect(withWords(refused('no'), 'a sentence')).toMatchObject({
      code: 'Forbidden',
      message: 'a sentence',
      retry: 'backoff',
      details: { status: 403 },
    });
  });
  it('leaves a fault of the program alone', () => {
    const fault = new TypeError('x is undefined');
    expect(withWords(fault, 'a sentence')).toBe(fault);
  });
});

describe('givesRoom', () => {
  const quota = (hard: Record<string, string>, used: Record<string, string>): ResourceQuota => ({
    metadata: { name: 'q' },
    status: { hard, used },
  });
  const full = quota({ 'requests.memory': '1Gi', pods: '3' }, { 'requests.memory': '1Gi', pods: '1' });
  it.each<[string, ResourceQuota, ResourceQuota | undefined, boolean]>([
    ['a quota that was made or went', full, undefined, true],
    ['one that was raised', quota({ 'requests.memory': '1025Mi', pods: '3' }, full.status?.used ?? {}), full, true],
    ['one whose use went down', quota(full.status?.hard ?? {}, { 'requests.memory': '900M', pods: '1' }), full, true],
    ['one that no longer bounds something', quota({ pods: '3' }, { pods: '1' }), full, true],
    ['one that is used more', quota(full.status?.hard ?? {}, { 'requests.memory': '1Gi', pods: '2' }), full, false],
    ['one that was lowered', quota({ 'requests.memory': '512Mi', pods: '3' }, full.status?.used ?? {}), full, false],
    ['the same', full, full, false],
  ])('%s', (_title, next, old, expected) => expect(givesRoom(next, old)).toBe(expected));
});
