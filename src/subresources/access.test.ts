// Who is believed to ask, and what permission a path needs.
import { describe, expect, it } from 'vitest';
import { accessReview, DEFAULT_HEADERS, isOpen } from './access.js';

const PREFIX = '/apis/subresources.kubevirt.io/v1/namespaces/default';
const identity = {
  'x-remote-user': ['jane'],
  'x-remote-group': ['dev,ops', 'system:authenticated'],
  'x-remote-extra-acme%2fproject': ['p1', 'p2'],
};

const attributes = (method: string, path: string): unknown => {
  const review = accessReview({ method, path, headerValues: identity }, DEFAULT_HEADERS);
  return review.ok ? review.value.spec.resourceAttributes : review.error;
};
const base = { namespace: 'default', group: 'subresources.kubevirt.io', version: 'v1' };

describe('accessReview', () => {
  it('takes user, groups and extras from the headers, each value by itself', () => {
    const path = `${PREFIX}/virtualmachines/a/start`;
    const review = accessReview({ method: 'PUT', path, headerValues: identity }, DEFAULT_HEADERS);
    expect(review.ok && review.value.spec).toMatchObject({
      user: 'jane',
      groups: ['dev,ops', 'system:authenticated'],
      extra: { 'acme/project': ['p1', 'p2'] },
    });
  });

  it('asks configured header names in their order', () => {
    const headers = { user: ['X-Remote-User', 'X-Other-User'], group: ['X-Remote-Group', 'X-Other-Group'], extraPrefix: [] };
    const given = { 'x-other-user': ['joe'], 'x-other-group': ['g'] };
    const review = accessReview({ method: 'PUT', path: `${PREFIX}/virtualmachines/a/start`, headerValues: given }, headers);
    expect(review.ok && review.value.spec.user).toBe('joe');
  });

  it.each([
    ['no user', { 'x-remote-group': ['g'] }, 'a valid user header is required for authorization'],
    ['no group', { 'x-remote-user': ['u'] }, 'a valid group header is required for authorization'],
  ])('%s', (_title, headerValues, expected) => {
    const review = accessReview({ method: 'PUT', path: `${PREFIX}/virtualmachines/a/start`, headerValues }, DEFAULT_HEADERS);
    expect(review).toEqual({ ok: false, error: expected });
  });

  it.each([
    ['PUT', '/virtualmachines/a/start', { ...base, verb: 'update', resource: 'virtualmachines', name: 'a', subresource: 'start' }],
    [
      'GET',
      '/virtualmachineinstances/a/console',
      { ...base, verb: 'get', resource: 'virtualmachineinstances', name: 'a', subresource: 'console' },
    ],
    [
      'GET',
      '/virtualmachineinstances/a/portforward/22/tcp',
      { ...base, verb: 'get', resource: 'virtualmachineinstances', name: 'a', subresource: 'portforward' },
    ],
    [
      'PUT',
      '/virtualmachineinstances/a/sev/setupsession',
      { ...base, verb: 'update', resource: 'virtualmachineinstances', name: 'a', subresource: 'sev/setupsession' },
    ],
    ['PUT', '/expand-vm-spec', { ...base, verb: 'update', resource: 'expand-vm-spec' }],
    ['PUT', '/pods/a/exec', 'unknown resource type pods'],
    ['GET', '/virtualmachines', 'unknown resource type virtualmachines'],
    ['TRACE', '/virtualmachines/a/start', 'unknown http verb in request: TRACE'],
    ['GET', '/virtualmachines/a', `unknown api endpoint: ${PREFIX}/virtualmachines/a`],
    ['GET', '/virtualmachineinstances/a%2Fconsole', `unknown api endpoint: ${PREFIX}/virtualmachineinstances/a%2Fconsole`],
  ])('%s %s', (method, path, expected) => {
    expect(attributes(method, `${PREFIX}${path}`)).toEqual(expected);
  });
});

describe('isOpen', () => {
  it.each([
    ['/', true],
    ['/apis', true],
    ['/apis/subresources.kubevirt.io', false],
    ['/apis/subresources.kubevirt.io/v1', true],
    ['/apis/subresources.kubevirt.io/v1alpha3/version', true],
    ['/openapi/v3/apis/subresources.kubevirt.io/v1', true],
    [`${PREFIX}/virtualmachines/a/start`, false],
  ])('%s', (path, expected) => {
    expect(isOpen(path)).toBe(expected);
  });
});
