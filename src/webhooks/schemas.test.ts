// Which objects are held to their schema to the letter, and which only to its types.
import { describe, expect, it } from 'vitest';
import { KINDS } from '../api/schema/kinds/index.js';
import { specSchemaOf } from './schemas.js';
import { createStructuralCheck } from './structural.js';

const check = createStructuralCheck();

describe('schemas of specs', () => {
  it.each(KINDS.map((row) => row.kind))('there is one of %s, made once', (kind) => {
    expect(specSchemaOf(kind)?.type).toBe('object');
    expect(specSchemaOf(kind)).toBe(specSchemaOf(kind));
  });

  it.each<[string, string, object, string[]]>([
    ['unknown field of a migration', 'VirtualMachineInstanceMigration', { nope: 1 }, ['spec.nope in body is a forbidden property']],
    ['missing part of a pool', 'VirtualMachinePool', { selector: {} }, ['spec.virtualMachineTemplate in body is required']],
    ['unknown field of a clone', 'VirtualMachineClone', { nope: 1 }, []],
    ['missing part of an instance type', 'VirtualMachineInstancetype', { memory: { guest: '1Gi' } }, []],
    ['out of range', 'VirtualMachineInstancetype', { memory: { guest: '1Gi', overcommitPercent: -1 } }, []],
    [
      'wrong type in an instance type',
      'VirtualMachineInstancetype',
      { cpu: { guest: 'two' } },
      ['spec.cpu.guest in body must be of type integer: "string"'],
    ],
    [
      'negative count',
      'VirtualMachineClusterInstancetype',
      { cpu: { guest: -1 } },
      ['spec.cpu.guest in body should be greater than or equal to 0'],
    ],
    ['wrong type in a backup', 'VirtualMachineBackup', { source: [] }, ['spec.source in body must be of type object: "array"']],
  ])('%s', (_title, kind, spec, expected) => {
    expect(check.problems(kind, { spec })).toEqual(expected);
  });
});
