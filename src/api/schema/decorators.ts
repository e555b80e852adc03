// Field decorators for the wire types that class-validator does not know: quantities, times, int-or-string and maps.
// Each checks structure and carries the OpenAPI fragment that the CRDs need.
import 'reflect-metadata';
import { registerDecorator, type ValidationOptions } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

type FieldDecorator = (target: object, property: string) => void;

export const QUANTITY_PATTERN =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const QUANTITY = new RegExp(QUANTITY_PATTERN);
const INT_OR_STRING = { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true };
export const QUANTITY_SCHEMA = { ...INT_OR_STRING, pattern: QUANTITY_PATTERN };

const isQuantity = (v: unknown): boolean => (typeof v === 'number' && Number.isFinite(v)) || (typeof v === 'string' && QUANTITY.test(v));
const isMap = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);

/** `holds` is the check; `schema` the OpenAPI fragment; `wanted` completes "must be …". */
function field(name: string, wanted: string, holds: (v: unknown) => boolean, schema: object, options?: ValidationOptions): FieldDecorator {
  return (target, property) => {
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: property,
      options: { message: `$property must be ${wanted}`, ...options },
      validator: { validate: holds },
    });
    JSONSchema((options?.each ? { type: 'array', items: schema } : schema) as never)(target, property);
  };
}

/** resource.Quantity: '128Mi', '1.5', 2. */
export const IsQuantity = (options?: ValidationOptions): FieldDecorator =>
  field('isQuantity', 'a quantity such as 128Mi or 500m', isQuantity, QUANTITY_SCHEMA, options);

/** metav1.Time: RFC 3339. */
export const IsTime =
  ({ nullable = false } = {}): FieldDecorator =>
  (target, property) => {
    registerDecorator({
      name: 'isTime',
      target: target.constructor,
      propertyName: property,
      options: { message: '$property must be an RFC 3339 time' },
      validator: { validate: (v: unknown) => typeof v === 'string' && RFC3339.test(v) },
    });
    JSONSchema({ type: 'string', format: 'date-time', ...(nullable ? { nullable } : {}) })(target, property);
  };

export const IsIntOrString = (): FieldDecorator =>
  field('isIntOrString', 'a whole number or a string', (v) => typeof v === 'string' || Number.isInteger(v), INT_OR_STRING);

const mapOf = (name: string, wanted: string, holds: (v: unknown) => boolean, schema: object): FieldDecorator =>
  field(name, `a map of ${wanted}`, (v) => isMap(v) && Object.values(v).every(holds), { type: 'object', additionalProperties: schema });

export const IsStringMap = (): FieldDecorator => mapOf('isStringMap', 'strings', (v) => typeof v === 'string', { type: 'string' });
export const IsBooleanMap = (): FieldDecorator => mapOf('isBooleanMap', 'booleans', (v) => typeof v === 'boolean', { type: 'boolean' });
export const IsIntMap = (): FieldDecorator => mapOf('isIntMap', 'whole numbers', (v) => Number.isInteger(v), { type: 'integer' });
export const IsQuantityMap = (): FieldDecorator => mapOf('isQuantityMap', 'quantities', isQuantity, QUANTITY_SCHEMA);

/** A map whose values are objects of the class; the schema generator resolves the reference by class name. */
export const IsMapOf =
  (type: () => new () => object): FieldDecorator =>
  (target, property) => {
    registerDecorator({
      name: 'isMapOf',
      target: target.constructor,
      propertyName: property,
      options: { message: '$property must be a map of objects' },
      validator: { validate: (v: unknown) => isMap(v) && Object.values(v).every(isMap) },
    });
    JSONSchema({ type: 'object', additionalProperties: { $ref: `#/definitions/${type().name}` } })(target, property);
  };
