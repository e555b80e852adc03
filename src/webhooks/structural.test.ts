// Structure of objects before any rule looks at them: types, known fields, required parts, allowed words.
import { describe, expect, it } from 'vitest';
import { createStructuralCheck } from './structural.js';

const check = createStructuralCheck();
const vmi = (spec: object): object => ({ spec: { domain: { devices: {} }, ...spec } });

describe('problems', () => {
  it.each<[string, unknown, string[]]>([
    ['sound', vmi({}), []],
    ['no object', null, [' in body must be of type object: "null"']],
    ['no spec', {}, ['spec in body is required']],
    ['no domain', { spec: {} }, ['spec.domain in body is required']],
    ['wrong type', vmi({ hostname: 1 }), ['spec.hostname in body must be of type string: "integer"']],
    [
      'fraction',
      vmi({ terminationGracePeriodSeconds: 1.5 }),
      ['spec.terminationGracePeriodSeconds in body must be of type int64: "number"'],
    ],
    ['null', vmi({ affinity: null }), ['spec.affinity in body must be of type object: "null"']],
    ['unknown field', vmi({ nope: 1 }), ['spec.nope in body is a forbidden property']],
    ['unknown field in a list', vmi({ volumes: [{ name: 'v', nope: 1 }] }), ['spec.volumes.nope in body is a forbidden property']],
    ['word', vmi({ dnsPolicy: 'Mine' }), ['spec.dnsPolicy in body should be one of [ClusterFirst ClusterFirstWithHostNet Default None]']],
    [
      'negative count',
      vmi({ domain: { devices: {}, cpu: { cores: -1 } } }),
      ['spec.domain.cpu.cores in body should be greater than or equal to 0'],
    ],
    [
      'no quantity',
      vmi({ domain: { devices: {}, memory: { guest: 'much' } } }),
      ['spec.domain.memory.guest in body should be a quantity such as 500m or 1Gi: "much"'],
    ],
    ['required quantity', vmi({ volumes: [{ name: 'v', emptyDisk: {} }] }), ['spec.volumes.emptyDisk.capacity in body is required']],
    [
      'required word',
      vmi({ topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'k' }] }),
      ['spec.topologySpreadConstraints.whenUnsatisfiable in body should be one of [DoNotSchedule ScheduleAnyway]'],
    ],
    ['required scalar that defaulting may fill', vmi({ volumes: [{ emptyDisk: { capacity: '1Gi' } }] }), []],
  ])('%s', (_title, object, expected) => {
    expect(check.problems('VirtualMachineInstance', object)).toEqual(expected);
  });

  it('looks into the template of a VM', () => {
    const vm = { spec: { template: { spec: { domain: { devices: {}, cpu: { cores: 'two' } } } } } };
    expect(check.problems('VirtualMachine', vm)).toEqual(['spec.template.spec.domain.cpu.cores in body must be of type integer: "string"']);
  });
});

describe('around the spec', () => {
  it.each<[string, object, string[]]>([
    ['no metadata', {}, []],
    ['null', { metadata: null }, ['metadata in body must be of type object: "null"']],
    ['labels', { metadata: { labels: { a: 1 } } }, ['metadata.labels.a in body must be of type string: "integer"']],
    ['no labels', { metadata: { labels: null, annotations: null, deletionTimestamp: null } }, []],
    ['owners', { metadata: { ownerReferences: ['me'] } }, ['metadata.ownerReferences in body must be of type object: "string"']],
    ['status', { status: { conditions: {} } }, ['status.conditions in body must be of type array: "object"']],
    ['a status of a newer version', { status: { newField: 1, phase: 'Dreaming' } }, []],
  ])('%s', (_title, rest, expected) => {
    expect(check.problems('VirtualMachineInstance', { ...vmi({}), ...rest })).toEqual(expected);
  });

  it('asks of stored objects that types are right, and no more', () => {
    expect(check.storedProblems('VirtualMachineInstance', vmi({ nope: 1, dnsPolicy: 'Mine' }))).toEqual([]);
    expect(check.storedProblems('VirtualMachineInstance', vmi({ volumes: 1 }))).toEqual([
      'spec.volumes in body must be of type array: "integer"',
    ]);
    expect(check.storedProblems('VirtualMachineInstance', {})).toEqual(['spec in body must be of type object: "null"']);
    expect(check.storedProblems('VirtualMachineInstance', 'x')).toEqual([' in body must be of type object: "string"']);
  });
});

describe('completed', () => {
  it('knows templates without a spec: their guests have what every guest has', () => {
    const vm = { metadata: {}, spec: { runStrategy: 'Halted', template: {} } };
    const template = { spec: { domain: { devices: {} } } };
    expect(check.completed('VirtualMachine', vm)).toEqual({ metadata: {}, spec: { runStrategy: 'Halted', template } });
  });
  it('fills required scalars in a copy', () => {
    const given = vmi({ volumes: [{ containerDisk: {} }] });
    expect(check.completed('VirtualMachineInstance', given)).toEqual({
      metadata: {},
      ...vmi({ volumes: [{ name: '', containerDisk: { image: '' } }] }),
    });
    expect(given).toEqual(vmi({ volumes: [{ containerDisk: {} }] }));
  });
});
