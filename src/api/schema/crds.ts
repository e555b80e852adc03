// The CustomResourceDefinitions: names and versions from the table of kinds, schemas from the decorated classes. tools/gen-crds.ts writes
// them to crds/; virt-operator applies the same objects; virt-api checks what users send against the same schemas.
import type { CustomResourceDefinition } from '../kubernetes.js';
import { DEFINITIONS } from './generated/definitions.js';
import { KINDS, type KindRow, type KindVersion } from './kinds/index.js';
import { type Definitions, type Schema, schemaResolver } from './resolve.js';

const SCALE = {
  labelSelectorPath: '.status.labelSelector',
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
};

function subresources({ status, scale }: KindRow['subresources']): object {
  return status || scale ? { subresources: { ...(status && { status: {} }), ...(scale && { scale: SCALE }) } } : {};
}

function version(row: KindRow, { name, stored, warning }: KindVersion, schema: Schema): object {
  return {
    name,
    served: true,
    storage: stored,
    ...(warning === undefined ? {} : { deprecated: true, deprecationWarning: warning }),
    ...(row.columns.length > 0 && { additionalPrinterColumns: row.columns }),
    schema: { openAPIV3Schema: schema },
    ...subresources(row.subresources),
  };
}

function names({ kind, listKind, plural, shortNames, inAll }: KindRow): object {
  return {
    kind,
    ...(listKind !== undefined && { listKind }),
    plural,
    singular: kind.toLowerCase(),
    ...(shortNames.length > 0 && { shortNames }),
    ...(inAll && { categories: ['all'] }),
  };
}

/** The installation's own kind carries another label than those that an installation brings. */
const labelOf = ({ kind }: KindRow): string => (kind === 'KubeVirt' ? 'operator.kubevirt.io' : 'kubevirt.io');

function crd(row: KindRow, schema: Schema): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${row.plural}.${row.group}`, labels: { [labelOf(row)]: '' } },
    spec: {
      group: row.group,
      scope: row.namespaced ? 'Namespaced' : 'Cluster',
      ...(row.sameSchema && { conversion: { strategy: 'None' } }),
      names: names(row),
      versions: row.versions.map((each) => version(row, each, schema)),
    },
  } as CustomResourceDefinition;
}

let resolve: ((kind: string) => Schema) | undefined;

/** The schema of a kind, as generated from its decorated class; parsed at the first call, shared between kinds. Nobody may change it. */
export function schemaOf(kind: string): Schema {
  resolve ??= schemaResolver(JSON.parse(DEFINITIONS) as Definitions);
  return resolve(kind);
}

/** All CRDs. `render` makes the schemas; processes take the generated ones, only the generator makes them anew. */
export function crds(render: (kind: string) => Schema = schemaOf): CustomResourceDefinition[] {
  return KINDS.map((row) => crd(row, render(row.kind)));
}
