import { describe, expect, it } from 'vitest';
import { crds } from './crds.js';
import type { Schema } from './resolve.js';

const schemaOf = (kind: string): Schema => {
  const crd = crds().find((c) => c.spec.names.kind === kind);
  return crd?.spec.versions[0]?.schema?.openAPIV3Schema as Schema;
};
const at = (schema: Schema, path: string): Schema | undefined =>
  path.split('.').reduce<Schema | undefined>((s, key) => (key === '[]' ? s?.items : s?.properties?.[key]), schema);

describe('generated CRDs', () => {
  it.each([
    ['VirtualMachine', ['vm', 'vms'], true],
    ['VirtualMachineInstance', ['vmi', 'vmis'], false],
    ['KubeVirt', ['kv', 'kvs'], true],
  ])('%s is served as v1 and deprecated v1alpha3', (kind, shortNames, hasStatus) => {
    const crd = crds().find((c) => c.spec.names.kind === kind);
    expect(crd?.spec.names.shortNames).toEqual(shortNames);
    expect(crd?.spec.versions.map((v) => [v.name, v.storage, v.deprecated ?? false])).toEqual([
      ['v1', true, false],
      ['v1alpha3', false, true],
    ]);
    expect(crd?.spec.versions.map((v) => v.subresources?.status !== undefined)).toEqual([hasStatus, hasStatus]);
  });

  it.each([
    ['spec.template.spec.domain.memory.guest', { 'x-kubernetes-int-or-string': true }],
    ['spec.template.spec.volumes', { type: 'array', maxItems: 256 }],
    ['spec.template.spec.volumes.[].containerDisk', { type: 'object', required: ['image'] }],
    ['spec.template.metadata', { nullable: true, 'x-kubernetes-preserve-unknown-fields': true }],
    ['spec.template.spec.domain.devices.interfaces.[].masquerade', { type: 'object' }],
    ['status.printableStatus', { default: 'Stopped' }],
  ])('VirtualMachine %s', (path, expected) => {
    expect(at(schemaOf('VirtualMachine'), path)).toMatchObject(expected);
  });

  it('keeps every CRD small enough for a client-side apply', () => {
    for (const crd of crds()) expect(JSON.stringify(crd).length).toBeLessThan(256 * 1024);
  });
});
