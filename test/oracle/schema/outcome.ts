// What the API server makes of a custom object by its structural schema: which fields it prunes, and for what it refuses the object. The parts
// of the schema language that our CRDs use; rules in CEL are compared as texts and tried on the real API server only. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { Schema } from '../../../src/api/schema/resolve.js';

export interface Outcome {
  /** Paths of fields that the schema does not know. */
  readonly pruned: readonly string[];
  /** `path: keyword`. */
  readonly refused: readonly string[];
}

type Fields = Record<string, unknown>;
type Check = (value: never, schema: Schema) => readonly string[];

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isAbove = (limit: unknown, value: number): boolean => typeof limit === 'number' && value > limit;
const isBelow = (limit: unknown, value: number): boolean => typeof limit === 'number' && value < limit;
const failed = (checks: Readonly<Record<string, boolean>>): string[] => Object.keys(checks).filter((name) => checks[name]);

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const INT32 = 2 ** 31;
/** Whole numbers beyond are fractions to the API server. */
const INT64 = 2 ** 63;

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function hasType(value: unknown, schema: Schema): boolean {
  const have = typeOf(value);
  if (schema['x-kubernetes-int-or-string'] === true) return have === 'integer' || have === 'string';
  return schema.type === undefined || have === schema.type || (schema.type === 'number' && have === 'integer');
}

const texts: Check = (value: string, schema) =>
  failed({
    maxLength: isAbove(schema.maxLength, value.length),
    minLength: isBelow(schema.minLength, value.length),
    pattern: typeof schema.pattern === 'string' && !new RegExp(schema.pattern).test(value),
    format: schema.format === 'date-time' && !RFC3339.test(value),
  });

const numbers: Check = (value: number, schema) =>
  failed({
    maximum: isAbove(schema.maximum, value),
    minimum: isBelow(schema.minimum, value),
    format: schema.format === 'int32' && (value >= INT32 || value < -INT32),
    range: schema.type === 'integer' && (value >= INT64 || value < -INT64),
  });

const lists: Check = (value: unknown[], schema) =>
  failed({
    maxItems: isAbove(schema.maxItems, value.length),
    minItems: isBelow(schema.minItems, value.length),
    duplicate: hasDuplicates(value, schema),
  });

const CHECKS: Readonly<Record<string, Check>> = { string: texts, integer: numbers, number: numbers, array: lists };

function hasDuplicates(list: readonly unknown[], schema: Schema): boolean {
  const keys = schema['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'map' && type !== 'set') return false;
  const identity = (item: unknown): unknown => (type === 'map' && isFields(item) ? keys?.map((key) => item[key]) : item);
  return list.some((item, at) => list.slice(0, at).some((earlier) => isDeepStrictEqual(identity(earlier), identity(item))));
}

function* refusals(value: unknown, schema: Schema): Iterable<string> {
  if (value === null && schema.nullable === true) return;
  if (!hasType(value, schema)) {
    yield 'type';
    return;
  }
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) yield 'enum';
  yield* CHECKS[typeOf(value)]?.(value as never, schema) ?? [];
}

interface Report {
  readonly pruned: string[];
  readonly refused: string[];
}

function visit(value: unknown, schema: Schema, path: string, report: Report): void {
  for (const keyword of refusals(value, schema)) report.refused.push(`${path}: ${keyword}`);
  if (Array.isArray(value)) for (const item of value) visit(item, schema.items ?? {}, `${path}[]`, report);
  else if (isFields(value) && hasType(value, schema)) visitFields(value, schema, path, report);
}

function visitFields(value: Fields, schema: Schema, path: string, report: Report): void {
  for (const name of schema.required ?? []) {
    if (!(name in value) && schema.properties?.[name]?.default === undefined) report.refused.push(`${path}.${name}: required`);
  }
  for (const [name, child] of Object.entries(value)) {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known) visit(child, known, `${path}.${name}`, report);
    else if (schema['x-kubernetes-preserve-unknown-fields'] !== true) report.pruned.push(`${path}.${name}`);
  }
}

/** The object's identity and metadata are the API server's own. */
export function outcome(object: object, schema: Schema): Outcome {
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = object as Fields;
  const report: Report = { pruned: [], refused: [] };
  visit(rest, schema, '', report);
  return report;
}
