import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../src/api/index.js';
import { scratchDir } from '../fakes/scratch.js';
import { AuditTail, component, countWrites, isHeartbeat, isOurs, parseAudit, type Write } from './audit.js';
import { describe as describeIdle } from './idle.js';
import { isInPod, mappingsOfSize, parseSmapsRollup, programName, startOf, totalOf } from './memory.js';
import { consoleLogPath, definedAt, vmOfPod } from './observed.js';

const line = (over: object = {}): string =>
  JSON.stringify({
    stage: 'ResponseComplete',
    verb: 'patch',
    user: { username: 'system:serviceaccount:kubevirt:kubevirt-controller' },
    objectRef: { resource: 'virtualmachines', subresource: 'status', namespace: 'bench', name: 'a' },
    responseStatus: { code: 200 },
    stageTimestamp: '2026-01-02T03:04:05.678901Z',
    ...over,
  });

const write = (over: Partial<Write> = {}): Write => ({ ...(parseAudit(line())[0] as Write), ...over });

it('finds the guest’s memory among the mappings of QEMU', () => {
  const mapping = (range: string, size: number, rss: number, pss: number): string =>
    `${range} rw-p 00000000 00:00 0 \nSize:           ${size} kB\nRss:            ${rss} kB\nPss:            ${pss} kB\nVmFlags: rd wr\n`;
  const smaps = mapping('7f00-7f10', 131_072, 100, 90) + mapping('7f20-7f30', 4, 4, 4) + mapping('abc0-abd0', 131_071, 7, 7);
  expect(mappingsOfSize(smaps, 128 * 1024 * 1024)).toEqual({ rss: 100 * 1024, pss: 90 * 1024 });
});

it('tells when a process was started, whatever its name', () => {
  const fields = Array.from({ length: 30 }, (_, index) => index + 4).map((field) => (field === 22 ? 1234 : 7));
  expect(startOf(`42 (a) b) c) S ${fields.join(' ')}`, '100.50 17.00\n', 1_000_000)).toBe(1_000_000 - 100_500 + 12_340);
});

describe('audit log', () => {
  it('reads finished writes', () => {
    expect(parseAudit(`${line()}\n`)).toEqual([
      {
        at: Date.parse('2026-01-02T03:04:05.678Z'),
        user: 'system:serviceaccount:kubevirt:kubevirt-controller',
        verb: 'patch',
        resource: 'virtualmachines/status',
        namespace: 'bench',
        name: 'a',
        code: 200,
      },
    ]);
  });

  it('leaves out other stages and lines that were cut off', () => {
    expect(parseAudit([line({ stage: 'ResponseStarted' }), line().slice(20), line().slice(0, -5), ''].join('\n'))).toEqual([]);
  });

  it.each<[string, Partial<Write>, boolean]>([
    ['our controller', {}, true],
    ['a kubelet', { user: 'system:node:node1' }, false],
    ['another account', { user: 'system:serviceaccount:kube-system:deployment-controller' }, false],
    ['a question', { resource: 'subjectaccessreviews' }, false],
  ])('ours: %s', (_title, over, expected) => {
    expect(isOurs(write(over))).toBe(expected);
  });

  it.each<[string, boolean]>([
    ['leases', true],
    ['nodes', true],
    ['nodes/status', true],
    ['events', false],
  ])('heartbeat: %s', (resource, expected) => {
    expect(isHeartbeat(write({ resource }))).toBe(expected);
  });

  it('counts by component, verb and resource, most frequent first', () => {
    const events = write({ resource: 'events', verb: 'create' });
    expect(component(events)).toBe('controller');
    expect(countWrites([events, write(), events])).toEqual([
      { component: 'controller', verb: 'create', resource: 'events', count: 2 },
      { component: 'controller', verb: 'patch', resource: 'virtualmachines/status', count: 1 },
    ]);
  });

  it('follows the file: only what is new, whole lines, and a new file from its start', () => {
    const dir = scratchDir();
    const file = join(dir, 'audit.log');
    writeFileSync(file, `${line()}\n`);
    const tail = new AuditTail(file);
    expect(tail.read()).toEqual([]);
    appendFileSync(file, `${line({ verb: 'create' })}\n${line({ verb: 'delete' }).slice(0, 30)}`);
    expect(tail.read().map(({ verb }) => verb)).toEqual(['create']);
    appendFileSync(file, `${line({ verb: 'delete' }).slice(30)}\n`);
    expect(tail.read().map(({ verb }) => verb)).toEqual(['delete']);
    renameSync(file, `${file}.1`);
    writeFileSync(file, `${line({ verb: 'update' })}\n`);
    expect(tail.read().map(({ verb }) => verb)).toEqual(['update']);
  });

  it('tells heartbeats from the rest', () => {
    const { tables } = describeIdle([write({ resource: 'leases' }), write({ resource: 'events' })]);
    expect(tables.map(({ title, rows }) => [title, rows.length])).toEqual([
      ['Leases and node heartbeats in 60 s', 1],
      ['other API writes in 60 s: 1', 1],
    ]);
  });
});

describe('memory', () => {
  it('reads the kernel’s sums', () => {
    expect(parseSmapsRollup('00400000-7ffe ---p 00000000 00:00 0 [rollup]\nRss:    2048 kB\nPss:    1024 kB\nPss_Anon: 9 kB\n')).toEqual({
      rss: 2048 * 1024,
      pss: 1024 * 1024,
    });
    expect(parseSmapsRollup('')).toEqual({ rss: 0, pss: 0 });
  });

  it.each([
    ['/usr/sbin/libvirtd\0-f\0/x\0', 'libvirtd'],
    ['/usr/local/bin/node\0--lite-mode\0/app/virt-launcher.js\0--name\0a\0', 'virt-launcher'],
    ['node\0', 'node'],
    ['', ''],
  ])('names the program of %j', (cmdline, expected) => {
    expect(programName(cmdline)).toBe(expected);
  });

  it.each([
    ['/kubepods/burstable/podab-1/c', true],
    ['/kubepods.slice/kubepods-podab_1.slice/x.scope', true],
    ['/kubepods/podab-2/c', false],
  ])('finds the pod in %s', (cgroup, expected) => {
    expect(isInPod(cgroup, 'ab-1')).toBe(expected);
  });

  it('adds up', () => {
    expect(
      totalOf([
        { rss: 3, pss: 1 },
        { rss: 4, pss: 2 },
      ]),
    ).toEqual({ rss: 7, pss: 3 });
  });
});

describe('what the cluster shows', () => {
  it('knows the VM of a pod by its label', () => {
    expect(vmOfPod({ metadata: { name: 'virt-launcher-a-x', labels: { bench: 'a' } } } as unknown as Pod)).toBe('a');
    expect(vmOfPod({ metadata: { name: 'other' } } as unknown as Pod)).toBeUndefined();
  });

  it('finds the console log through the node', () => {
    expect(consoleLogPath(42, 'p', 'v')).toBe(
      '/proc/42/root/var/lib/kubelet/pods/p/volumes/kubernetes.io~empty-dir/private/v/virt-serial0-log',
    );
  });

  it('takes the definition back from the start that the launcher reports', () => {
    const started = '{"time":"2026-01-02T03:04:05.900Z","prepareMs":10,"defineMs":20,"startMs":400,"msg":"Started the guest"}';
    expect(definedAt(`noise\n${started}\n`)).toBe(Date.parse('2026-01-02T03:04:05.500Z'));
    expect(definedAt('noise')).toBeUndefined();
  });
});
