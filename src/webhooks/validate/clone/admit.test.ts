// What a clone may ask for, and the target that it gets when it names none.

import { describe, expect, it } from 'vitest';
import type { VirtualMachineClone } from '../../../api/index.js';
import { clusterConfigOf } from '../../../core/config/cluster-config.js';
import { mutateClone } from '../../mutate/clone.js';
import { mutateMigration } from '../../mutate/migration.js';
import { admitCloneCreate, admitCloneUpdate } from './admit.js';

const source = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'a' };
const clone = (spec: object = {}): VirtualMachineClone => ({
  metadata: { name: 'c' },
  spec: { source, target: { ...source, name: 'b' }, ...spec },
});
const fields = (object: VirtualMachineClone): string[] => {
  const verdict = admitCloneCreate(object, clusterConfigOf({}));
  return verdict.allowed ? [] : 'causes' in verdict ? verdict.causes.map((c) => c.field) : [verdict.error];
};

describe('admitClone', () => {
  it.each<[string, object, string[]]>([
    ['sound', {}, []],
    ['no target', { target: undefined }, []],
    ['onto itself', { target: source }, ['spec.target.name']],
    ['a snapshot of the same name', { source: { ...source, kind: 'VirtualMachineSnapshot', name: 'b' } }, []],
    ['unknown kinds', { source: { ...source, kind: 'x' }, target: { ...source, kind: 'y' } }, ['spec.Source.Kind', 'spec.Target.Kind']],
    [
      'nothing of a source',
      { source: { kind: '', name: '' } },
      ['spec.Source.Kind', 'spec.Source.APIGroup', 'spec.Source', 'spec.Source.Name'],
    ],
    ['good filters', { labelFilters: ['*', '!x', '!a/*', 'abc', '!*'], template: { annotationFilters: ['a/*'] } }, []],
    ['a lone !', { labelFilters: ['!'] }, ['spec.labels']],
    ['! and * inside', { template: { annotationFilters: ['a*!b'] } }, ['spec.template.annotations', 'spec.template.annotations']],
    ['MAC addresses', { newMacAddresses: { a: 'de:ad:00:00:be:af', b: '', c: 'xx' } }, ['spec.newMacAddresses.c']],
    ['patches', { patches: ['{"op":"add"}', '{'] }, ['spec.patches[1]']],
  ])('%s', (_title, spec, expected) => {
    expect(fields(clone(spec))).toEqual(expected);
  });

  it('needs snapshots only when it is made', () => {
    const verdict = admitCloneCreate(clone(), clusterConfigOf({ developerConfiguration: { disabledFeatureGates: ['Snapshot'] } }));
    expect(verdict).toMatchObject({ allowed: false, code: 400 });
    expect(admitCloneUpdate(clone())).toMatchObject({ allowed: true });
  });
});

describe('mutation', () => {
  it.each<[string, object, object]>([
    ['named', {}, { ...source, name: 'b' }],
    ['none', { target: undefined }, { ...source, name: 'clone-a-12345' }],
    ['without name', { target: { ...source, name: '' } }, { ...source, name: 'clone-a-12345' }],
  ])('target %s', (_title, spec, expected) => {
    const mutation = mutateClone(clone(spec), '12345');
    expect('object' in mutation && mutation.object.spec.target).toEqual(expected);
  });

  it('lets migrations be found and cleaned up after', () => {
    const mutation = mutateMigration({ metadata: { name: 'm', labels: { a: 'b' } }, spec: { vmiName: 'vm' } });
    expect(mutation).toMatchObject({
      object: { metadata: { labels: { a: 'b', 'kubevirt.io/vmi-name': 'vm' }, finalizers: ['kubevirt.io/migrationJobFinalize'] } },
    });
  });
});
