// Snapshots, restores, exports and backups: what each refuses, and why.
import { describe, expect, it } from 'vitest';
import type {
  VirtualMachine,
  VirtualMachineBackup,
  VirtualMachineExport,
  VirtualMachineRestore,
  VirtualMachineSnapshot,
} from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import type { Verdict } from '../../verdict.js';
import { admitBackupCreate, admitBackupTrackerCreate } from './backup.js';
import { admitExportCreate, admitExportUpdate } from './export.js';
import { admitRestoreCreate, admitRestoreUpdate, type RestoreRequest } from './restore.js';
import { admitSnapshotCreate, admitSnapshotUpdate } from './snapshot.js';

const gates = (on: string[], off: string[] = []) =>
  clusterConfigOf({ developerConfiguration: { featureGates: on, disabledFeatureGates: off } });
const told = (verdict: Verdict): string[] | string => {
  if (verdict.allowed) return 'allowed';
  return 'causes' in verdict ? verdict.causes.map((c) => `${c.type.replace('FieldValue', '')} ${c.field}`) : verdict.error;
};
const vm = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'vm' };
const containing = (text: string): string => expect.stringContaining(text) as never;

describe('snapshots', () => {
  const snapshot = (source: object, rest: object = {}): VirtualMachineSnapshot =>
    ({ metadata: { name: 's' }, spec: { source, ...rest } }) as VirtualMachineSnapshot;
  it.each<[string, object, string[] | string]>([
    ['of a VM', vm, 'allowed'],
    ['of no group', { kind: 'VirtualMachine', name: 'vm' }, ['NotFound spec.source.apiGroup']],
    ['of another group', { ...vm, apiGroup: 'x' }, ['Invalid spec.source.apiGroup']],
    ['of another kind', { ...vm, kind: 'Foo' }, ['Invalid spec.source.kind']],
  ])('%s', (_title, source, expected) => {
    expect(told(admitSnapshotCreate(snapshot(source), gates([])))).toEqual(expected);
  });

  it('need their gate, and stay as they are', () => {
    expect(told(admitSnapshotCreate(snapshot(vm), gates([], ['Snapshot'])))).toEqual(
      containing('needs the feature gate Snapshot, which is off: take it out of disabledFeatureGates'),
    );
    expect(told(admitSnapshotUpdate(snapshot(vm, { failureDeadline: '1m' }), snapshot(vm)))).toEqual(['Invalid spec']);
    expect(told(admitSnapshotUpdate(snapshot(vm), snapshot(vm)))).toBe('allowed');
  });
});

describe('restores', () => {
  const restore = (spec: object = {}): VirtualMachineRestore => ({
    metadata: { name: 'r' },
    spec: { target: vm, virtualMachineSnapshotName: 's', ...spec },
  });
  const snapshot = { metadata: { name: 's' }, spec: { source: vm }, status: { sourceUID: 'u', virtualMachineSnapshotContentName: 'c' } };
  const target = { metadata: { name: 'vm', uid: 'u' } } as unknown as VirtualMachine;
  const content = (domain: object): RestoreRequest['content'] =>
    ({ metadata: { name: 'c' }, spec: { source: { virtualMachine: { spec: { template: { spec: { domain } } } } } } }) as never;
  const admit = (rest: Partial<RestoreRequest>): string[] | string =>
    told(admitRestoreCreate({ restore: restore(), snapshot, target, others: [], ...rest }, gates([])));
  const patched = (...patches: string[]): Partial<RestoreRequest> => ({ restore: restore({ patches }) });
  const stranger = { metadata: { name: 'vm', uid: 'other' } } as unknown as VirtualMachine;
  const OVERRIDE = 'spec.volumeRestoreOverrides[0]';

  it.each<[string, Partial<RestoreRequest>, string[] | string]>([
    ['sound', {}, 'allowed'],
    ['other group', { restore: restore({ target: { ...vm, apiGroup: 'x' } }) }, ['Invalid spec.target.apiGroup']],
    ['other kind', { restore: restore({ target: { ...vm, kind: 'x' } }) }, ['Invalid spec.target.kind']],
    ['patches of the spec', patched('{"op": "replace", "path": "/spec/runStrategy", "value": "Halted"}'), 'allowed'],
    ['patches of labels', patched('{"op": "add", "path": "/metadata/labels/a", "value": "b"}'), 'allowed'],
    ['patches of the name', patched('{"op": "replace", "path": "/metadata/name", "value": "b"}'), ['Invalid spec.patches']],
    ['patches with a colon', patched('{"op": "add", "path": "/spec/x", "value": "a:b"}'), ['Invalid spec.patches']],
    [
      'an empty override',
      { restore: restore({ volumeRestoreOverrides: [{}] }) },
      [`Required ${OVERRIDE}.volumeName`, `Required ${OVERRIDE}`],
    ],
    ['a sound override', { restore: restore({ volumeRestoreOverrides: [{ volumeName: 'v', restoreName: 'w' }] }) }, 'allowed'],
    [
      'unknown policies',
      { restore: restore({ volumeRestorePolicy: 'x', volumeOwnershipPolicy: 'y' }) },
      ['Invalid spec.volumeRestorePolicy', 'Invalid spec.volumeOwnershipPolicy'],
    ],
    ['known policies', { restore: restore({ volumeRestorePolicy: 'InPlace', volumeOwnershipPolicy: 'None' }) }, 'allowed'],
    ['another in progress', { others: [restore()] }, ['Invalid spec.target']],
    ['another that is complete', { others: [{ ...restore(), status: { complete: true } }] }, 'allowed'],
    ['another VM, nothing in its firmware', { target: stranger, content: content({ devices: {} }) as never }, 'allowed'],
    [
      'another VM with a persistent TPM',
      { target: stranger, content: content({ devices: { tpm: { persistent: true } } }) as never },
      ['Invalid spec'],
    ],
    [
      'another VM with persistent EFI',
      { target: stranger, content: content({ devices: {}, firmware: { bootloader: { efi: { persistent: true } } } }) as never },
      ['Invalid spec'],
    ],
    ['another VM, content gone', { target: stranger }, containing('"c" of the snapshot was not found')],
    [
      'another VM, no content yet',
      { target: stranger, snapshot: { ...snapshot, status: { sourceUID: 'u' } } },
      containing('no content yet'),
    ],
  ])('%s', (_title, rest, expected) => {
    expect(admit(rest)).toEqual(expected);
  });

  it('waits for a snapshot that is not there', () => {
    expect(told(admitRestoreCreate({ restore: restore(), others: [] }, gates([])))).toBe('allowed');
  });

  it('needs its gate, and stays as it is', () => {
    expect(told(admitRestoreCreate({ restore: restore(), others: [] }, gates([], ['Snapshot'])))).toEqual(
      containing('needs the feature gate Snapshot'),
    );
    expect(told(admitRestoreUpdate(restore({ patches: ['{}'] }), restore()))).toEqual(['Invalid spec']);
  });
});

describe('exports', () => {
  const of = (source: object, rest: object = {}): VirtualMachineExport => ({ metadata: { name: 'e' }, spec: { source, ...rest } as never });
  const template = { apiGroup: 'template.kubevirt.io', kind: 'VirtualMachineTemplate', name: 't' };
  it.each<[string, object, string[], string[] | string]>([
    ['claim', { kind: 'PersistentVolumeClaim', name: 'p' }, [], 'allowed'],
    ['claim of a group', { apiGroup: 'x', kind: 'PersistentVolumeClaim', name: 'p' }, [], ['Invalid spec.source.APIGroup']],
    ['VM', vm, [], 'allowed'],
    ['nothing of a VM', { kind: 'VirtualMachine', name: '' }, [], ['Invalid spec.source.name', 'Invalid spec.source.APIGroup']],
    ['backup', { apiGroup: 'backup.kubevirt.io', kind: 'VirtualMachineBackup', name: 'b' }, [], 'allowed'],
    ['template without gate', template, [], ['Invalid spec.source.kind']],
    ['template', template, ['OCIExport'], 'allowed'],
    ['something else', { ...vm, kind: 'Foo' }, [], ['Invalid spec.source.kind']],
  ])('%s', (_title, source, on, expected) => {
    expect(told(admitExportCreate(of(source), gates(on)))).toEqual(expected);
  });

  it('stay as they are', () => {
    expect(told(admitExportUpdate(of(vm, { ttlDuration: '1h' }), of(vm)))).toEqual(['Invalid spec']);
  });
});

describe('backups', () => {
  const backup = (name: string, source: object = vm, condition?: string): VirtualMachineBackup => ({
    metadata: { name },
    spec: { source: source as never },
    ...(condition
      ? { status: { conditions: [{ type: condition, status: 'True', reason: 'Done', message: '', lastTransitionTime: '' }] } }
      : {}),
  });
  it.each<[string, VirtualMachineBackup[], string[] | string]>([
    ['the first', [], 'allowed'],
    ['of a name that is taken', [backup('b', {})], ['Invalid metadata.name']],
    ['beside one of the same source', [backup('o')], ['Invalid spec.source']],
    ['after one of the same source', [backup('o', vm, 'Complete'), backup('f', vm, 'Failed')], 'allowed'],
    ['beside one of another source', [backup('o', { ...vm, name: 'w' })], 'allowed'],
  ])('%s', (_title, others, expected) => {
    expect(told(admitBackupCreate(backup('b'), others, gates(['IncrementalBackup'])))).toEqual(expected);
  });

  it('need their gate, trackers too', () => {
    expect(told(admitBackupCreate(backup('b'), [], gates([])))).toEqual(containing('IncrementalBackup'));
    expect(told(admitBackupTrackerCreate(gates([])))).toEqual(containing('IncrementalBackup'));
    expect(told(admitBackupTrackerCreate(gates(['IncrementalBackup'])))).toBe('allowed');
  });
});
