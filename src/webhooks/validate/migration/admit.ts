// Admission of VirtualMachineInstanceMigrations: whether the VMI may be migrated at all and is not being migrated already, and that a
// migration stays what it was created as. Pure: the caller has read the VMI and the migrations of the namespace.
import { isDeepStrictEqual } from 'node:util';
import {
  findCondition,
  isFinalPhase,
  LABEL,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from '../../../api/index.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { allow, refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { type Causes, forbidden, invalid, notSupported, required } from '../rule.js';

export interface MigrationRequest {
  readonly migration: VirtualMachineInstanceMigration;
  readonly vmi?: VirtualMachineInstance;
  /** Migrations of the same namespace. */
  readonly others: readonly VirtualMachineInstanceMigration[];
  readonly namespace: string;
  /** The request comes from virt-controller, which alone orders the queue. */
  readonly isController: boolean;
}

const isDecentralized = ({ spec }: VirtualMachineInstanceMigration): boolean => spec.sendTo !== undefined || spec.receive !== undefined;

function* ownCauses({ spec }: VirtualMachineInstanceMigration, isController: boolean): Causes {
  if (!spec.vmiName) yield required('spec.vmiName', 'vmiName is missing: name the VirtualMachineInstance to migrate');
  else if (spec.priority !== undefined && !isController) {
    yield forbidden('spec.migrationPriority', 'only virt-controller may set the priority of a migration: leave spec.priority out');
  }
}

/** Disks that are not shared are no obstacle where the migration copies them to another cluster. */
function obstacle(vmi: VirtualMachineInstance, migration: VirtualMachineInstanceMigration): string | undefined {
  if (isFinalPhase(vmi.status?.phase)) return 'Cannot migrate VMI in finalized state: its guest is over; start the VM again';
  const migratable = findCondition(vmi.status?.conditions, 'LiveMigratable');
  if (migratable?.status !== 'False') return undefined;
  const { reason = '', message = '' } = migratable;
  if (reason === 'DisksNotLiveMigratable' && isDecentralized(migration)) return undefined;
  return `Cannot migrate VMI, Reason: ${reason}, Message: ${message}. Remove the obstacle, or restart the VM instead`;
}

function conflict({ migration, others }: MigrationRequest): string | undefined {
  const name = migration.spec.vmiName ?? '';
  const active = others.find((m) => m.metadata.labels?.[LABEL.vmiName] === name && !isFinalPhase(m.status?.phase));
  if (!active) return undefined;
  const job = active.metadata.uid ?? '';
  return `in-flight migration detected. Active migration job (${job}) is currently already in progress for VMI ${name}: wait until it is over, or delete it`;
}

function* decentralizedCauses(migration: VirtualMachineInstanceMigration, config: ClusterConfig): Causes {
  const { sendTo, receive } = migration.spec;
  if (!isDecentralized(migration)) return;
  if (!config.isEnabled('DecentralizedLiveMigration')) {
    yield notSupported('', gateOff('DecentralizedLiveMigration', 'a migration with sendTo or receive'));
  } else if (sendTo && receive && sendTo.migrationID !== receive.migrationID) {
    const ids = `sendTo migrationID ${sendTo.migrationID} does not match receive migrationID ${receive.migrationID}`;
    yield invalid('', `${ids}: within one cluster both ends must carry the same`);
  }
}

export function admitMigrationCreate(request: MigrationRequest, config: ClusterConfig): Verdict {
  const { migration, vmi, namespace, isController } = request;
  const own = verdictOf(ownCauses(migration, isController));
  if (!own.allowed) return own;
  if (!vmi) return refuse(`the VMI "${namespace}/${migration.spec.vmiName}" does not exist: start its VM, or correct spec.vmiName`);
  const reason = obstacle(vmi, migration) ?? conflict(request);
  return reason === undefined ? verdictOf(decentralizedCauses(migration, config)) : refuse(reason);
}

/** The label finds the migrations of a VMI: an active one that lost it would run beside another. */
function* labelCauses(next: VirtualMachineInstanceMigration, old: VirtualMachineInstanceMigration): Causes {
  const [before, after] = [old.metadata.labels?.[LABEL.vmiName], next.metadata.labels?.[LABEL.vmiName]];
  if (isFinalPhase(next.status?.phase) || before === undefined || before === after) return;
  const what = after === undefined ? 'removed from' : 'modified on';
  yield notSupported('', `label ${LABEL.vmiName} cannot be ${what} an in-flight migration: keep the value ${before}`);
}

export function admitMigrationUpdate(next: VirtualMachineInstanceMigration, old: VirtualMachineInstanceMigration): Verdict {
  if (!isDeepStrictEqual(next.spec, old.spec)) {
    return verdictOf([notSupported('', "update of Migration object's spec is restricted: delete the migration and create another")]);
  }
  const verdict = verdictOf(labelCauses(next, old));
  return verdict.allowed ? allow() : verdict;
}
