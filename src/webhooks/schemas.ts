// Schemas of the specs that admission checks: those of the installed kinds, and for kinds that have no CRD of their own here ones that are
// put together from parts of the installed. Read by structural.ts. Holds no rules beyond structure.
import { schemaOf } from '../api/schema/crds.js';
import type { Schema } from '../api/schema/resolve.js';

const TEXT: Schema = { type: 'string' };
const FLAG: Schema = { type: 'boolean' };
const COUNT: Schema = { type: 'integer', format: 'int32' };
const TEXTS: Schema = { type: 'array', items: TEXT };
const TEXT_MAP: Schema = { type: 'object', additionalProperties: TEXT };
const METADATA: Schema = { type: 'object', nullable: true, 'x-kubernetes-preserve-unknown-fields': true };
/** Kubernetes' quantities are texts or numbers; what structural.ts takes as one is decided by the pattern's presence. */
const QUANTITY: Schema = { 'x-kubernetes-int-or-string': true, pattern: '.' };

const object = (properties: Record<string, Schema>, ...required: string[]): Schema => ({ type: 'object', properties, required });
/** Only the fields that are named are checked. */
const open = (properties: Record<string, Schema>): Schema => ({ ...object(properties), 'x-kubernetes-preserve-unknown-fields': true });
const list = (items: Schema): Schema => ({ type: 'array', items });

const REQUIREMENT = object({ key: TEXT, operator: TEXT, values: TEXTS }, 'key', 'operator');
const SELECTOR = object({ matchLabels: TEXT_MAP, matchExpressions: list(REQUIREMENT) });
const REFERENCE = open({ apiGroup: TEXT, kind: TEXT, name: TEXT });

function part(kind: string, ...path: string[]): Schema {
  return path.reduce<Schema>((schema, name) => schema.properties?.[name] ?? {}, schemaOf(kind));
}

const replicaSet = (): Schema =>
  object(
    { paused: FLAG, replicas: COUNT, selector: SELECTOR, template: part('VirtualMachine', 'spec', 'template') },
    'selector',
    'template',
  );

const preset = (): Schema => object({ selector: SELECTOR, domain: part('VirtualMachineInstance', 'spec', 'domain') }, 'selector');

const migration = (): Schema =>
  object({
    addedNodeSelector: TEXT_MAP,
    priority: TEXT,
    receive: object({ migrationID: TEXT }, 'migrationID'),
    sendTo: object({ connectURL: TEXT, migrationID: TEXT }, 'connectURL', 'migrationID'),
    vmiName: TEXT,
  });

function pool(): Schema {
  const nothing = object({});
  const selectors = object({ labelSelector: SELECTOR, nodeSelectorRequirementMatcher: list(REQUIREMENT) });
  const selectionPolicy = object({ selectors, sortPolicy: TEXT });
  const statePreservation = TEXT;
  return object(
    {
      autohealing: object({ minFailingToStartDuration: TEXT, startUpFailureThreshold: { type: 'integer' } }),
      maxUnavailable: { 'x-kubernetes-int-or-string': true },
      nameGeneration: object({ appendIndexToConfigMapRefs: FLAG, appendIndexToSecretRefs: FLAG }),
      paused: FLAG,
      replicas: COUNT,
      scaleInStrategy: object({
        unmanaged: nothing,
        opportunistic: object({ statePreservation }),
        proactive: object({ selectionPolicy, statePreservation }),
      }),
      selector: SELECTOR,
      updateStrategy: object({ unmanaged: nothing, opportunistic: nothing, proactive: object({ selectionPolicy }) }),
      virtualMachineTemplate: object({ metadata: METADATA, spec: part('VirtualMachine', 'spec') }),
    },
    'selector',
    'virtualMachineTemplate',
  );
}

const instancetype = (): Schema =>
  open({
    cpu: open({ guest: { type: 'integer', minimum: 0 }, maxSockets: { type: 'integer', minimum: 0 }, model: TEXT }),
    memory: open({ guest: QUANTITY, maxGuest: QUANTITY, overcommitPercent: { type: 'integer' } }),
    annotations: TEXT_MAP,
    nodeSelector: TEXT_MAP,
    schedulerName: TEXT,
    ioThreadsPolicy: TEXT,
  });

const preference = (): Schema =>
  open({
    cpu: open({ preferredCPUTopology: TEXT, spreadOptions: open({ across: TEXT, ratio: { type: 'integer', minimum: 0 } }) }),
    annotations: TEXT_MAP,
    requirements: open({ cpu: open({ guest: { type: 'integer', minimum: 0 } }), memory: open({ guest: QUANTITY }), architecture: TEXT }),
  });

function migrationPolicy(): Schema {
  const labels = TEXT_MAP;
  const stallDetector = open({
    ewmaAlpha: QUANTITY,
    precopyPossibleFactor: QUANTITY,
    patienceWindowDecayFactor: QUANTITY,
    completionTimeoutFactor: QUANTITY,
  });
  return open({
    selectors: open({ namespaceSelector: labels, virtualMachineInstanceSelector: labels }),
    allowAutoConverge: FLAG,
    allowPostCopy: FLAG,
    allowWorkloadDisruption: FLAG,
    bandwidthPerMigration: QUANTITY,
    completionTimeoutPerGiB: { type: 'integer' },
    maxDowntimeMs: { type: 'integer', minimum: 0 },
    experimental: open({ stallDetector, downtimeTuning: open({}), compression: TEXT }),
  });
}

const sourced = (): Schema => open({ source: REFERENCE });

const restore = (): Schema =>
  open({
    target: REFERENCE,
    virtualMachineSnapshotName: TEXT,
    patches: TEXTS,
    volumeRestoreOverrides: list(open({ volumeName: TEXT, restoreName: TEXT, labels: TEXT_MAP, annotations: TEXT_MAP })),
    volumeRestorePolicy: TEXT,
    volumeOwnershipPolicy: TEXT,
  });

function clone(): Schema {
  const filters = { annotationFilters: TEXTS, labelFilters: TEXTS };
  return open({ ...filters, source: REFERENCE, target: REFERENCE, template: open(filters), newMacAddresses: TEXT_MAP, patches: TEXTS });
}

const plugin = (): Schema =>
  open({
    condition: TEXT,
    domainHooks: list(open({ condition: TEXT, cel: open({ expression: TEXT }), sidecar: open({ socketPath: TEXT }) })),
    nodeHooks: list(open({ condition: TEXT, socket: TEXT, permittedHooks: TEXTS })),
  });

const COMPOSED: Readonly<Record<string, () => Schema>> = {
  VirtualMachineInstanceReplicaSet: replicaSet,
  VirtualMachineInstancePreset: preset,
  VirtualMachineInstanceMigration: migration,
  VirtualMachinePool: pool,
  VirtualMachineInstancetype: instancetype,
  VirtualMachineClusterInstancetype: instancetype,
  VirtualMachinePreference: preference,
  VirtualMachineClusterPreference: preference,
  MigrationPolicy: migrationPolicy,
  VirtualMachineSnapshot: sourced,
  VirtualMachineRestore: restore,
  VirtualMachineExport: sourced,
  VirtualMachineBackup: sourced,
  VirtualMachineBackupTracker: sourced,
  VirtualMachineClone: clone,
  Plugin: plugin,
};

const made = new Map<string, Schema>();

/** The schema of the kind's spec; made once. Nobody may change it. */
export function specSchemaOf(kind: string): Schema | undefined {
  const known = made.get(kind);
  if (known) return known;
  const schema = COMPOSED[kind]?.() ?? schemaOf(kind).properties?.spec;
  if (schema) made.set(kind, schema);
  return schema;
}
