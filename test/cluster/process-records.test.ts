// Records must never let a stranger's process be taken for ours: the parsing and the comparison, with a real process as proof.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { scratchDir } from '../fakes/scratch.js';
import {
  findUnrecorded,
  isAlive,
  isSameProcess,
  type ProcessRecord,
  parseRecord,
  parseStat,
  readRecord,
  readRecords,
  recordOf,
  removeRecord,
  writeRecord,
} from './process-records.js';

const stat = (comm: string, state = 'S') => `42 (${comm}) ${state} 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 2000`;
const record: ProcessRecord = { name: 'etcd', pid: 42, startTime: '98765', bootId: 'boot-1', command: ['etcd'] };

describe('parseStat', () => {
  it.each([
    ['a plain name', stat('etcd'), { state: 'S', parent: 7, startTime: '98765' }],
    ['a name with blanks and brackets', stat('a ) b (c'), { state: 'S', parent: 7, startTime: '98765' }],
    ['a zombie', stat('etcd', 'Z'), { state: 'Z', parent: 7, startTime: '98765' }],
    ['a text cut short', '42 (etcd) S 7', undefined],
    ['nothing', '', undefined],
  ])('%s', (_title, text, expected) => {
    expect(parseStat(text)).toEqual(expected);
  });
});

describe('isSameProcess', () => {
  it.each([
    ['the very process', 'boot-1', stat('etcd'), true],
    ['its zombie', 'boot-1', stat('etcd', 'Z'), false],
    ['another process with the number', 'boot-1', stat('etcd').replace('98765', '98766'), false],
    ['the same numbers after a reboot', 'boot-2', stat('etcd'), false],
    ['no process', 'boot-1', '', false],
  ])('%s', (_title, bootId, text, expected) => {
    expect(isSameProcess(record, bootId, parseStat(text))).toBe(expected);
  });
});

describe('parseRecord', () => {
  it.each([
    ['a record', JSON.stringify(record), record],
    ['one cut short', JSON.stringify(record).slice(0, 20), undefined],
    ['pid 1, which is never ours', JSON.stringify({ ...record, pid: 1 }), undefined],
    ['a record without start time', JSON.stringify({ ...record, startTime: undefined }), undefined],
    ['null', 'null', undefined],
  ])('%s', (_title, text, expected) => {
    expect(parseRecord(text)).toEqual(expected);
  });
});

describe('records on disk', () => {
  let dir: string;
  beforeEach(() => {
    dir = scratchDir();
  });

  it('are written, read, listed and removed; a broken one is left out', () => {
    writeRecord(dir, record);
    writeFileSync(join(dir, 'broken.json'), '{');

    expect(readRecord(dir, 'etcd')).toEqual(record);
    expect(readRecords(dir)).toEqual([record]);

    removeRecord(dir, 'etcd');
    expect(readRecord(dir, 'etcd')).toBeUndefined();
  });

  it('of no folder are none', () => {
    expect(readRecords(join(dir, 'absent'))).toEqual([]);
  });
});

it('finds processes without a record by paths that only ours have', () => {
  const lines = new Map([
    [1, ['/sbin/init']],
    [20, ['/state/bin/etcd', '--data-dir=/state/etcd']],
    [21, ['nsenter', '-t', '7', '--', '/state/bin/kubelet']],
    [22, ['unshare', 'sh', '/state/node1/node.sh']],
    [23, ['tail', '-f', '/state/logs/etcd.log']],
    [24, ['/state/binary']],
    [25, []],
  ]);
  expect(findUnrecorded(['/state/bin', '/state/node1/node.sh'], lines)).toEqual([20, 21, 22]);
});

it('follows a real process to its end', async () => {
  const child = spawn('sleep', ['60']);
  const made = recordOf('sleep', child.pid ?? 0, ['sleep', '60']);
  expect(isAlive(made)).toBe(true);

  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;

  expect(isAlive(made)).toBe(false);
});
