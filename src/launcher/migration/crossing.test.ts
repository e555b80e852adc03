// What libvirt is told, and what is told of the end.
import { describe, expect, it } from 'vitest';
import type { MigrationReport } from '../../api/domain-report.js';
import type { VirtualMachineInstance } from '../../api/index.js';
import { readDomain } from '../../core/converter/index.js';
import { readMigrationOptions } from '../../core/migration/options.js';
import { type CrossingFacts, functionsToUnplug, hasHostDevices, optionsFor, planCrossing } from './crossing.js';
import { type Ending, isUnderWay, outcomeOf } from './outcome.js';

const vmi = (targetState?: object): VirtualMachineInstance => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
  spec: { domain: { devices: {} } },
  ...(targetState ? { status: { migrationState: { targetState } } } : {}),
});
const XML = '<domain><uid>u1</uid></domain>';
const facts = (wire: object = {}, patch: Partial<CrossingFacts> = {}): CrossingFacts => ({
  vmi: vmi(),
  options: readMigrationOptions(wire),
  destination: readDomain(XML),
  copied: [],
  isPaused: false,
  libvirtVersion: 11_003_000,
  mode: 'session',
  ...patch,
});
const there = (uid: string): string => `<domain>\n  <uid>${uid}</uid>\n</domain>`;
const DIR = '/var/run/kubevirt/migrationproxy';
const PLAIN = {
  uri: `qemu+unix:///session?socket=${DIR}/u1-source.sock`,
  flags: ['live', 'peer2peer', 'persistDest'],
  params: {
    migrate_uri: `unix://${DIR}/u1-49152-source.sock`,
    destination_name: 'shop_web',
    destination_xml: there('u1'),
    persistent_xml: there('u1'),
  },
};
const copied = [{ name: 'root', target: 'vda', path: '/x' }];
const disks = { disks_uri: `unix://${DIR}/u1-49153-source.sock`, migrate_disks: ['vda'] };

describe('planCrossing', () => {
  it.each<[string, CrossingFacts, object]>([
    ['moves memory only', facts(), PLAIN],
    ['talks to root’s libvirt', facts({}, { mode: 'system' }), { ...PLAIN, uri: `qemu+unix:///system?socket=${DIR}/u1-source.sock` }],
    [
      'copies disks',
      facts({}, { copied }),
      {
        ...PLAIN,
        flags: [...PLAIN.flags, 'nonSharedInc'],
        params: { ...PLAIN.params, ...disks, migrate_disks_detect_zeroes: ['vda'] },
      },
    ],
    [
      'does not ask older libvirts about zeros',
      facts({}, { copied, libvirtVersion: 9_000_000 }),
      { ...PLAIN, flags: [...PLAIN.flags, 'nonSharedInc'], params: { ...PLAIN.params, ...disks } },
    ],
    [
      'hands on what is allowed',
      facts({ AllowAutoConverge: true, AllowPostCopy: true, UnsafeMigration: true }, { isPaused: true }),
      { ...PLAIN, flags: [...PLAIN.flags, 'unsafe', 'autoConverge', 'postcopy', 'paused'] },
    ],
    [
      'limits the bandwidth to whole MiB a second, never to nothing',
      facts({ Bandwidth: '1' }),
      { ...PLAIN, params: { ...PLAIN.params, bandwidth: 1n } },
    ],
    [
      'uses parallel connections and their compression',
      facts({ ParallelMigrationThreads: 8, Compression: 'zstd' }),
      {
        ...PLAIN,
        flags: [...PLAIN.flags, 'parallel', 'compressed'],
        params: { ...PLAIN.params, 'parallel.connections': 8, compression: 'zstd' },
      },
    ],
    [
      'gives the guest the names of its VMI there',
      facts({}, { vmi: vmi({ domainName: 'web2', domainNamespace: 'other', virtualMachineInstanceUID: 'u2' }) }),
      {
        ...PLAIN,
        params: { ...PLAIN.params, destination_name: 'other_web2', destination_xml: there('u2'), persistent_xml: there('u2') },
      },
    ],
  ])('%s', (_title, given, expected) => {
    expect(planCrossing(given)).toEqual(expected);
  });
});

describe('optionsFor', () => {
  const given = readMigrationOptions({ ParallelMigrationThreads: 8, Compression: 'zstd', AllowAutoConverge: true });

  it.each<[string, object]>([
    ['kvm', given],
    ['qemu', readMigrationOptions({ AllowAutoConverge: true })],
  ])('%s', (type, expected) => {
    expect(optionsFor(readDomain(`<domain type="${type}"/>`), given)).toEqual(expected);
  });
});

describe('devices of the host', () => {
  const domain = (...names: string[]) =>
    readDomain(`<domain><devices>${names.map((name) => `<hostdev><alias name="${name}"/></hostdev>`).join('')}</devices></domain>`);

  it.each<[string, string[], number, boolean]>([
    ['none', [], 0, false],
    ['a function of a network card is given back', ['ua-sriov-net1'], 1, false],
    ['a virtual GPU stays', ['ua-gpu-g', 'ua-sriov-net1'], 1, true],
  ])('%s', (_title, names, unplugged, stays) => {
    expect(functionsToUnplug(domain(...names))).toHaveLength(unplugged);
    expect(hasHostDevices(domain(...names))).toBe(stays);
  });
});

describe('outcomeOf', () => {
  const begun: MigrationReport = { uid: 'm1', startTimestamp: '2026-11-30T12:00:00Z', mode: 'PreCopy' };
  const now = Date.parse('2026-11-30T12:00:07.9Z');
  const ended = { ...begun, endTimestamp: '2026-11-30T12:00:07Z' };
  const failure = 'cannot migrate domain x: it broke';

  it.each<[string, MigrationReport, Omit<Ending, 'now'>, object]>([
    ['success', begun, { isCancelled: false }, { ...ended, completed: true }],
    [
      'success after all',
      { ...begun, abortStatus: 'Aborting' },
      { isCancelled: true },
      { ...ended, completed: true, abortStatus: 'Failed' },
    ],
    [
      'libvirt’s failure',
      begun,
      { failure, isCancelled: false },
      { ...ended, failed: true, failureReason: `Live migration failed: ${failure}` },
    ],
    [
      'a wish',
      { ...begun, abortStatus: 'Aborting' },
      { failure, isCancelled: true },
      { ...ended, failed: true, failureReason: 'Live migration has been aborted', abortStatus: 'Succeeded' },
    ],
    [
      'the launcher’s own decision',
      begun,
      { failure, isCancelled: false, givenUp: 'stuck' },
      { ...ended, failed: true, failureReason: 'stuck', abortStatus: 'Succeeded' },
    ],
    [
      'a volume without enough room',
      begun,
      { failure: 'offset 0 and size 9 has to be smaller\nor equal to the actual size of the containing file', isCancelled: false },
      {
        ...ended,
        failed: true,
        failureReason: expect.stringMatching(
          /^Volume migration cannot be performed because the destination volume is smaller than the source/,
        ),
      },
    ],
  ])('%s', (_title, report, ending, expected) => {
    expect(outcomeOf(report, { ...ending, now })).toEqual(expected);
    expect(isUnderWay(report)).toBe(true);
    expect(isUnderWay(ended)).toBe(false);
  });
});
