// How a VM may name its instance type and preference, and what the preference fixes.
import { describe, expect, it } from 'vitest';
import type { VirtualMachine, VirtualMachinePreferenceSpec } from '../../api/index.js';
import { fixPreferred, matcherCauses } from './matchers.js';

const vm = (spec: object = {}, template: object = {}): VirtualMachine =>
  ({ metadata: { name: 'vm' }, spec: { template: { spec: { domain: { devices: {} }, ...template } }, ...spec } }) as VirtualMachine;

describe('matcherCauses', () => {
  it.each<[string, object, object | undefined, string[]]>([
    ['none', {}, undefined, []],
    ['named', { instancetype: { name: 'a' }, preference: { name: 'b' } }, undefined, []],
    ['inferred', { instancetype: { inferFromVolume: 'v', inferFromVolumeFailurePolicy: 'Ignore' } }, undefined, []],
    ['nothing', { instancetype: {} }, undefined, ['NotFound spec.instancetype']],
    ['nothing of a preference', { preference: {} }, undefined, ['NotFound spec.preference']],
    [
      'both ways',
      { preference: { name: 'a', kind: 'b', inferFromVolume: 'v' } },
      undefined,
      ['NotSupported spec.preference.name', 'NotSupported spec.preference.kind'],
    ],
    [
      'unknown policy',
      { instancetype: { inferFromVolume: 'v', inferFromVolumeFailurePolicy: 'x' } },
      undefined,
      ['Invalid spec.instancetype.inferFromVolumeFailurePolicy'],
    ],
    [
      'another name with the old revision',
      { instancetype: { name: 'b', revisionName: 'r' } },
      { instancetype: { name: 'a', revisionName: 'r' } },
      ['Invalid spec.instancetype.revisionName'],
    ],
    [
      'another name with another revision',
      { instancetype: { name: 'b', revisionName: 's' } },
      { instancetype: { name: 'a', revisionName: 'r' } },
      [],
    ],
    ['another name without revision', { preference: { name: 'b' } }, { preference: { name: 'a', revisionName: 'r' } }, []],
  ])('%s', (_title, spec, old, expected) => {
    const causes = matcherCauses(vm(spec), old && vm(old));
    expect(causes.map((c) => `${c.type.replace('FieldValue', '')} ${c.field}`)).toEqual(expected);
  });
});

describe('fixPreferred', () => {
  const preference: VirtualMachinePreferenceSpec = {
    preferredArchitecture: 'arm64',
    machine: { preferredMachineType: 'virt' },
    volumes: { preferredStorageClassName: 'fast' },
  };
  const templates = { dataVolumeTemplates: [{ spec: { pvc: {} } }, { spec: { storage: { storageClassName: 'slow' } } }] };
  it('fills what the VM leaves open', () => {
    const machine = vm(templates);
    fixPreferred(machine, preference);
    expect(machine.spec.template.spec).toMatchObject({ architecture: 'arm64', domain: { machine: { type: 'virt' } } });
    expect(machine.spec.dataVolumeTemplates).toEqual([
      { spec: { pvc: { storageClassName: 'fast' } } },
      { spec: { storage: { storageClassName: 'slow' } } },
    ]);
  });

  it('leaves what the VM says', () => {
    const own = { architecture: 'amd64', domain: { devices: {}, machine: { type: 'q35' } } };
    const machine = vm({}, own);
    fixPreferred(machine, preference);
    expect(machine.spec.template.spec).toEqual(own);
  });

  it.each([undefined, {}])('changes nothing for %j', (given) => {
    const machine = vm(templates);
    fixPreferred(machine, given);
    expect(machine).toEqual(vm(templates));
  });
});
