// Only reports of the right shape reach the node agent's decisions.
import { describe, expect, it } from 'vitest';
import { asDomainReport } from './domain-report.js';

const report = {
  metadata: { name: 'vm', namespace: 'default', uid: 'u' },
  spec: { disks: [{ name: 'root', target: 'vda' }], interfaces: [], gracePeriodSeconds: 30, gracePeriodStartedAt: '2026-11-30T12:00:00Z' },
  status: { status: 'Running' },
};

describe('asDomainReport', () => {
  it('passes a report on as it is', () => {
    expect(asDomainReport(report)).toBe(report);
  });

  it.each([
    ['null', null],
    ['an empty object', {}],
    ['a list', []],
    ['no status', { ...report, status: {} }],
    ['a state of its own', { ...report, status: { status: 'Dancing' } }],
    ['a state from the prototype', { ...report, status: { status: 'constructor' } }],
    ['no disks', { ...report, spec: { interfaces: [] } }],
    ['interfaces that are none', { ...report, spec: { ...report.spec, interfaces: [null] } }],
    ['a disk without a name', { ...report, spec: { ...report.spec, disks: [{ target: 'vda' }] } }],
    ['a disk of no size', { ...report, spec: { ...report.spec, disks: [{ name: 'root', target: 'vda', size: -1 }] } }],
    ['a grace period without end', { ...report, spec: { ...report.spec, gracePeriodSeconds: 'long' } }],
    ['a grace period from nowhere', { ...report, spec: { ...report.spec, gracePeriodStartedAt: 'soon' } }],
    ['a migration of nobody', { ...report, spec: { ...report.spec, migration: {} } }],
    [
      'a migration that failed for a book',
      { ...report, spec: { ...report.spec, migration: { uid: 'm', failureReason: 'x'.repeat(9999) } } },
    ],
    ['a migration that ended at no time', { ...report, spec: { ...report.spec, migration: { uid: 'm', endTimestamp: 'now' } } }],
  ])('refuses %s', (_title, value) => {
    expect(() => asDomainReport(value)).toThrow(expect.objectContaining({ code: 'Invalid', retry: 'backoff' }));
  });
});
