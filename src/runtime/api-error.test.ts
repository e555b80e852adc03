// Every kind of refusal has its code, and the server's words survive.
import { describe, expect, it } from 'vitest';
import { apiError } from './api-error.js';
import { collectionPath, objectPath, pathTemplate, query } from './paths.js';
import { NODES, PODS, VIRTUAL_MACHINES } from './resources.js';

const status = (code: number, reason: string, more: object = {}): { status: number; body: string } => ({
  status: code,
  body: JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message: 'the words', ...more }),
});

describe('apiError', () => {
  it.each([
    ['NotFound', status(404, 'NotFound')],
    ['AlreadyExists', status(409, 'AlreadyExists')],
    ['Conflict', status(409, 'Conflict')],
    ['Gone', status(410, 'Expired')],
    ['Gone', status(410, 'Gone')],
    ['Invalid', status(422, 'Invalid', { details: { causes: [{ field: 'spec' }] } })],
    ['Invalid', status(400, 'BadRequest')],
    ['Forbidden', status(403, 'Forbidden')],
    ['Forbidden', status(401, 'Unauthorized')],
    ['Unavailable', status(500, 'InternalError')],
    ['Unavailable', status(429, 'TooManyRequests')],
    ['Timeout', status(504, 'Timeout')],
    ['Unavailable', { status: 502, body: '<html>bad gateway</html>' }],
    ['NotFound', { status: 404, body: '404 page not found' }],
    ['Unavailable', { status: 503, body: '' }],
  ])('%s', (code, response) => {
    expect(apiError({ what: 'get pods a/b' }, response).code).toBe(code);
  });

  it('keeps message, code and causes', () => {
    const causes = [{ reason: 'FieldValueInvalid', field: 'spec.x', message: 'no' }];
    const err = apiError({ what: 'update pods a/b' }, status(422, 'Invalid', { details: { kind: 'pods', causes } }));
    expect(err.message).toBe('update pods a/b: the words');
    expect(err.details).toEqual({ status: 422, message: 'the words', reason: 'Invalid', causes });
    expect(err.retry).toBe('backoff');
  });

  it('takes a failed test of a patch for a lost race, but not an invalid result', () => {
    expect(apiError({ what: 'patch', guarded: true }, status(422, 'Invalid'))).toMatchObject({ code: 'Conflict', retry: 'backoff' });
    expect(apiError({ what: 'patch', guarded: true }, status(422, 'Invalid', { details: { kind: 'Pod', causes: [{}] } })).code).toBe(
      'Invalid',
    );
    expect(apiError({ what: 'patch', guarded: false }, status(422, 'Invalid')).code).toBe('Invalid');
  });
});

describe('paths', () => {
  it.each([
    [collectionPath(PODS), '/api/v1/pods'],
    [collectionPath(PODS, 'ns'), '/api/v1/namespaces/ns/pods'],
    [collectionPath(NODES, 'ignored'), '/api/v1/nodes'],
    [objectPath(VIRTUAL_MACHINES, 'ns/web', 'status'), '/apis/kubevirt.io/v1/namespaces/ns/virtualmachines/web/status'],
    [objectPath(NODES, 'node:1'), '/api/v1/nodes/node%3A1'],
    [pathTemplate(PODS, true, 'eviction'), '/api/v1/namespaces/{namespace}/pods/{name}/eviction'],
    [query({ a: 'x=y', b: undefined, c: '', d: true, e: 5, f: false }), '?a=x%3Dy&d=true&e=5'],
    [query({}), ''],
  ])('%s', (path, expected) => {
    expect(path).toBe(expected);
  });

  it.each([
    [PODS, 'no-namespace'],
    [NODES, 'a/namespace'],
    [PODS, 'ns/'],
  ])('refuses a key that names nothing', (resource, key) => {
    expect(() => objectPath(resource as typeof PODS, key)).toThrow(/is no key of/);
  });
});
