// When DataVolumes are made, what they look like, and when the guest starts.
import { describe, expect, it } from 'vitest';
import { NOW, vm } from '../../../test/builders/objects.js';
import { clusterConfigOf } from '../../core/config/cluster-config.js';
import type { DataVolume } from '../data-volumes.js';
import { cloningAccount, dataVolumeOf } from './data-volumes.js';
import { decideVm, type Seen } from './decide.js';

const template = {
  metadata: { name: 'root', labels: { os: 'debian' } },
  spec: { source: { http: { url: 'http://images/x' } }, storage: {} },
};
const machine = (runStrategy = 'Always', annotations: Record<string, string> = {}, spec: object = {}) => {
  const plain = vm();
  const metadata = { annotations: { ...plain.metadata.annotations, ...annotations } };
  return vm({ spec: { runStrategy, dataVolumeTemplates: [template], ...spec }, metadata });
};
const OWNER = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web', uid: 'vm-uid', controller: true };
const volume = (phase: string, conditions: NonNullable<DataVolume['status']>['conditions'] = []): DataVolume => ({
  metadata: { name: 'root', ownerReferences: [OWNER] },
  status: { phase, conditions },
});
const LATER = { 'kubevirt.io/immediate-data-volume-creation': 'false' };

function plan(parts: Partial<Seen>): [string[], string | undefined] {
  const seen: Seen = {
    vm: machine(),
    vmi: undefined,
    revisions: [],
    dataVolumes: new Map(),
    templateClaims: new Set(),
    hasCdi: true,
    config: clusterConfigOf({}),
    settled: true,
    ...parts,
  };
  const { steps, failure } = decideVm(seen, NOW);
  return [steps.map((step) => step.do), failure?.message];
}
const having = (phase: string, conditions: NonNullable<DataVolume['status']>['conditions'] = []): Partial<Seen> => ({
  dataVolumes: new Map([['root', volume(phase, conditions)]]),
});

const owned = (phase: string, metadata: DataVolume['metadata']): Partial<Seen> => ({
  dataVolumes: new Map([['root', { ...volume(phase), metadata: { name: 'root', ...metadata } }]]),
});

describe('the DataVolume of a template', () => {
  it.each<[string, Partial<Seen>, string[], RegExp | undefined]>([
    ['is made before the guest', {}, ['createDataVolume'], undefined],
    ['is made for a VM that does not run', { vm: machine('Halted') }, ['createDataVolume'], undefined],
    ['is not, if the first start is early enough', { vm: machine('Halted', LATER) }, [], undefined],
    ['which comes', { vm: machine('Always', LATER) }, ['createDataVolume'], undefined],
    ['is not needed where the claim is there', { templateClaims: new Set(['root']) }, ['createVmi'], undefined],
    ['cannot be made without CDI', { hasCdi: false }, [], /needs CDI.* to fill root.*create PersistentVolumeClaims/],
    ['need not be, where the claim is there', { hasCdi: false, templateClaims: new Set(['root']) }, ['createVmi'], undefined],
    ['is waited for', having('ImportInProgress'), [], undefined],
    ['lets the guest start', having('Succeeded'), ['createVmi'], undefined],
    ['lets it start that a pod must bind the claim', having('WaitForFirstConsumer'), ['createVmi'], undefined],
    ['lets it start that a populator fills', having('PendingPopulation'), ['createVmi'], undefined],
    ['without an owner becomes the VM’s', owned('Succeeded', {}), ['adoptDataVolume', 'createVmi'], undefined],
    ['becomes the VM’s while it is filled', owned('ImportInProgress', {}), ['adoptDataVolume'], undefined],
    ['becomes that of a VM that does not run', { ...owned('Succeeded', {}), vm: machine('Halted') }, ['adoptDataVolume'], undefined],
    [
      'of another controller is used as it is',
      owned('Succeeded', { ownerReferences: [{ ...OWNER, uid: 'other' }] }),
      ['createVmi'],
      undefined,
    ],
    ['that goes is left alone', owned('Succeeded', { deletionTimestamp: '2026-01-01T12:00:00Z' }), ['createVmi'], undefined],
    ['that failed is told', having('Failed'), [], /^DataVolume root failed to import disk image$/],
    [
      'that is tried again is told with its reason',
      having('ImportInProgress', [{ type: 'Running', status: 'False', reason: 'Error', message: 'no route' }]),
      [],
      /failed to import disk image: root is in phase ImportInProgress: no route/,
    ],
    [
      'that no quota leaves room for is told',
      having('Pending', [{ type: 'Bound', status: 'False', reason: 'ErrExceededQuota', message: 'exceeded quota: storage' }]),
      [],
      /exceeds quota limits: .*exceeded quota: storage/,
    ],
  ])('%s', (_, parts, steps, failure) => {
    const [done, message] = plan(parts);
    expect(done).toEqual(steps);
    if (failure) expect(message).toMatch(failure);
    else expect(message).toBeUndefined();
  });

  it('belongs to its VM, and is filled from where a DataSource points at the moment', () => {
    const made = dataVolumeOf(
      machine(),
      { ...template, spec: { sourceRef: { kind: 'DataSource', name: 'debian' }, storage: {} } },
      {
        pvc: { namespace: 'images', name: 'debian-12' },
      },
    );
    expect(made).toMatchObject({
      metadata: {
        name: 'root',
        namespace: 'shop',
        labels: { os: 'debian', 'kubevirt.io/created-by': 'vm-uid' },
        annotations: { 'cdi.kubevirt.io/allowClaimAdoption': 'true' },
        ownerReferences: [{ kind: 'VirtualMachine', uid: 'vm-uid', controller: true }],
      },
      spec: { source: { pvc: { namespace: 'images', name: 'debian-12' } }, storage: {} },
    });
    expect(made.spec).not.toHaveProperty('sourceRef');
  });

  it.each([
    ['the account of the guest', { serviceAccountName: 'builder' }, 'builder'],
    ['the account that it shows the guest', { volumes: [{ name: 'sa', serviceAccount: { serviceAccountName: 'reader' } }] }, 'reader'],
    ['the default one', {}, 'default'],
  ])('clones with the rights of %s', (_, spec, expected) => {
    expect(cloningAccount(machine('Always', {}, { template: { spec: { domain: { devices: {} }, ...spec } } }))).toBe(expected);
  });
});
