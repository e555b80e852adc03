// Guards, pointers and equality of API objects.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finalizerOps } from './finalizers.js';
import { change, deepEqual, guarded, mapOps, pointer, testVersion } from './patch.js';

describe('deepEqual', () => {
  it.each([
    ['same', { a: [1, { b: 'x' }] }, { a: [1, { b: 'x' }] }, true],
    ['key order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['undefined is absent', { a: 1, b: undefined }, { a: 1 }, true],
    ['absent is undefined', { a: 1 }, { a: 1, b: undefined }, true],
    ['null is not absent', { a: null }, {}, false],
    ['more keys', { a: 1 }, { a: 1, b: 2 }, false],
    ['list order', [1, 2], [2, 1], false],
    ['list length', [1], [1, 2], false],
    ['list and map', [], {}, false],
    ['empty map and nothing', {}, undefined, false],
    ['number and string', 1, '1', false],
  ])('%s', (_title, a, b, expected) => {
    expect([deepEqual(a, b), deepEqual(b, a)]).toEqual([expected, expected]);
  });

  it('agrees with JSON', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => deepEqual(value, JSON.parse(JSON.stringify(value)))));
  });
});

describe('patches', () => {
  it.each([
    ['unchanged', { a: 1 }, { a: 1 }, []],
    [
      'added',
      undefined,
      'x',
      [
        { op: 'test', path: '/p', value: null },
        { op: 'add', path: '/p', value: 'x' },
      ],
    ],
    [
      'replaced',
      'w',
      'x',
      [
        { op: 'test', path: '/p', value: 'w' },
        { op: 'replace', path: '/p', value: 'x' },
      ],
    ],
    [
      'removed',
      'w',
      undefined,
      [
        { op: 'test', path: '/p', value: 'w' },
        { op: 'remove', path: '/p' },
      ],
    ],
  ])('%s', (_title, old, next, expected) => {
    expect(guarded('/p', old, next)).toEqual(expected);
    expect(change('/p', old, next)).toEqual(expected.slice(1));
  });

  it('escapes pointers', () => {
    expect(pointer('metadata', 'labels', 'a/b~c', 0)).toBe('/metadata/labels/a~1b~0c/0');
  });

  it('changes keys of a map, or makes the map', () => {
    expect(mapOps('/metadata/labels', { 'k/a': '1', b: '2' }, { 'k/a': '3', b: undefined, c: '4', d: undefined })).toEqual([
      { op: 'replace', path: '/metadata/labels/k~1a', value: '3' },
      { op: 'remove', path: '/metadata/labels/b' },
      { op: 'add', path: '/metadata/labels/c', value: '4' },
    ]);
    expect(mapOps('/metadata/labels', undefined, { a: '1', b: undefined })).toEqual([
      { op: 'test', path: '/metadata/labels', value: null },
      { op: 'add', path: '/metadata/labels', value: { a: '1' } },
    ]);
    expect(mapOps('/metadata/labels', undefined, { b: undefined })).toEqual([]);
  });

  it('tests incarnation and version', () => {
    expect(testVersion({ metadata: { uid: 'u', resourceVersion: '5' } })).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u' },
      { op: 'test', path: '/metadata/resourceVersion', value: '5' },
    ]);
  });

  it.each([
    ['first', undefined, { add: ['x'] }, ['x']],
    ['already there', ['x', 'y'], { add: ['x'] }, undefined],
    ['one of two removed', ['x', 'y'], { remove: ['x'] }, ['y']],
    ['last removed', ['x'], { remove: ['x'] }, null],
    ['replaced', ['old', 'y'], { remove: ['old'], add: ['new'] }, ['y', 'new']],
    ['nothing to remove', ['y'], { remove: ['x'] }, undefined],
  ])('finalizers: %s', (_title, finalizers, wanted, result) => {
    const ops = finalizerOps({ metadata: { uid: 'u', ...(finalizers ? { finalizers } : {}) } }, wanted);
    if (result === undefined) expect(ops).toEqual([]);
    else {
      expect(ops.slice(0, 2)).toEqual([
        { op: 'test', path: '/metadata/uid', value: 'u' },
        { op: 'test', path: '/metadata/finalizers', value: finalizers ?? null },
      ]);
      expect(ops[2]?.value ?? null).toEqual(result);
    }
  });
});
