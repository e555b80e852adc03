import { describe, expect, it } from 'vitest';
import type { AdmissionRequest } from '../review.js';
import { withNotice } from './stored-only.js';

const request = (resource: string, group: string, operation = 'CREATE') =>
  ({ resource: { resource, group, version: 'v1' }, operation }) as AdmissionRequest;

describe('withNotice', () => {
  it('tells who creates an object that nothing acts on, beside the other warnings', () => {
    const response = withNotice(request('virtualmachinepools', 'pool.kubevirt.io'), { allowed: true, warnings: ['old'] });
    expect(response.warnings).toEqual(['old', expect.stringContaining('no VirtualMachines are created')]);
  });

  it.each([
    ['a kind that is served', request('virtualmachines', 'kubevirt.io'), { allowed: true }],
    ['a kind of the same name in another group', request('virtualmachinepools', 'example.com'), { allowed: true }],
    ['an update', request('virtualmachinepools', 'pool.kubevirt.io', 'UPDATE'), { allowed: true }],
    ['a refusal', request('virtualmachinepools', 'pool.kubevirt.io'), { allowed: false }],
  ])('says nothing about %s', (_title, asked, response) => {
    expect(withNotice(asked, response)).toBe(response);
  });
});
