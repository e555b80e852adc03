// Decorated classes → structural OpenAPI v3 definitions: Kubernetes' extensions kept, nothing untyped, references by class name.
// Called by tools/gen-crds.ts only: the processes use what that wrote into generated/, and carry no decorators at run time.
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage } from 'class-validator';
import { validationMetadatasToSchemas } from 'class-validator-jsonschema';
import { KvError } from '../../base/errors.js';
import '../index.js';
import type { Definitions, Schema } from './resolve.js';

type Raw = Record<string, unknown>;

/** What the doc comment of a class, or of one of its fields, says. */
export type Describe = (className: string, field?: string) => string | undefined;

const REF = '#/definitions/';
/** Keywords that class-validator-jsonschema derives from validators but a structural schema must not carry; descriptions come from `describe`. */
const DROPPED = new Set(['not', 'description']);

function allDefinitions(): Record<string, Raw> {
  return validationMetadatasToSchemas({
    classTransformerMetadataStorage: defaultMetadataStorage,
    classValidatorMetadataStorage: getMetadataStorage(),
    refPointerPrefix: REF,
  }) as unknown as Record<string, Raw>;
}

/** The definitions of the classes and of everything that they refer to. */
export function definitionsFor(roots: readonly string[], describe: Describe = () => undefined): Definitions {
  const all = allDefinitions();
  const out: Record<string, Schema> = {};

  function add(className: string, from: string): void {
    if (className in out) return;
    const raw = all[className];
    if (!raw) throw new KvError('Internal', `schema of ${from} refers to ${className}, which has no decorated field`);
    const own: Schema = {};
    out[className] = own; // before its fields, so that a class may be met again below itself
    Object.assign(own, structural(raw, [className]), described(describe(className)));
    for (const [field, schema] of Object.entries(own.properties ?? {})) Object.assign(schema, described(describe(className, field)));
  }

  function structural(node: Raw, path: readonly string[]): Schema {
    const at = path.join('.');
    const { properties, items, additionalProperties } = node;
    const schema: Schema = Object.fromEntries(
      Object.entries(node).filter(([keyword, value]) => !DROPPED.has(keyword) && value !== undefined),
    );
    if (typeof node.$ref === 'string') {
      schema.$ref = node.$ref.slice(REF.length);
      add(schema.$ref as string, at);
    }
    if (isNode(properties)) {
      schema.properties = Object.fromEntries(
        Object.entries(properties).map(([key, value]) => [key, structural(value as Raw, [...path, key])]),
      );
    }
    if (isNode(items)) schema.items = structural(items, [...path, '[]']);
    if (isNode(additionalProperties)) schema.additionalProperties = structural(additionalProperties, [...path, '{}']);
    if (!isTyped(schema)) throw new KvError('Internal', `schema of ${at} has no type: give the field a type decorator`);
    return schema;
  }

  for (const root of roots) add(root, 'the table of kinds');
  return out;
}

const described = (text: string | undefined): Schema => (text === undefined ? {} : { description: text });
const isNode = (v: unknown): v is Raw => typeof v === 'object' && v !== null && !Array.isArray(v);
const isTyped = (schema: Schema): boolean =>
  schema.type !== undefined || schema.$ref !== undefined || schema['x-kubernetes-int-or-string'] === true;
