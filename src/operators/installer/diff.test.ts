// What counts as drift, and what the patch then says.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../api/index.js';
import { covers, repair } from './diff.js';

describe('covers', () => {
  it.each([
    ['equal', { a: 1 }, { a: 1 }, true],
    ['defaults added by the server', { a: 1, b: { c: 2 } }, { a: 1 }, true],
    ['a changed value', { a: 2 }, { a: 1 }, false],
    ['a removed value', {}, { a: 1 }, false],
    ['empty and absent are the same', {}, { a: [], b: {}, c: undefined }, true],
    ['lists: defaults inside items', [{ a: 1, b: 2 }], [{ a: 1 }], true],
    ['lists: an item more', [1, 2], [1], false],
    ['lists: another order', [2, 1], [1, 2], false],
    ['a list where a map was', [], { a: 1 }, false],
  ])('%s', (_title, actual, desired, expected) => {
    expect(covers(actual, desired)).toBe(expected);
  });
});

describe('repair', () => {
  const metadata = { name: 'x', uid: 'u', resourceVersion: '7', labels: { mine: '1', other: 'x' }, annotations: { a: '1' } };
  const existing = { kind: 'Deployment', metadata, spec: { replicas: 2, strategy: { type: 'RollingUpdate' } } } as KubeObject;
  const desired = (spec: object, labels: Record<string, string> = { mine: '1' }): KubeObject =>
    ({ kind: 'Deployment', metadata: { name: 'x', labels }, spec, status: { ignored: true } }) as KubeObject;
  const guards = [
    { op: 'test', path: '/metadata/uid', value: 'u' },
    { op: 'test', path: '/metadata/resourceVersion', value: '7' },
  ];

  it('does nothing when the object says what it should', () => {
    expect(repair(existing, desired({ replicas: 2 }))).toEqual([]);
  });

  it('replaces changed content as a whole, and only changed labels', () => {
    expect(repair(existing, desired({ replicas: 3 }, { mine: '2', new: '3' }))).toEqual([
      ...guards,
      { op: 'replace', path: '/metadata/labels/mine', value: '2' },
      { op: 'add', path: '/metadata/labels/new', value: '3' },
      { op: 'replace', path: '/spec', value: { replicas: 3 } },
    ]);
  });

  it('takes out what was added when it is forced', () => {
    expect(repair(existing, desired({ replicas: 2 }), true)).toEqual([...guards, { op: 'replace', path: '/spec', value: { replicas: 2 } }]);
  });

  it('leaves a Service its addresses', () => {
    const assigned = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
    const service = { kind: 'Service', metadata, spec: { ...assigned, ports: [{ port: 80 }] } } as KubeObject;
    const wanted = { kind: 'Service', metadata: { name: 'x' }, spec: { ports: [{ port: 443 }] } } as KubeObject;
    expect(repair(service, wanted).at(-1)).toEqual({ op: 'replace', path: '/spec', value: { ...assigned, ports: [{ port: 443 }] } });
    const headless = { ...wanted, spec: { ports: [{ port: 443 }], clusterIP: 'None' } } as KubeObject;
    expect(repair(service, headless).at(-1)?.value).toMatchObject({ clusterIP: 'None' });
  });
});
