// What the CEL expressions of plugins may speak of. Expressions about the domain see API objects under the names of the reference's own structures, in
// capitals; those of node hooks see them as they are written in YAML. Pure; called at admission.
import { schemaOf } from '../../api/schema/crds.js';
import type { Schema } from '../../api/schema/resolve.js';
import type { Environment, Type } from '../cel/check.js';
import { MORE_FUNCTIONS, MORE_METHODS } from '../cel/extensions.js';
import { ANY, listOf, mapOf, WHOLE } from '../cel/types.js';
import { isEmbedded, jsonKeyOf } from '../cel/values.js';
import { domainTypeNamed, placesOf, valueType } from './domain-schema.js';

const VMI: Type = 'VirtualMachineInstance';
const META: Type = 'ObjectMeta';
export const DOMAIN: Type = 'Domain';

const TEXT: Schema = { type: 'string' };
const TEXTS: Schema = { type: 'object', additionalProperties: TEXT };
const METADATA: Schema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(['name', 'namespace', 'generateName', 'uid', 'resourceVersion', 'selfLink'].map((name) => [name, TEXT])),
    ...Object.fromEntries(['generation', 'deletionGracePeriodSeconds'].map((name) => [name, { type: 'integer' }])),
    ...Object.fromEntries(['ownerReferences', 'creationTimestamp', 'deletionTimestamp', 'managedFields'].map((name) => [name, {}])),
    labels: TEXTS,
    annotations: TEXTS,
    finalizers: { type: 'array', items: TEXT },
  },
};

/** Objects within a VMI are called by where they are: `VirtualMachineInstance.spec.domain`. Kept as they are met. */
const objects = new Map<Type, Schema>([[META, METADATA]]);

function objectAt(type: Type): Schema['properties'] {
  if (type === VMI && !objects.has(VMI)) objects.set(VMI, schemaOf(VMI));
  return objects.get(type)?.properties;
}

const SCALARS: Readonly<Record<string, Type>> = { string: 'string', integer: WHOLE, number: 'double', boolean: 'bool' };

function typeOf(schema: Schema | undefined, place: Type): Type {
  if (schema?.type === 'array') return listOf(typeOf(schema.items, `${place}[]`));
  if (schema?.type !== 'object') return SCALARS[schema?.type ?? ''] ?? ANY;
  if (schema.additionalProperties) return mapOf(typeOf(schema.additionalProperties, `${place}[]`));
  if (!schema.properties) return ANY;
  objects.set(place, schema);
  return place;
}

const propertyType = (type: Type, key: string): Type =>
  type === VMI && key === 'metadata' ? META : typeOf(objectAt(type)?.[key], `${type}.${key}`);

/** As in YAML. */
function yamlField(type: Type, field: string): Type | false | undefined {
  const properties = objectAt(type);
  if (!properties) return undefined;
  return Object.hasOwn(properties, field) ? propertyType(type, field) : false;
}

/** By the name of the structure's field, which begins with a capital. Fields of what is embedded are the outer one's own. */
function structField(type: Type, field: string): Type | false | undefined {
  const properties = objectAt(type);
  if (!properties) return undefined;
  if (!/^[A-Z]/.test(field)) return false;
  const key = type === VMI && field === META ? 'metadata' : jsonKeyOf(Object.keys(properties), field);
  if (key !== undefined && !(type === VMI && field === 'Metadata')) return propertyType(type, key);
  if (type === VMI) return structField(META, field);
  return isEmbedded(field) ? type : false;
}

function domainField(type: Type, field: string): Type | false | undefined {
  const places = placesOf(type);
  if (!places) return structField(type, field);
  const place = places.get(field);
  return place ? valueType(place) : false;
}

const vmiNamed = (name: string): Type | undefined => (name === `v1.${VMI}` ? VMI : undefined);

export const domainEnvironment: Environment = {
  variables: { vmi: VMI, domainSpec: DOMAIN },
  fieldOf: domainField,
  typeNamed: (name) => domainTypeNamed(name) ?? vmiNamed(name),
};

export const nodeEnvironment: Environment = {
  variables: { vmi: VMI },
  fieldOf: yamlField,
  typeNamed: vmiNamed,
  functions: MORE_FUNCTIONS,
  methods: MORE_METHODS,
  comparesNumbers: true,
};
