// Memory dumps: which claim, whether it fits, and every phase that an earlier request may be in.
import { describe, expect, it } from 'vitest';
import type { PersistentVolumeClaim, VirtualMachine, VirtualMachineInstance } from '../api/index.js';
import { decideMemoryDump, decideRemoveMemoryDump, dumpClaim, dumpClaimRefusal, dumpSize, dumpVmiRefusal } from './decide-memory-dump.js';
import type { Decision } from './decide-vm.js';

const vm = (status?: object): VirtualMachine =>
  ({ metadata: { name: 'test' }, spec: { template: {} }, ...(status ? { status } : {}) }) as unknown as VirtualMachine;
const withDump = (phase: string, rest: object = {}): VirtualMachine => vm({ memoryDumpRequest: { claimName: 'old', phase, ...rest } });
const vmi = (memory: object, phase = 'Running'): VirtualMachineInstance =>
  ({ metadata: { name: 'test' }, spec: { domain: { devices: {}, ...memory } }, status: { phase } }) as unknown as VirtualMachineInstance;
const claim = (storage: string, spec: object = {}): PersistentVolumeClaim =>
  ({
    metadata: { name: 'claim' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...spec },
  }) as PersistentVolumeClaim;

const brief = (message: string): string => message.replace(/^Operation cannot be fulfilled on .*?": /, '');
const told = (decision: Decision): unknown[] =>
  'refusal' in decision
    ? [`${decision.refusal.code} ${brief(decision.refusal.message)}`]
    : decision.steps.flatMap(({ target, operations }) => operations.map((o) => [target, o.op, o.path, o.value]));

describe('dumpClaim', () => {
  it.each([
    ['named', vm(), { claimName: 'new' }, 'new'],
    ['the one it has', withDump('Completed'), {}, 'old'],
    ['the same again', withDump('Completed'), { claimName: 'old' }, 'old'],
    ['none', vm({}), {}, '400 Memory dump requires claim name to be set'],
    [
      'another',
      withDump('Completed'),
      { claimName: 'new' },
      "409 can't request memory dump for pvc [new] while pvc [old] is still associated as the memory dump pvc",
    ],
  ])('%s', (_title, machine, options, expected) => {
    const found = dumpClaim(machine, options);
    expect(found.ok ? found.value : `${found.error.code} ${brief(found.error.message)}`).toBe(expected);
  });
});

describe('the claim', () => {
  const guest = vmi({ memory: { guest: '1Gi' } });
  it.each([
    ['fits', claim('2Gi'), undefined],
    ['just fits', claim('1186Mi'), undefined],
    ['too small', claim('1185Mi'), '409 pvc size [1185Mi] should be bigger then [1186Mi]'],
    ['no size', claim('', { resources: {} }), '409 pvc size [0] should be bigger then [1186Mi]'],
    ['block', claim('2Gi', { volumeMode: 'Block' }), '409 pvc should be filesystem pvc'],
    ['read only', claim('2Gi', { accessModes: ['ReadOnlyMany'] }), "409 pvc access mode can't be read only"],
    ['can be read only too', claim('2Gi', { accessModes: ['ReadOnlyMany', 'ReadWriteMany'] }), undefined],
  ])('%s', (_title, pvc, expected) => {
    const refusal = dumpClaimRefusal(guest, pvc, 0.055);
    expect(refusal && `${refusal.code} ${brief(refusal.message)}`).toBe(expected);
  });

  it.each([
    ['requests', { resources: { requests: { memory: '256Mi' } } }, 0, 356],
    ['guest beyond requests', { resources: { requests: { memory: '256Mi' } }, memory: { guest: '512Mi' } }, 0, 612],
    ['overhead, rounded up', { memory: { guest: '256Mi' } }, 0.055, 376],
    ['nothing said', {}, 0, 100],
  ])('size: %s', (_title, memory, overhead, mebibytes) => {
    expect(dumpSize(vmi(memory), overhead)).toBe(mebibytes * 1024 * 1024);
  });

  it.each(['', 'Pending', 'Scheduling', 'Scheduled', 'Succeeded', 'Failed', 'Unknown'])('VMI in phase %s', (phase) => {
    expect(dumpVmiRefusal(vmi({}, phase))).toMatchObject({ code: 409, message: expect.stringContaining('VMI is not running') });
  });
});

describe('requests', () => {
  const PATH = '/status/memoryDumpRequest';
  const wanted = { claimName: 'old', phase: 'Associating' };
  const replaced = (phase: string) => [
    ['vm-status', 'test', PATH, { claimName: 'old', phase }],
    ['vm-status', 'add', PATH, wanted],
  ];
  it.each([
    [
      'no status',
      vm(),
      [
        ['vm-status', 'test', '/status', null],
        ['vm-status', 'add', '/status', { memoryDumpRequest: wanted }],
      ],
    ],
    [
      'first',
      vm({ ready: true }),
      [
        ['vm-status', 'test', PATH, null],
        ['vm-status', 'add', PATH, wanted],
      ],
    ],
    ['after one', withDump('Completed'), replaced('Completed')],
    ['after a failure', withDump('Failed'), replaced('Failed')],
    ['Associating', withDump('Associating'), ['409 memory dump request for pvc [old] already in progress']],
    ['InProgress', withDump('InProgress'), ['409 memory dump request for pvc [old] already in progress']],
    ['Unmounting', withDump('Unmounting'), ['409 memory dump request for pvc [old] already in progress']],
    ['Dissociating', withDump('Dissociating'), ["409 can't dump memory for pvc [old] a remove memory dump request is in progress"]],
  ])('dump: %s', (_title, machine, expected) => {
    expect(told(decideMemoryDump(machine, 'old'))).toEqual(expected);
  });

  it.each([
    ['none', vm(), ["409 can't remove memory dump association for vm test, no association found"]],
    ['asked already', withDump('Dissociating', { remove: true }), ['409 memory dump remove request for pvc [old] already exists']],
  ])('removal: %s', (_title, machine, expected) => {
    expect(told(decideRemoveMemoryDump(machine))).toEqual(expected);
  });

  it.each(['Associating', 'InProgress', 'Unmounting', 'Completed', 'Failed'])('removal: %s', (phase) => {
    expect(told(decideRemoveMemoryDump(withDump(phase)))).toEqual([
      ['vm-status', 'test', PATH, { claimName: 'old', phase }],
      ['vm-status', 'add', PATH, { claimName: 'old', phase: 'Dissociating', remove: true }],
    ]);
  });
});
