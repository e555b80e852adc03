// Objects with every field set: made from a schema, or given ones whose placeholders are exchanged for values that the schema takes. Pure.
import type { Schema } from '../../../src/api/schema/resolve.js';
import { outcome } from './outcome.js';

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const isRefused = (value: unknown, schema: Schema): boolean =>
  outcome({ value }, { type: 'object', properties: { value: schema } }).refused.some((problem) => problem.startsWith('.value: '));

/** Tried in order; enough for all patterns and formats of our CRDs. */
const TEXTS = ['a', '1', '/a', 'Aa', '2026-01-02T03:04:05Z'];

function scalarFor(schema: Schema): unknown {
  if (schema['x-kubernetes-int-or-string'] === true) return '1';
  if (schema.type === 'boolean') return true;
  if (schema.type !== 'string') return schema.minimum ?? 1;
  const words = Array.isArray(schema.enum) ? schema.enum : TEXTS;
  const word = words.find((text) => !isRefused(text, schema));
  if (word === undefined) throw new Error(`no text fits ${JSON.stringify(schema)}`);
  return word;
}

/** Places that rules in CEL restrict: what is set there follows no other keyword. */
function ruled(schema: Schema): unknown {
  if (schema['x-kubernetes-validations'] === undefined) return undefined;
  if (schema.properties?.apiGroup) return { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'a' };
  return schema.type === 'string' ? '/a' : undefined;
}

/** A value with every field that the schema knows, one item a list and one entry a map. */
export function full(schema: Schema): unknown {
  const special = ruled(schema);
  if (special !== undefined) return special;
  if (schema.type === 'array') return [full(schema.items ?? {})];
  if (schema.type !== 'object') return scalarFor(schema);
  const fields = Object.entries(schema.properties ?? {}).map(([name, child]) => [name, full(child)]);
  return Object.fromEntries(schema.additionalProperties ? [...fields, ['key', full(schema.additionalProperties)]] : fields);
}

/** The value with every scalar that the schema refuses exchanged for one that it takes. */
export function fitted(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => fitted(item, schema.items ?? {}));
  if (!isFields(value)) return schema.type !== undefined && isRefused(value, schema) ? scalarFor(schema) : (ruled(schema) ?? value);
  const childOf = (name: string): Schema => schema.properties?.[name] ?? schema.additionalProperties ?? {};
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, fitted(child, childOf(name))]));
}

/** An object of the kind with all of its spec and status set. */
export function fullObject(
  kind: string,
  apiVersion: string,
  schema: Schema,
): { apiVersion: string; kind: string; metadata: Fields } & Fields {
  const { apiVersion: _a, kind: _k, metadata: _m, ...properties } = schema.properties ?? {};
  return { apiVersion, kind, metadata: { name: 'full' }, ...(full({ ...schema, properties }) as Fields) };
}
