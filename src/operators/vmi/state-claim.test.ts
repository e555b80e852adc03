import { describe, expect, it } from 'vitest';
import { pvc, vmi } from '../../../test/builders/objects.js';
import type { PersistentVolumeClaim, StorageClass } from '../../api/index.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import { isStateClaimUsable, renderStateClaim, stateClaimOf } from './state-claim.js';

const CONFIG = clusterConfigOf(undefined);
const storageClass = (name: string, mark?: string, creationTimestamp = '2026-01-01T00:00:00Z'): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name, creationTimestamp, ...(mark ? { annotations: { [mark]: 'true' } } : {}) },
  provisioner: 'example',
});
const KUBERNETES = 'storageclass.kubernetes.io/is-default-class';
const VIRT = 'storageclass.kubevirt.io/is-default-virt-class';

const claim = (metadata: object, rest: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim => ({
  ...pvc('state'),
  ...rest,
  metadata: { name: 'state', namespace: 'shop', ...metadata },
});

describe('the claim of a VM’s state', () => {
  it('belongs to the VM, so that it survives restarts and goes with it', () => {
    expect(renderStateClaim(vmi(), CONFIG, [storageClass('plain'), storageClass('chosen', KUBERNETES)])).toMatchObject({
      metadata: {
        name: expect.stringMatching(/^persistent-state-for-web-[0-9a-f]{5}$/),
        namespace: 'shop',
        labels: { 'persistent-state-for': 'web' },
        ownerReferences: [{ kind: 'VirtualMachine', uid: 'vm-uid' }],
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '10Mi' } },
        storageClassName: 'chosen',
        volumeMode: 'Filesystem',
      },
    });
  });

  it('of a VMI without VM goes with the VMI', () => {
    const alone = vmi({ metadata: { ownerReferences: [] } });
    expect(renderStateClaim(alone, CONFIG, [storageClass('a', KUBERNETES)]).metadata.ownerReferences).toMatchObject([
      { kind: 'VirtualMachineInstance', uid: 'vmi-uid' },
    ]);
  });

  it.each<[string, StorageClass[], string | undefined, string, string]>([
    ['the class of the configuration', [storageClass('a', KUBERNETES)], 'shared', 'shared', 'ReadWriteMany'],
    ['the default for VMs', [storageClass('a', KUBERNETES), storageClass('b', VIRT)], undefined, 'b', 'ReadWriteOnce'],
    [
      'the newest default',
      [storageClass('old', KUBERNETES), storageClass('new', KUBERNETES, '2026-02-01T00:00:00Z')],
      undefined,
      'new',
      'ReadWriteOnce',
    ],
  ])('takes %s', (_title, classes, configured, expected, mode) => {
    const config = clusterConfigOf(configured ? { vmStateStorageClass: configured } : undefined);
    expect(renderStateClaim(vmi(), config, classes).spec).toMatchObject({ storageClassName: expected, accessModes: [mode] });
  });

  it('cannot be made without any default class, and says what to do', () => {
    expect(() => renderStateClaim(vmi(), CONFIG, [storageClass('a')])).toThrow(/mark one as the default, or set .*vmStateStorageClass/);
  });

  it('has room for the bitmaps of changed blocks', () => {
    const tracking = vmi({ status: { changedBlockTracking: { state: 'Enabled' } } });
    expect(renderStateClaim(tracking, CONFIG, [storageClass('a', KUBERNETES)]).spec?.resources?.requests).toEqual({ storage: '522Mi' });
  });

  it.each<[string, object, boolean]>([
    ['of this VM', { ownerReferences: [{ apiVersion: 'x', kind: 'VirtualMachine', name: 'web', uid: 'vm-uid' }] }, true],
    ['that was restored, without an owner', {}, true],
    ['of an earlier VM of that name', { ownerReferences: [{ apiVersion: 'x', kind: 'VirtualMachine', name: 'web', uid: 'old' }] }, false],
    ['on its way out', { deletionTimestamp: '2026-01-01T12:00:00Z' }, false],
  ])('is found: one %s', (_title, metadata, expected) => {
    expect(stateClaimOf(vmi(), [claim(metadata)]) !== undefined).toBe(expected);
  });

  it.each<[string, string, string[], boolean]>([
    ['that is bound', 'Bound', [], true],
    ['that waits for its pod', 'Pending', ['late'], true],
    ['that is not bound yet', 'Pending', [], false],
  ])('can be mounted: one %s', (_title, phase, late, expected) => {
    const found = claim({}, { spec: { storageClassName: 'late' }, status: { phase } });
    expect(isStateClaimUsable({ lateClasses: new Set(late) }, found)).toBe(expected);
  });
});
