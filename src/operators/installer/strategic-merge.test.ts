// What a strategic merge patch makes of an object, case by case.
import { expect, it } from 'vitest';
import { strategicMerge } from './strategic-merge.js';

const pod = (...containers: object[]): object => ({ spec: { containers } });

it.each([
  ['fields are merged', { a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3, c: 2 } }],
  ['null removes', { a: { b: 1, c: 2 } }, { a: { b: null } }, { a: { c: 2 } }],
  [
    'containers are merged by name',
    pod({ name: 'x', image: 'i' }, { name: 'y' }),
    pod({ name: 'x', tty: true }),
    {
      spec: { containers: [{ name: 'x', image: 'i', tty: true }, { name: 'y' }] },
    },
  ],
  [
    'a new container comes last',
    pod({ name: 'x' }),
    pod({ name: 'z', image: null }),
    { spec: { containers: [{ name: 'x' }, { name: 'z' }] } },
  ],
  [
    '$patch delete takes an item away',
    pod({ name: 'x' }, { name: 'y' }),
    pod({ name: 'x', $patch: 'delete' }),
    {
      spec: { containers: [{ name: 'y' }] },
    },
  ],
  [
    '$patch replace of an item',
    pod({ name: 'x', image: 'i' }),
    pod({ name: 'x', $patch: 'replace' }),
    {
      spec: { containers: [{ name: 'x' }] },
    },
  ],
  [
    '$patch replace of a list',
    pod({ name: 'x' }, { name: 'y' }),
    pod({ $patch: 'replace' }, { name: 'z' }),
    {
      spec: { containers: [{ name: 'z' }] },
    },
  ],
  ['$patch replace of a map', { a: { b: 1 } }, { a: { $patch: 'replace', c: 2 } }, { a: { c: 2 } }],
  ['$patch delete of a map', { a: { b: 1 } }, { a: { $patch: 'delete' } }, { a: {} }],
  [
    'other lists are replaced',
    { args: ['a', 'b'], tolerations: [{ key: 'a' }] },
    { args: ['c'], tolerations: [{ key: 'b' }] },
    {
      args: ['c'],
      tolerations: [{ key: 'b' }],
    },
  ],
  [
    'ports of a container',
    { ports: [{ containerPort: 1, name: 'a' }] },
    { ports: [{ containerPort: 1, name: 'b' }, { containerPort: 2 }] },
    {
      ports: [{ containerPort: 1, name: 'b' }, { containerPort: 2 }],
    },
  ],
  [
    'ports of a service',
    { ports: [{ port: 443, targetPort: 1 }] },
    { ports: [{ port: 443, targetPort: 2 }] },
    { ports: [{ port: 443, targetPort: 2 }] },
  ],
  [
    '$retainKeys',
    { volumes: [{ name: 'v', emptyDir: {} }] },
    { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/' } }] },
    {
      volumes: [{ name: 'v', hostPath: { path: '/' } }],
    },
  ],
  [
    'finalizers are a set',
    { metadata: { finalizers: ['a'] } },
    { metadata: { finalizers: ['a', 'b'] } },
    { metadata: { finalizers: ['a', 'b'] } },
  ],
  [
    'items deleted from a list of texts',
    { finalizers: ['a', 'b'] },
    { '$deleteFromPrimitiveList/finalizers': ['a'] },
    { finalizers: ['b'] },
  ],
  ['the order of a list is not looked at', { env: [{ name: 'a' }] }, { '$setElementOrder/env': [{ name: 'a' }] }, { env: [{ name: 'a' }] }],
])('%s', (_title, object, patch, expected) => {
  const before = structuredClone(object);
  expect(strategicMerge(object, patch)).toEqual(expected);
  expect(object).toEqual(before);
});
