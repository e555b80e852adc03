// Schemas of the specs that admission checks, from the generated ones. Read by structural.ts. Holds no rules beyond structure.
import { schemaOf } from '../api/schema/crds.js';
import { KINDS } from '../api/schema/kinds/index.js';
import type { Schema } from '../api/schema/resolve.js';

/**
 * Groups whose objects must fit their schema to the letter. Of the others' only the types are looked at: unknown fields, missing parts and
 * ranges are for the API server to prune or to refuse, and for the rules to explain.
 */
const STRICT = new Set(['kubevirt.io', 'pool.kubevirt.io']);

const KEPT = new Set(['type', 'format', 'pattern', 'nullable', 'x-kubernetes-int-or-string']);

const mapped = (schemas: Record<string, Schema>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(schemas).map(([key, schema]) => [key, typesOnly(schema)]));

function typesOnly(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEPT.has(keyword))),
    ...(properties && { properties: mapped(properties) }),
    ...(items && { items: typesOnly(items) }),
    ...(additionalProperties && { additionalProperties: typesOnly(additionalProperties) }),
    ...(schema.type === 'object' && { 'x-kubernetes-preserve-unknown-fields': true }),
  };
}

function make(kind: string): Schema | undefined {
  const spec = schemaOf(kind).properties?.spec;
  const group = KINDS.find((row) => row.kind === kind)?.group ?? '';
  return spec && !STRICT.has(group) ? typesOnly(spec) : spec;
}

const made = new Map<string, Schema | undefined>();

/** The schema of the kind's spec; made once. Nobody may change it. */
export function specSchemaOf(kind: string): Schema | undefined {
  if (!made.has(kind)) made.set(kind, make(kind));
  return made.get(kind);
}
