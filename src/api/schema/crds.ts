// The CustomResourceDefinitions: one row a kind, schemas from the decorated classes. tools/gen-crds.ts writes them to crds/;
// virt-operator applies the same objects.
import { KvError } from '../../base/errors.js';
import type { CustomResourceDefinition } from '../kubernetes.js';
import { SCHEMAS } from './generated/schemas.js';
import type { Schema } from './schema.js';

interface Column {
  readonly name: string;
  readonly type: 'string' | 'date' | 'integer' | 'boolean';
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

interface KindRow {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly label: string;
  readonly statusSubresource: boolean;
  readonly columns: readonly Column[];
}

const AGE: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const condition = (type: string): string => `.status.conditions[?(@.type=='${type}')].status`;
const DEPRECATION = 'kubevirt.io/v1alpha3 is now deprecated and will be removed in a future release.';

/** Kinds of group kubevirt.io; all are namespaced, in category `all` and served as v1 (stored) and v1alpha3 (deprecated). */
const KINDS: readonly KindRow[] = [
  {
    kind: 'VirtualMachine',
    plural: 'virtualmachines',
    singular: 'virtualmachine',
    shortNames: ['vm', 'vms'],
    label: 'kubevirt.io',
    statusSubresource: true,
    columns: [
      AGE,
      { name: 'Status', type: 'string', jsonPath: '.status.printableStatus', description: 'State in one word, for people' },
      { name: 'Ready', type: 'string', jsonPath: condition('Ready') },
    ],
  },
  {
    kind: 'VirtualMachineInstance',
    plural: 'virtualmachineinstances',
    singular: 'virtualmachineinstance',
    shortNames: ['vmi', 'vmis'],
    label: 'kubevirt.io',
    statusSubresource: false,
    columns: [
      AGE,
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'IP', type: 'string', jsonPath: '.status.interfaces[0].ipAddress' },
      { name: 'NodeName', type: 'string', jsonPath: '.status.nodeName' },
      { name: 'Ready', type: 'string', jsonPath: condition('Ready') },
      { name: 'Live-Migratable', type: 'string', jsonPath: condition('LiveMigratable'), priority: 1 },
      { name: 'Paused', type: 'string', jsonPath: condition('Paused'), priority: 1 },
    ],
  },
  {
    kind: 'KubeVirt',
    plural: 'kubevirts',
    singular: 'kubevirt',
    shortNames: ['kv', 'kvs'],
    label: 'operator.kubevirt.io',
    statusSubresource: true,
    columns: [AGE, { name: 'Phase', type: 'string', jsonPath: '.status.phase' }],
  },
];

function version(row: KindRow, name: string, stored: boolean, schema: Schema): object {
  return {
    name,
    served: true,
    storage: stored,
    ...(stored ? {} : { deprecated: true, deprecationWarning: DEPRECATION }),
    additionalPrinterColumns: row.columns,
    schema: { openAPIV3Schema: schema },
    ...(row.statusSubresource ? { subresources: { status: {} } } : {}),
  };
}

function crd(row: KindRow, schema: Schema): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${row.plural}.kubevirt.io`, labels: { [row.label]: '' } },
    spec: {
      group: 'kubevirt.io',
      scope: 'Namespaced',
      names: { kind: row.kind, plural: row.plural, singular: row.singular, shortNames: [...row.shortNames], categories: ['all'] },
      versions: [version(row, 'v1', true, schema), version(row, 'v1alpha3', false, schema)],
    },
  } as CustomResourceDefinition;
}

let parsed: Readonly<Record<string, Schema>> | undefined;

/** The schema of one of the kinds above, as generated from its decorated class; parsed once. Nobody may change it. */
export function schemaOf(kind: string): Schema {
  parsed ??= JSON.parse(SCHEMAS) as Record<string, Schema>;
  const schema = parsed[kind];
  if (!schema) throw new KvError('Internal', `there is no generated schema of ${kind}: add it to KINDS and run npm run gen:crds`);
  return schema;
}

export const kinds = (): string[] => KINDS.map((row) => row.kind);

/** All CRDs. `render` makes the schemas; processes take the generated ones, only the generator makes them anew. */
export function crds(render: (kind: string) => Schema = schemaOf): CustomResourceDefinition[] {
  return KINDS.map((row) => crd(row, render(row.kind)));
}
