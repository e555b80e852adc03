// Decorated classes → structural OpenAPI v3 schemas: references inlined, Kubernetes' extensions kept, nothing untyped.
// Called by tools/gen-crds.ts only: the processes use what that wrote into generated/, and carry no decorators at run time.
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage } from 'class-validator';
import { validationMetadatasToSchemas } from 'class-validator-jsonschema';
import { KvError } from '../../base/errors.js';
import '../index.js';

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema;
  [keyword: string]: unknown;
}

type Raw = Record<string, unknown>;

const REF = '#/definitions/';
/** Keywords that class-validator-jsonschema derives from validators but a structural schema must not carry. */
const DROPPED = new Set(['not', '$ref', 'description']);

function definitions(): Record<string, Raw> {
  return validationMetadatasToSchemas({
    classTransformerMetadataStorage: defaultMetadataStorage,
    classValidatorMetadataStorage: getMetadataStorage(),
    refPointerPrefix: REF,
  }) as unknown as Record<string, Raw>;
}

/** The `$ref` of a node, also where a decorator wrapped it into allOf/anyOf/oneOf with one member. */
function refOf(node: Raw): string | undefined {
  if (typeof node.$ref === 'string') return node.$ref.slice(REF.length);
  return undefined;
}

/** Returns a function that gives the complete schema of a class. */
export function schemaRenderer(): (className: string) => Schema {
  const all = definitions();

  function inline(node: Raw, path: readonly string[]): Schema {
    const ref = refOf(node);
    const { $ref: _, ...own } = node;
    const target = ref === undefined ? {} : (all[ref] ?? missing(ref, path));
    return structural({ ...target, ...own }, path);
  }

  function structural(node: Raw, path: readonly string[]): Schema {
    const out: Schema = {};
    for (const [keyword, value] of Object.entries(node)) {
      if (DROPPED.has(keyword) || value === undefined) continue;
      out[keyword] = value;
    }
    if (isNode(node.properties)) {
      out.properties = Object.fromEntries(Object.entries(node.properties).map(([k, v]) => [k, inline(v as Raw, [...path, k])]));
    }
    if (isNode(node.items)) out.items = inline(node.items, [...path, '[]']);
    if (isNode(node.additionalProperties)) out.additionalProperties = inline(node.additionalProperties, [...path, '{}']);
    if (out.type === undefined && out['x-kubernetes-int-or-string'] !== true) {
      throw new KvError('Internal', `schema of ${path.join('.')} has no type: give the field a type decorator`);
    }
    return out;
  }

  return (className) => inline({ $ref: `${REF}${className}` }, [className]);
}

const isNode = (v: unknown): v is Raw => typeof v === 'object' && v !== null && !Array.isArray(v);

function missing(ref: string, path: readonly string[]): never {
  throw new KvError('Internal', `schema of ${path.join('.')} refers to ${ref}, which has no decorated field`);
}
