// The CRDs as users see them: names, versions, columns, limits. How they compare with KubeVirt's is test/oracle/crds.test.ts.
import { describe, expect, it } from 'vitest';
import type { CustomResourceDefinition } from '../kubernetes.js';
import { crds, schemaOf } from './crds.js';
import { KINDS } from './kinds/index.js';
import { type Schema, schemaResolver } from './resolve.js';

const all = crds();
const crdOf = (kind: string): CustomResourceDefinition => {
  const found = all.find((crd) => crd.spec.names.kind === kind);
  if (!found) throw new Error(`no CRD of ${kind}`);
  return found;
};
const at = (schema: Schema, path: string): Schema | undefined =>
  path.split('.').reduce<Schema | undefined>((s, key) => (key === '[]' ? s?.items : s?.properties?.[key]), schema);

/** All that admission limits by: 256 KiB of annotations, of which client-side apply needs one for the whole object. */
const APPLY_LIMIT = 256 * 1024;

describe('CRDs', () => {
  it.each(all.map((crd) => [crd.metadata.name ?? '', crd] as const))('%s is small enough for a client-side apply', (_name, crd) => {
    expect(Buffer.byteLength(JSON.stringify(crd))).toBeLessThan(APPLY_LIMIT * 0.6);
  });

  it.each(all.map((crd) => [crd.metadata.name ?? '', crd] as const))('%s stores one version and explains itself', (_name, crd) => {
    expect(crd.spec.versions.filter((version) => version.storage)).toHaveLength(1);
    expect(crd.spec.versions.filter((version) => version.deprecated && !version.deprecationWarning)).toEqual([]);
    expect(schemaOf(crd.spec.names.kind).description).toMatch(/\.$/);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['VirtualMachine', ['vm', 'vms'], ['v1*', 'v1alpha3 deprecated']],
    ['VirtualMachineInstancePreset', ['vmipreset', 'vmipresets'], ['v1 deprecated', 'v1alpha3* deprecated']],
    ['KubeVirt', ['kv', 'kvs'], ['v1*', 'v1alpha3 deprecated']],
    ['VirtualMachineRestore', ['vmrestore', 'vmrestores'], ['v1alpha1', 'v1beta1*']],
    ['VirtualMachineExport', ['vmexport', 'vmexports'], ['v1beta1 deprecated', 'v1*']],
    ['VirtualMachineBackupTracker', ['vmbackuptracker', 'vmbackuptrackers'], ['v1alpha1*']],
  ])('%s has its names and versions', (kind, shortNames, versions) => {
    const { spec } = crdOf(kind);
    expect(spec.names.shortNames).toEqual(shortNames);
    expect(spec.versions.map((v) => `${v.name}${v.storage ? '*' : ''}${v.deprecated ? ' deprecated' : ''}`)).toEqual(versions);
  });

  it.each<[string, readonly string[]]>([
    ['VirtualMachine', ['status']],
    ['VirtualMachineInstance', []],
    ['VirtualMachineInstanceReplicaSet', ['status', 'scale']],
    ['VirtualMachinePool', ['status', 'scale']],
    ['MigrationPolicy', ['status']],
    ['VirtualMachinePreference', []],
    ['Plugin', []],
  ])('%s has the subresources %j', (kind, subresources) => {
    for (const version of crdOf(kind).spec.versions) expect(Object.keys(version.subresources ?? {})).toEqual(subresources);
  });

  it('are in the cluster scope where one object serves all namespaces', () => {
    const cluster = KINDS.filter((row) => !row.namespaced).map((row) => row.kind);
    expect(cluster).toEqual(['VirtualMachineClusterInstancetype', 'VirtualMachineClusterPreference', 'MigrationPolicy', 'Plugin']);
    expect(all.filter((crd) => crd.spec.scope === 'Cluster').map((crd) => crd.spec.names.kind)).toEqual(cluster);
  });
});

describe('schemas', () => {
  it.each<[string, string, object]>([
    ['VirtualMachine', 'spec.template.spec.domain.memory.guest', { 'x-kubernetes-int-or-string': true }],
    ['VirtualMachine', 'spec.template.spec.volumes', { type: 'array', maxItems: 256 }],
    ['VirtualMachine', 'spec.template.spec.volumes.[].containerDisk', { type: 'object', required: ['image'] }],
    ['VirtualMachine', 'spec.template.metadata', { nullable: true, 'x-kubernetes-preserve-unknown-fields': true }],
    ['VirtualMachine', 'spec.template.spec.domain.devices.interfaces.[].masquerade', { type: 'object' }],
    ['VirtualMachine', 'status.printableStatus', { default: 'Stopped' }],
    ['VirtualMachineInstance', 'status.VSOCKCID', { minimum: 0, maximum: 2 ** 32 - 1 }],
    ['VirtualMachineRestore', 'spec.targetReadinessPolicy', { default: 'WaitGracePeriod' }],
    ['MigrationPolicy', 'spec', { required: ['selectors'] }],
    ['MigrationPolicy', 'spec.maxDowntimeMs', { minimum: 1, maximum: 2_000_000 }],
    ['VirtualMachineBackup', 'status.conditions', { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }],
    ['VirtualMachineBackup', 'spec.mode', { enum: ['Push', 'Pull'] }],
  ])('%s %s', (kind, path, expected) => {
    expect(at(schemaOf(kind), path)).toMatchObject(expected);
  });

  it.each<[string, string, number]>([
    ['VirtualMachineBackup', 'spec', 3],
    ['VirtualMachineBackup', 'spec.source', 4],
    ['VirtualMachineBackupTracker', 'spec', 1],
    ['VirtualMachineBackupTracker', 'spec.source', 3],
  ])('%s %s has %i rules', (kind, path, count) => {
    expect(at(schemaOf(kind), path)?.['x-kubernetes-validations']).toHaveLength(count);
  });

  it('share what kinds have in common', () => {
    const template = at(schemaOf('VirtualMachine'), 'spec.template.spec');
    expect(template?.properties).toBe(schemaOf('VirtualMachineInstance').properties?.spec?.properties);
  });
});

describe('schemaResolver', () => {
  it('lets keywords beside a reference win', () => {
    const resolve = schemaResolver({
      Outer: { type: 'object', properties: { inner: { $ref: 'Inner', nullable: true } } },
      Inner: { type: 'object', description: 'An inner.', properties: { text: { type: 'string' } } },
    });
    expect(at(resolve('Outer'), 'inner')).toEqual({
      type: 'object',
      description: 'An inner.',
      nullable: true,
      properties: { text: { type: 'string' } },
    });
  });

  it('names a class that it does not know', () => {
    expect(() => schemaResolver({})('Nope')).toThrow('there is no generated schema of Nope');
  });
});
