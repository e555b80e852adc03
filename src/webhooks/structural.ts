// Whether an object has the structure of its kind: known fields, right types, required parts, allowed words. Checked before anything else
// looks at an object, since mutating webhooks see what the user sent before the API server's own schema check. Paths carry no indexes.
// Rules rely on it: what passed has no value of a type that a rule does not expect.
import { isQuantity } from '../api/quantity.js';
import { schemaOf } from '../api/schema/crds.js';
import type { Schema } from '../api/schema/resolve.js';
import { specSchemaOf } from './schemas.js';

export type StructuralProblem = string;

/** Words that Kubernetes' own types allow; CRDs leave them open, so that newer API servers may know more. `*` is any one name. */
const ENUMS: readonly (readonly [RegExp, readonly string[]])[] = (
  [
    ['dnsPolicy', ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']],
    ['nodeSelectorTerms.(matchExpressions|matchFields).operator', ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn']],
    ['nodeSelectorRequirementMatcher.operator', ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn']],
    ['preference.(matchExpressions|matchFields).operator', ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn']],
    ['topologySpreadConstraints.(nodeAffinityPolicy|nodeTaintsPolicy)', ['Honor', 'Ignore']],
    ['topologySpreadConstraints.whenUnsatisfiable', ['DoNotSchedule', 'ScheduleAnyway']],
    ['tolerations.effect', ['NoExecute', 'NoSchedule', 'PreferNoSchedule']],
    ['tolerations.operator', ['Equal', 'Exists']],
    ['Probe.httpGet.scheme', ['HTTP', 'HTTPS']],
    ['imagePullPolicy', ['Always', 'IfNotPresent', 'Never']],
    ['(pvc|storage).accessModes', ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']],
    ['(pvc|storage).volumeMode', ['Block', 'Filesystem', 'FromStorageProfile']],
  ] as const
).map(([path, words]) => [new RegExp(`(^|\\.|[a-z])${path.replaceAll('.', '\\.')}$`), words]);

type Node = Record<string, unknown>;

const isNode = (v: unknown): v is Node => typeof v === 'object' && v !== null && !Array.isArray(v);

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typeFits(value: unknown, type: string): boolean {
  const have = typeName(value);
  return have === type || (type === 'number' && have === 'integer');
}

const wrongType = (path: string, wanted: string, value: unknown): StructuralProblem =>
  `${path} in body must be of type ${wanted}: "${typeName(value)}"`;

/** The last parts of those paths: most fields are told apart by them alone. */
const WORD_FIELDS = new Set(
  'dnsPolicy operator nodeAffinityPolicy nodeTaintsPolicy whenUnsatisfiable effect scheme imagePullPolicy accessModes volumeMode'.split(
    ' ',
  ),
);

const wordsFor = (path: string): readonly unknown[] | undefined =>
  WORD_FIELDS.has(path.slice(path.lastIndexOf('.') + 1)) ? ENUMS.find(([at]) => at.test(path))?.[1] : undefined;

/** Counts, which a stored object could not hold as negative numbers. */
const UNSIGNED =
  /\.(cpu\.(cores|sockets|threads|maxSockets|guest)|spreadOptions\.ratio|preferSpreadSocketToCoreRatio|maxDowntimeMs|bootOrder|custom\.(logical|physical|discardGranularity)|spinlocks\.spinlocks|supplementalPoolThreadCount)$/;

const INT32_RANGE = 2 ** 32;

function* numberProblems(value: number, schema: Schema, path: string): Iterable<StructuralProblem> {
  const least = typeof schema.minimum === 'number' ? schema.minimum : UNSIGNED.test(path) ? 0 : undefined;
  if (least !== undefined && value < least) yield `${path} in body should be greater than or equal to ${least}`;
  if (schema.format === 'int32' && Math.abs(value) >= INT32_RANGE) yield `${path} in body must be of type int32: "int64"`;
}

function* scalarProblems(value: unknown, schema: Schema, path: string): Iterable<StructuralProblem> {
  const words = wordsFor(path);
  if (words && value !== '' && !words.includes(value)) yield `${path} in body should be one of [${words.join(' ')}]`;
  if (typeof value === 'number') yield* numberProblems(value, schema, path);
}

function* listProblems(list: readonly unknown[], schema: Schema, path: string, walk: Walk): Iterable<StructuralProblem> {
  if (walk.strict && typeof schema.maxItems === 'number' && list.length > schema.maxItems)
    yield `${path} in body should have at most ${schema.maxItems} items`;
  for (const item of list) {
    // An item may be nullable as a field elsewhere; in a list it would be nothing that has a place.
    if (item === null) yield wrongType(path, String(schema.items?.type ?? 'object'), item);
    else if (schema.items) yield* problemsOf(item, schema.items, path, walk);
  }
}

/** `strict` is for what users write. What components write is only checked for types and holes: another version may know more fields. */
interface Walk {
  readonly strict: boolean;
}

const STRICT: Walk = { strict: true };
const TYPES_ONLY: Walk = { strict: false };

const ZERO: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0, boolean: false };
const isScalar = (schema: Schema): boolean => String(schema.type) in ZERO;

/** Scalars that are left out count as empty: defaulting may still fill them, and the API server insists on them later. */
function* absent(schema: Schema, path: string, { strict }: Walk): Iterable<StructuralProblem> {
  const words = strict ? wordsFor(path) : undefined;
  if (!isScalar(schema)) yield `${path} in body is required`;
  else if (words) yield `${path} in body should be one of [${words.join(' ')}]`;
}

/** Keys such as `constructor` are on every object, but no fields. */
const propertyOf = ({ properties = {}, additionalProperties }: Schema, key: string): Schema | undefined =>
  Object.hasOwn(properties, key) ? properties[key] : additionalProperties;

const isClosed = (schema: Schema): boolean => schema.properties !== undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true;

function* objectProblems(node: Node, schema: Schema, path: string, walk: Walk): Iterable<StructuralProblem> {
  const at = (key: string): string => (path === '' ? key : `${path}.${key}`);
  for (const key of schema.required ?? []) {
    if (node[key] === undefined) yield* absent(schema.properties?.[key] ?? {}, at(key), walk);
  }
  for (const [key, value] of Object.entries(node)) {
    const property = propertyOf(schema, key);
    if (property) yield* problemsOf(value, property, at(key), walk);
    else if (walk.strict && isClosed(schema)) yield `${at(key)} in body is a forbidden property`;
  }
}

/** The type that a value should have had, or undefined. */
function typeFault(value: unknown, schema: Schema): string | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return ['string', 'number'].includes(typeof value) ? undefined : 'string,number';
  const wanted = schema.type;
  if (typeof wanted !== 'string' || typeFits(value, wanted)) return undefined;
  return wanted === 'integer' && typeof value === 'number' ? 'int64' : wanted;
}

/** Quantities are typed as int-or-string with a pattern. */
const isBadQuantity = (value: unknown, schema: Schema): boolean =>
  schema['x-kubernetes-int-or-string'] === true && schema.pattern !== undefined && !isQuantity(value);

function* problemsOf(value: unknown, schema: Schema, path: string, walk: Walk): Iterable<StructuralProblem> {
  if (value === undefined || (value === null && schema.nullable === true)) return;
  const wanted = typeFault(value, schema);
  if (wanted !== undefined) yield wrongType(path, wanted, value);
  else if (isBadQuantity(value, schema)) yield `${path} in body should be a quantity such as 500m or 1Gi: ${JSON.stringify(value)}`;
  else if (Array.isArray(value)) yield* listProblems(value, schema, path, walk);
  else if (isNode(value)) yield* objectProblems(value, schema, path, walk);
  else if (walk.strict) yield* scalarProblems(value, schema, path);
}

/** A template may leave out its spec: its guests then have what every guest has. */
const isTemplate = ({ properties }: Schema): boolean => properties?.spec?.required?.includes('domain') === true;

/** Fills required scalars that are missing with their zero value, and the spec of templates, in place. */
function complete(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) {
    for (const item of value) complete(item, schema.items ?? {});
    return;
  }
  if (!isNode(value)) return;
  if (isTemplate(schema)) value.spec ??= { domain: { devices: {} } };
  for (const key of schema.required ?? []) {
    const property = schema.properties?.[key] ?? {};
    if (value[key] === undefined && isScalar(property)) value[key] = ZERO[String(property.type)];
  }
  for (const [key, child] of Object.entries(value)) complete(child, propertyOf(schema, key) ?? {});
}

const TEXT: Schema = { type: 'string' };
const TEXTS: Schema = { type: 'object', nullable: true, additionalProperties: TEXT };
/** What rules read of it; the rest is the API server's own to check. */
const METADATA: Schema = {
  type: 'object',
  properties: {
    name: TEXT,
    generateName: TEXT,
    namespace: TEXT,
    uid: TEXT,
    deletionTimestamp: { ...TEXT, nullable: true },
    labels: TEXTS,
    annotations: TEXTS,
    finalizers: { type: 'array', nullable: true, items: TEXT },
    ownerReferences: {
      type: 'array',
      nullable: true,
      items: { type: 'object', properties: { apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT } },
    },
  },
};

function* headProblems(object: Node): Iterable<StructuralProblem> {
  yield* problemsOf(object.metadata, METADATA, 'metadata', TYPES_ONLY);
}

function* statusProblems(object: Node, kind: string): Iterable<StructuralProblem> {
  const schema = schemaOf(kind).properties?.status;
  if (schema) yield* problemsOf(object.status, schema, 'status', TYPES_ONLY);
}

export interface StructuralCheck {
  /** What is wrong with an object of a kind whose schema is generated: all of its spec, and the types of its metadata and status. */
  problems(kind: string, object: unknown): StructuralProblem[];
  /** The same for an object that is stored: only types, as it may have been stored by another version. */
  storedProblems(kind: string, object: unknown): StructuralProblem[];
  /** A copy with metadata in which every scalar that the kind requires is present, empty if left out: rules need not look for holes. */
  completed<T>(kind: string, object: T): T;
}

export function createStructuralCheck(): StructuralCheck {
  return {
    problems(kind, object) {
      const spec = specSchemaOf(kind);
      if (!isNode(object)) return [wrongType('', 'object', object)];
      const around = [...headProblems(object), ...statusProblems(object, kind)];
      if (!spec) return around;
      return object.spec === undefined
        ? [...around, 'spec in body is required']
        : [...around, ...problemsOf(object.spec, spec, 'spec', STRICT)];
    },
    storedProblems(kind, object) {
      if (!isNode(object)) return [wrongType('', 'object', object)];
      const spec = specSchemaOf(kind);
      const specProblems = spec ? [...problemsOf(object.spec ?? null, spec, 'spec', TYPES_ONLY)] : [];
      return [...headProblems(object), ...statusProblems(object, kind), ...specProblems];
    },
    completed(kind, object) {
      const copy = { metadata: {}, ...structuredClone(object) };
      const spec = specSchemaOf(kind);
      const status = schemaOf(kind).properties?.status;
      if (spec) complete((copy as { spec?: unknown }).spec, spec);
      if (status) complete((copy as { status?: unknown }).status, status);
      return copy;
    },
  };
}
