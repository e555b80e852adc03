// Handlers of migrate and evacuate/cancel. Migrating creates the migration object, which its controller carries out; cancelling an
// evacuation takes the mark off the VMI. Neither waits for the guest.
import type { Node, VirtualMachineInstance } from '../api/index.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/logger.js';
import type { ClusterConfig } from '../core/config/cluster-config.js';
import { empty, type Handler, type HttpRequest } from '../http/index.js';
import { NODES, VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from '../runtime/resources.js';
import type { KubeClient } from '../runtime/types.js';
import { answering, keyOf, nameOf } from './handling.js';
import {
  EVACUATE_CANCEL_FIELDS,
  type EvacuateCancelOptions,
  isDryRun,
  MIGRATE_FIELDS,
  type MigrateOptions,
  parseOptions,
} from './options.js';
import { type Find, findVmi, findVmiOfVm } from './port-forward.js';
import { badRequest, conflict, internalError, notFound, type StatusError, statusAnswer, writeFailure } from './status.js';

export interface MigrationDeps {
  readonly client: KubeClient;
  readonly config: () => ClusterConfig;
  readonly log: Logger;
}

const NAME_PREFIX = 'kubevirt-migrate-vm-';
const EVACUATION_PATH = '/status/evacuationNodeName';

export const migrateRefusal = (vmi: VirtualMachineInstance): StatusError | undefined =>
  vmi.status?.phase === 'Running' ? undefined : conflict('virtualmachine', vmi.metadata.name ?? '', 'VM is not running');

const migrate =
  ({ client }: MigrationDeps): Handler =>
  async (request) => {
    const options = parseOptions<MigrateOptions>(request.body, MIGRATE_FIELDS);
    if (!options.ok) return statusAnswer(options.error);
    if (!(await client.find(VIRTUAL_MACHINES, keyOf(request)))) return statusAnswer(notFound('virtualmachine', nameOf(request)));
    const vmi = await client.find(VIRTUAL_MACHINE_INSTANCES, keyOf(request));
    if (!vmi) return statusAnswer(notFound('virtualmachineinstance', nameOf(request)));
    const refusal = migrateRefusal(vmi);
    if (refusal) return statusAnswer(refusal);
    const { addedNodeSelector } = options.value;
    const migration = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstanceMigration',
      metadata: { generateName: NAME_PREFIX, namespace: request.params.ns ?? '' },
      spec: { vmiName: nameOf(request), ...(addedNodeSelector ? { addedNodeSelector } : {}) },
    };
    try {
      await client.create(VIRTUAL_MACHINE_INSTANCE_MIGRATIONS, migration, { dryRun: isDryRun(options.value) });
      return empty(202);
    } catch (err) {
      return statusAnswer(internalError(messageOf(err)));
    }
  };

/** A node that is being drained in the old way would be marked again at once. */
export function drainRefusal(node: Node | undefined, taintKey: string | undefined): StatusError | undefined {
  const taint = node?.spec?.taints?.find(({ key, effect }) => key === taintKey && effect === 'NoSchedule');
  return node && taint ? badRequest(`Node "${node.metadata.name}" has NodeDrainTaintKey "${taint.key}:${taint.effect}"`) : undefined;
}

async function nodeRefusal({ client, config }: MigrationDeps, { status }: VirtualMachineInstance): Promise<StatusError | undefined> {
  const taintKey = config().spec.migrations?.nodeDrainTaintKey;
  const name = status?.evacuationNodeName || status?.nodeName;
  return taintKey && name ? drainRefusal(await client.find(NODES, name), taintKey) : undefined;
}

/** `current`: where the VMI is being evacuated from. */
async function cancelled({ client }: MigrationDeps, request: HttpRequest, current: string): Promise<StatusError | undefined> {
  if (request.body.length === 0) return badRequest('No body');
  const options = parseOptions<EvacuateCancelOptions>(request.body, EVACUATE_CANCEL_FIELDS);
  if (!options.ok) return options.error;
  const { evacuationNodeName = '' } = options.value;
  if (evacuationNodeName !== current) {
    const why = `it is being evacuated from node "${current}", not from "${evacuationNodeName}"`;
    return conflict('virtualmachineinstance', nameOf(request), why);
  }
  const operations = [
    { op: 'test' as const, path: EVACUATION_PATH, value: evacuationNodeName },
    { op: 'remove' as const, path: EVACUATION_PATH },
  ];
  try {
    await client.jsonPatch(VIRTUAL_MACHINE_INSTANCES, keyOf(request), operations, { dryRun: isDryRun(options.value) });
    return undefined;
  } catch (err) {
    return writeFailure(err, 'virtualmachineinstance', nameOf(request));
  }
}

const cancelEvacuation =
  (deps: MigrationDeps, find: Find): Handler =>
  async (request) => {
    const vmi = await find(deps.client, request);
    if (!vmi.ok) return statusAnswer(vmi.error);
    const drained = await nodeRefusal(deps, vmi.value);
    if (drained) return statusAnswer(drained);
    const current = vmi.value.status?.evacuationNodeName;
    if (!current) return empty(200);
    const failure = await cancelled(deps, request, current);
    return failure ? statusAnswer(failure) : empty(200);
  };

export const vmMigrationHandlers = (deps: MigrationDeps): Readonly<Record<string, Handler>> => ({
  migrate: answering(migrate(deps), deps.log),
  'evacuate/cancel': answering(cancelEvacuation(deps, findVmiOfVm), deps.log),
});

export const vmiMigrationHandlers = (deps: MigrationDeps): Readonly<Record<string, Handler>> => ({
  'evacuate/cancel': answering(cancelEvacuation(deps, findVmi), deps.log),
});
