// Objects made from a schema: each sets one field, with its parents, to a value that fits or to one that does not. Two schemas that make
// the same of all of them check the same. Pure.
import type { Schema } from '../../../src/api/schema/resolve.js';

export interface Variant {
  readonly title: string;
  readonly object: object;
}

/** Wraps a value into the object that has it at one place. */
type Wrap = (value: unknown) => object;

const WRONG: Readonly<Record<string, unknown>> = { string: 1, integer: 'one', number: 'one', boolean: 'yes', object: [], array: {} };

function fitting(schema: Schema): unknown {
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema['x-kubernetes-int-or-string'] === true) return '1';
  if (schema.format === 'date-time') return '2026-01-02T03:04:05Z';
  const byType: Readonly<Record<string, unknown>> = {
    string: 'a',
    integer: schema.minimum ?? 1,
    number: 1,
    boolean: true,
    object: {},
    array: [],
  };
  return byType[schema.type ?? 'object'];
}

const around = (limit: unknown): number[] => (typeof limit === 'number' ? [limit - 1, limit, limit + 1] : []);
const itemsOf = (count: number, schema: Schema): unknown[] => Array.from({ length: count }, () => fitting(schema.items ?? {}));

function* values(schema: Schema): Iterable<[string, unknown]> {
  yield ['a fitting value', fitting(schema)];
  yield ['null', null];
  yield ['a wrong type', schema['x-kubernetes-int-or-string'] === true ? true : WRONG[schema.type ?? 'object']];
  if (schema.type === 'string') yield* textValues(schema);
  if (schema.type === 'integer') for (const n of [...around(schema.minimum), ...around(schema.maximum), -1, 2 ** 31]) yield [`${n}`, n];
  if (schema.type === 'object') yield ['an unknown field', { notAField: 1 }];
  if (schema.type === 'array') for (const n of [1, 2, ...around(schema.maxItems)]) yield [`${n} items`, itemsOf(n, schema)];
}

function* textValues(schema: Schema): Iterable<[string, unknown]> {
  yield ['an empty text', ''];
  yield ['another word', 'SomethingElse'];
  for (const n of around(schema.maxLength)) yield [`${n} letters`, '/'.padEnd(n, 'a')];
}

function* below(schema: Schema, path: string, wrap: Wrap): Iterable<Variant> {
  for (const [title, value] of values(schema)) yield { title: `${path}: ${title}`, object: wrap(value) };
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (path !== '' || !['apiVersion', 'kind', 'metadata'].includes(name))
      yield* below(child, `${path}.${name}`, (value) => wrap({ [name]: value }));
  }
  if (schema.items) yield* below(schema.items, `${path}[]`, (value) => wrap([value]));
  if (schema.additionalProperties) yield* below(schema.additionalProperties, `${path}{}`, (value) => wrap({ key: value }));
}

export const variants = (schema: Schema): Iterable<Variant> => below(schema, '', (value) => (value ?? {}) as object);
