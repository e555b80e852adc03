// Definitions that refer to each other → complete schemas. Kinds share most of their parts (a VM's spec holds a VMI's, a pool's holds a VM's),
// so each class is resolved once and the result shared: nobody may change it. Used by the generator and, lazily, by the processes.
import { KvError } from '../../base/errors.js';

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema;
  [keyword: string]: unknown;
}

/** Class name → its schema, in which `$ref` is the name of another class and keywords beside it win over that class's own. */
export type Definitions = Readonly<Record<string, Schema>>;

/** A function that gives the complete schema of a class. */
export function schemaResolver(definitions: Definitions): (className: string) => Schema {
  const done = new Map<string, Schema>();

  function resolved(className: string): Schema {
    const known = done.get(className);
    if (known) return known;
    const definition = definitions[className];
    if (!definition)
      throw new KvError('Internal', `there is no generated schema of ${className}: add it to the kinds and run npm run gen:crds`);
    const schema = complete(definition);
    done.set(className, schema);
    return schema;
  }

  function complete(node: Schema): Schema {
    if (typeof node.$ref === 'string') {
      const { $ref, ...own } = node;
      return Object.keys(own).length === 0 ? resolved($ref as string) : { ...resolved($ref as string), ...complete(own) };
    }
    const { properties, items, additionalProperties } = node;
    return {
      ...node,
      ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, complete(value)])) }),
      ...(items && { items: complete(items) }),
      ...(additionalProperties && { additionalProperties: complete(additionalProperties) }),
    };
  }

  return resolved;
}
