// The CR owner's patches and flags on rendered objects.
import { describe, expect, it } from 'vitest';
import type { CustomizeComponents, Deployment } from '../../api/index.js';
import { customized } from './customize.js';

const deployment = (): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'virt-controller', namespace: 'kubevirt', labels: { a: 'b' } },
  spec: {
    replicas: 2,
    selector: {},
    template: { spec: { containers: [{ name: 'virt-controller', args: ['-v', '2'] }, { name: 'other' }] } },
  },
});
const patch = (type: string, content: unknown, resourceName = 'virt-controller', resourceType = 'Deployment'): CustomizeComponents => ({
  patches: [{ resourceName, resourceType, type, patch: JSON.stringify(content) }],
});
const replicas = (custom: CustomizeComponents): number | undefined => customized(deployment(), custom).spec?.replicas;

describe('patches', () => {
  it.each([
    ['strategic', patch('strategic', { spec: { replicas: 3 } }), 3],
    ['merge', patch('merge', { spec: { replicas: 4 } }), 4],
    ['json', patch('json', [{ op: 'replace', path: '/spec/replicas', value: 5 }]), 5],
    ['of every name', patch('merge', { spec: { replicas: 6 } }, '*'), 6],
    ['of every kind, in any case', patch('merge', { spec: { replicas: 7 } }, 'VIRT-controller', '*'), 7],
    ['of another object', patch('merge', { spec: { replicas: 8 } }, 'virt-api'), 2],
    ['of another kind', patch('merge', { spec: { replicas: 9 } }, 'virt-controller', 'DaemonSet'), 2],
  ])('%s', (_title, custom, expected) => {
    expect(replicas(custom)).toBe(expected);
  });

  it('merges containers by name in a strategic patch only', () => {
    const content = { spec: { template: { spec: { containers: [{ name: 'virt-controller', tty: true }] } } } };
    const names = (type: string): string[] | undefined =>
      customized(deployment(), patch(type, content)).spec?.template.spec?.containers.map(({ name }) => name);
    expect([names('strategic'), names('merge')]).toEqual([['virt-controller', 'other'], ['virt-controller']]);
  });

  it.each([
    ['not JSON', { patches: [{ resourceName: '*', resourceType: '*', type: 'merge', patch: '{' }] }, /merge patch of \* \*.* is not JSON/],
    ['a path that is not there', patch('json', [{ op: 'remove', path: '/spec/no/way' }]), /does not fit virt-controller/],
    ['no list of operations', patch('json', { op: 'remove' }), /must be a list/],
    ['an unknown type', patch('yaml', {}), /unknown type/],
  ])('says what is wrong: %s', (_title, custom, message) => {
    expect(() => customized(deployment(), custom)).toThrow(message);
  });
});

it('adds flags after our own, to the component alone', () => {
  const custom: CustomizeComponents = { flags: { controller: { v: '5', 'some-switch': '' }, api: { v: '9' } } };
  expect(customized(deployment(), custom).spec?.template.spec?.containers.map(({ args }) => args)).toEqual([
    ['-v', '2', '--v', '5', '--some-switch'],
    undefined,
  ]);
  const unchanged = { kind: 'Service', metadata: { name: 'virt-controller' } };
  expect(customized(unchanged, custom)).toEqual(unchanged);
});

it('changes nothing without customizeComponents', () => {
  const object = deployment();
  expect(customized(object, undefined)).toBe(object);
});
