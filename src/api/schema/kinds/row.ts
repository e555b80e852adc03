// What a kind is beside its schema: names, group, scope, versions, subresources and the columns of `kubectl get`. The tables in this folder
// hold one row a kind; crds.ts makes the CustomResourceDefinitions from them.

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'integer' | 'boolean';
  readonly jsonPath: string;
  readonly description?: string;
  /** 1 shows the column with `-o wide` only. */
  readonly priority?: number;
}

export interface KindVersion {
  readonly name: string;
  readonly stored: boolean;
  /** Present on deprecated versions: what clients are told. */
  readonly warning?: string;
}

export interface KindRow {
  readonly kind: string;
  readonly group: string;
  /** Where it is written out; the API server makes the same of the kind. */
  readonly listKind?: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  /** Whether `kubectl get all` lists it. */
  readonly inAll: boolean;
  readonly namespaced: boolean;
  readonly versions: readonly KindVersion[];
  readonly subresources: { readonly status: boolean; readonly scale: boolean };
  readonly columns: readonly Column[];
  /** Says in so many words that versions differ in their name only. */
  readonly sameSchema?: boolean;
}

export const NO_SUBRESOURCES = { status: false, scale: false };
export const STATUS = { status: true, scale: false };
export const STATUS_AND_SCALE = { status: true, scale: true };

export const AGE: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
export const SOURCE: readonly Column[] = [text('SourceKind', '.spec.source.kind'), text('SourceName', '.spec.source.name')];

/** Columns of everything that keeps a number of objects. */
export const replicaColumns = (objects: string): readonly Column[] => [
  { name: 'Desired', type: 'integer', jsonPath: '.spec.replicas', description: `How many ${objects} are wanted` },
  {
    name: 'Current',
    type: 'integer',
    jsonPath: '.status.replicas',
    description: `How many ${objects} exist that are neither finished nor going away`,
  },
  { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas', description: `How many of the current ${objects} are ready` },
  AGE,
];

export function text(name: string, jsonPath: string, rest: Pick<Column, 'description' | 'priority'> = {}): Column {
  return { name, type: 'string', jsonPath, ...rest };
}

export const condition = (type: string): string => `.status.conditions[?(@.type=='${type}')].status`;
