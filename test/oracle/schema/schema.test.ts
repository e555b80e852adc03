import { describe, expect, it } from 'vitest';
import type { CustomResourceDefinition } from '../../../src/api/index.js';
import type { Schema } from '../../../src/api/schema/resolve.js';
import { outcome } from './outcome.js';
import { crdDifferences } from './recorded.js';
import { variants } from './variants.js';

const SCHEMA: Schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['name', 'policy'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 3, pattern: '^[a-z]*$' },
        policy: { type: 'string', enum: ['Yes', 'No'], default: 'Yes' },
        count: { type: 'integer', format: 'int32', minimum: 1, maximum: 5 },
        size: { 'x-kubernetes-int-or-string': true },
        at: { type: 'string', format: 'date-time', nullable: true },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        disks: {
          type: 'array',
          maxItems: 2,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: { type: 'string' } } },
        },
      },
    },
  },
};

const of = (spec: unknown): ReturnType<typeof outcome> => outcome({ apiVersion: 'v1', kind: 'K', metadata: { a: 1 }, spec }, SCHEMA);

describe('outcome', () => {
  it.each<[string, unknown, readonly string[], readonly string[]]>([
    ['sound', { name: 'a', count: 2, size: '1Gi', at: null, labels: { a: 'b' }, extra: { any: 1 } }, [], []],
    ['no object', 'text', [], ['.spec: type']],
    ['a required field without default', {}, [], ['.spec.name: required']],
    ['unknown fields', { name: 'a', b: 1, disks: [{ name: 'd', c: 1 }] }, ['.spec.b', '.spec.disks[].c'], []],
    ['texts', { name: 'ABCD' }, [], ['.spec.name: maxLength', '.spec.name: pattern']],
    ['an empty text', { name: '' }, [], ['.spec.name: minLength']],
    ['a word', { name: 'a', policy: 'Maybe' }, [], ['.spec.policy: enum']],
    ['numbers', { name: 'a', count: 2 ** 31 }, [], ['.spec.count: maximum', '.spec.count: format']],
    ['a small number', { name: 'a', count: 0 }, [], ['.spec.count: minimum']],
    ['neither number nor text', { name: 'a', size: true }, [], ['.spec.size: type']],
    ['no time', { name: 'a', at: 'yesterday' }, [], ['.spec.at: format']],
    ['null', { name: null }, [], ['.spec.name: type']],
    ['a map of something else', { name: 'a', labels: { a: 1 } }, [], ['.spec.labels.a: type']],
    ['twice the same key', { name: 'a', disks: [{ name: 'd' }, { name: 'd' }] }, [], ['.spec.disks: duplicate']],
    ['too many', { name: 'a', disks: [{ name: 'd' }, { name: 'e' }, { name: 'f' }] }, [], ['.spec.disks: maxItems']],
  ])('%s', (_title, spec, pruned, refused) => {
    expect(of(spec)).toEqual({ pruned, refused });
  });
});

describe('variants', () => {
  it.each([
    ['.spec.name: 4 letters', { spec: { name: '/aaa' } }],
    ['.spec.count: 6', { spec: { count: 6 } }],
    ['.spec.disks[].name: a wrong type', { spec: { disks: [{ name: 1 }] } }],
    ['.spec.labels{}: null', { spec: { labels: { key: null } } }],
    ['.spec.extra: an unknown field', { spec: { extra: { notAField: 1 } } }],
  ])('hold %s', (title, object) => {
    expect([...variants(SCHEMA)]).toContainEqual({ title, object });
  });

  it.each<[string, Partial<Schema>]>([
    ['minimum', { minimum: 2 }],
    ['maximum', { maximum: 4 }],
    ['type', { type: 'string' }],
    ['nullable', { nullable: true }],
  ])('tell schemas apart that differ in %s', (_title, change) => {
    const other = structuredClone(SCHEMA);
    Object.assign(other.properties?.spec?.properties?.count ?? {}, change);
    const differing = [...variants(SCHEMA)].filter(
      ({ object }) => JSON.stringify(outcome(object, SCHEMA)) !== JSON.stringify(outcome(object, other)),
    );
    expect(differing.map(({ title }) => title.split(':')[0])).toContain('.spec.count');
  });
});

describe('differences of CRDs', () => {
  const crd = (schema: object): CustomResourceDefinition =>
    ({ metadata: { name: 'x' }, spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] } }) as never;

  it('leave out descriptions and the order of required fields', () => {
    expect(crdDifferences(crd({ description: 'a', required: ['a', 'b'] }), crd({ required: ['b', 'a'] }))).toEqual([]);
  });

  it('name the place', () => {
    expect(crdDifferences(crd({ type: 'object' }), crd({ type: 'array' }))).toEqual([
      'x.spec.versions[0].schema.openAPIV3Schema.type: recorded "object", ours "array"',
    ]);
    expect(crdDifferences(crd({}), undefined)).toEqual(['x: missing']);
  });
});
