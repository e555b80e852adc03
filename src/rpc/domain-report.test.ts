// Only reports of the right shape reach the node agent's decisions.
import { describe, expect, it } from 'vitest';
import type { DomainReport } from '../api/domain-report.js';
import { asDomainReport } from './domain-report.js';

const report = {
  metadata: { name: 'vm', namespace: 'default', uid: 'u' },
  spec: { disks: [{ name: 'root', target: 'vda' }], interfaces: [], gracePeriodSeconds: 30, gracePeriodStartedAt: '2026-11-30T12:00:00Z' },
  status: { status: 'Running' },
};

const FULL: DomainReport = {
  metadata: { name: 'vm', namespace: 'default', uid: 'u', deletionTimestamp: '2026-11-30T12:00:00Z' },
  spec: {
    machineType: 'pc-q35-10.0',
    type: 'kvm',
    memoryBytes: 1024,
    vcpus: 2,
    memoryDump: { fileName: 'd', startTimestamp: '2026-11-30T12:00:00Z', endTimestamp: '2026-11-30T12:01:00Z', failure: 'no room' },
    accessCredentials: { succeeded: false, message: 'no agent' },
    migration: {
      ...{ uid: 'm', startTimestamp: '2026-11-30T12:00:00Z', endTimestamp: '2026-11-30T12:01:00Z', completed: false, failed: true },
      ...{ failureReason: 'late', abortStatus: 'Succeeded', mode: 'PreCopy' },
    },
    agent: { version: '9.1', commands: ['guest-ping'] },
    gracePeriodSeconds: 30,
    gracePeriodStartedAt: '2026-11-30T12:00:00Z',
    markedForGracefulShutdown: true,
    agentConnected: true,
    disks: [{ name: 'root', target: 'vda', size: 7 }],
    interfaces: [{ name: 'default', mac: '02:00:00:00:00:01', interfaceName: 'eth0', ips: ['10.0.2.2'] }],
  },
  status: { status: 'Paused', reason: 'User', osInfo: { name: 'Debian' }, hostname: 'h', fsFreezeStatus: 'frozen' },
};

describe('asDomainReport', () => {
  it('passes a report on as it is', () => {
    expect(asDomainReport(report)).toEqual(report);
    expect(asDomainReport(JSON.parse(JSON.stringify(FULL)))).toEqual(FULL);
  });

  it('leaves out what a guest may say and nobody can use', () => {
    const spec = {
      ...report.spec,
      interfaces: [{ name: 'default', mac: 7, interfaceName: {}, ips: ['10.0.2.2', 7, null] }, { ips: 'x' }],
      agent: { version: 3, commands: 'all' },
      accessCredentials: null,
      memoryDump: { fileName: 'x' },
      memoryBytes: '1',
      vcpus: 1.5,
      agentConnected: 'yes',
      news: 'from a later release',
    };
    const read = asDomainReport({ ...report, spec, status: { status: 'Running', osInfo: null, hostname: 7, fsFreezeStatus: [] } });
    expect(read.status).toEqual({ status: 'Running' });
    expect(read.spec).toEqual({
      ...report.spec,
      interfaces: [{ name: 'default', mac: '', ips: ['10.0.2.2'] }, { mac: '' }],
      agent: { version: '', commands: [] },
    });
  });

  it('keeps a guest from filling the status of its VMI', () => {
    const long = 'x'.repeat(100_000);
    const many = <T>(item: T): T[] => Array.from({ length: 5_000 }, () => item);
    const spec = {
      ...report.spec,
      interfaces: many({ mac: long, interfaceName: long, ips: many(long) }),
      agent: { version: long, commands: many(long) },
      accessCredentials: { succeeded: false, message: long },
      migration: { uid: long, failureReason: long, abortStatus: long, mode: long },
      memoryDump: { fileName: long, startTimestamp: '2026-11-30T12:00:00Z', failure: long },
    };
    const osInfo = Object.fromEntries(many(0).map((_, i) => [`key${i}`, long]));
    const read = asDomainReport({ ...report, spec, status: { status: 'Running', osInfo, reason: long } });
    const { interfaces, agent, accessCredentials, migration } = read.spec;
    expect([interfaces.length, interfaces[0]?.ips?.length, interfaces[0]?.mac.length]).toEqual([256, 32, 64]);
    expect(JSON.stringify(interfaces).length).toBeLessThan(1_000_000);
    expect([agent?.commands.length, agent?.version.length, accessCredentials?.message?.length]).toEqual([512, 256, 4096]);
    expect([migration?.failureReason?.length, migration?.mode, read.status.reason?.length]).toEqual([4096, undefined, 256]);
    expect(Object.keys(read.status.osInfo ?? {})).toHaveLength(32);
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
    ['a migration that ended at no time', { ...report, spec: { ...report.spec, migration: { uid: 'm', endTimestamp: 'now' } } }],
  ])('refuses %s', (_title, value) => {
    expect(() => asDomainReport(value)).toThrow(expect.objectContaining({ code: 'Invalid', retry: 'backoff' }));
  });
});
