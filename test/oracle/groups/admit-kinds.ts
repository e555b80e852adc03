// The admission operations of group `admit` for every kind but VM, VMI and KubeVirt: the objects around a case handed to the same rules
// that the webhooks ask.
import type {
  KubeObject,
  Plugin,
  Pod,
  VirtualMachine,
  VirtualMachineBackup,
  VirtualMachineClone,
  VirtualMachineExport,
  VirtualMachineInstance,
  VirtualMachineInstanceMigration,
  VirtualMachineInstanceReplicaSet,
  VirtualMachineInstancetypeSpec,
  VirtualMachinePool,
  VirtualMachinePreferenceSpec,
  VirtualMachineRestore,
  VirtualMachineSnapshot,
} from '../../../src/api/index.js';
import type { ClusterConfig } from '../../../src/core/config/cluster-config.js';
import type { MigrationPolicy } from '../../../src/core/migration/policy.js';
import type { VirtualMachineInstancePreset } from '../../../src/webhooks/mutate/preset.js';
import { isController } from '../../../src/webhooks/service-accounts.js';
import { admitCloneCreate } from '../../../src/webhooks/validate/clone/admit.js';
import {
  decideHotplugEviction,
  decideLauncherEviction,
  type Eviction,
  type EvictionDecision,
  guestOf,
  ownerOfHotplugPod,
} from '../../../src/webhooks/validate/eviction/decide.js';
import { admitInstancetype } from '../../../src/webhooks/validate/instancetype/instancetype.js';
import { admitPreference } from '../../../src/webhooks/validate/instancetype/preference.js';
import { admitMigrationCreate, admitMigrationUpdate } from '../../../src/webhooks/validate/migration/admit.js';
import { admitMigrationPolicy } from '../../../src/webhooks/validate/migration/policy.js';
import { admitPluginCreate } from '../../../src/webhooks/validate/plugin/admit.js';
import { admitPool } from '../../../src/webhooks/validate/scale/pool.js';
import { admitPreset } from '../../../src/webhooks/validate/scale/preset.js';
import { admitReplicaSet } from '../../../src/webhooks/validate/scale/replica-set.js';
import { admitBackupCreate, admitBackupTrackerCreate } from '../../../src/webhooks/validate/storage/backup.js';
import { admitExportCreate, admitExportUpdate } from '../../../src/webhooks/validate/storage/export.js';
import {
  admitRestoreCreate,
  admitRestoreUpdate,
  type VirtualMachineSnapshotContent,
} from '../../../src/webhooks/validate/storage/restore.js';
import { admitSnapshotCreate, admitSnapshotUpdate } from '../../../src/webhooks/validate/storage/snapshot.js';
import { allow, refuse, type Verdict } from '../../../src/webhooks/verdict.js';
import type { OracleCase } from '../oracle-case.js';
import { type Admit, envOf, INSTALL_NAMESPACE, own, structured, userOf } from './admission-case.js';

const oldOf = <T>(c: OracleCase): T | undefined => c.oldObject as T | undefined;
const named = <T extends KubeObject>(c: OracleCase, kind: string, name: string | undefined): T | undefined =>
  envOf<T>(c, kind).find((o) => o.metadata.name === name);
const optional = <K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };

function migrationCreate(c: OracleCase, config: ClusterConfig): Verdict {
  const migration = c.object as VirtualMachineInstanceMigration;
  const vmi = named<VirtualMachineInstance>(c, 'VirtualMachineInstance', migration.spec.vmiName);
  const others = envOf<VirtualMachineInstanceMigration>(c, 'VirtualMachineInstanceMigration');
  const namespace = migration.metadata.namespace ?? 'default';
  return admitMigrationCreate(
    { migration, ...optional('vmi', vmi), others, namespace, isController: isController(userOf(c), INSTALL_NAMESPACE) },
    config,
  );
}

function restoreCreate(c: OracleCase, config: ClusterConfig): Verdict {
  const restore = c.object as VirtualMachineRestore;
  const snapshot = named<VirtualMachineSnapshot>(c, 'VirtualMachineSnapshot', restore.spec.virtualMachineSnapshotName);
  const contentName = snapshot?.status?.virtualMachineSnapshotContentName;
  const content = named<VirtualMachineSnapshotContent>(c, 'VirtualMachineSnapshotContent', contentName);
  const target = named<VirtualMachine>(c, 'VirtualMachine', restore.spec.target?.name);
  const others = envOf<VirtualMachineRestore>(c, 'VirtualMachineRestore');
  const found = { ...optional('snapshot', snapshot), ...optional('content', content), ...optional('target', target) };
  return admitRestoreCreate({ restore, ...found, others }, config);
}

const told = (decision: EvictionDecision): Verdict => (decision.do === 'pass' ? allow() : refuse(decision.message, 429));

function eviction(c: OracleCase, config: ClusterConfig): Verdict {
  const object = c.object as KubeObject & Eviction;
  const pod = named<Pod>(c, 'Pod', object.metadata.name);
  if (!pod) return allow();
  const owner = ownerOfHotplugPod(pod);
  if (owner !== undefined) {
    const guest = guestOf(named<Pod>(c, 'Pod', owner));
    return told(
      decideHotplugEviction(pod, guest === undefined ? undefined : named<VirtualMachineInstance>(c, 'VirtualMachineInstance', guest)),
    );
  }
  const guest = guestOf(pod);
  if (guest === undefined) return allow();
  const vmi = named<VirtualMachineInstance>(c, 'VirtualMachineInstance', guest);
  return vmi ? told(decideLauncherEviction(pod, vmi, object, config)) : refuse(`the VMI ${guest} of the pod does not exist`, 429);
}

const pool: Admit = (c, config) =>
  admitPool({ pool: c.object as VirtualMachinePool, ...optional('old', oldOf<VirtualMachinePool>(c)), isOwnAccount: own(c) }, config);
const replicaSet: Admit = (c, config) => admitReplicaSet(c.object as VirtualMachineInstanceReplicaSet, !c.oldObject, config);
const policy: Admit = (c, config) => admitMigrationPolicy(c.object as MigrationPolicy, oldOf<MigrationPolicy>(c), config);
const instancetype: Admit = (c) => admitInstancetype((c.object as { spec: VirtualMachineInstancetypeSpec }).spec);
const preference: Admit = (c) => admitPreference((c.object as { spec: VirtualMachinePreferenceSpec }).spec);

const update =
  <T>(admit: (next: T, old: T) => Verdict): Admit =>
  (c) =>
    admit(c.object as T, c.oldObject as T);

export const KIND_OPS: Readonly<Record<string, Admit>> = {
  'vmim-create': structured('VirtualMachineInstanceMigration', migrationCreate),
  'vmim-update': structured('VirtualMachineInstanceMigration', update<VirtualMachineInstanceMigration>(admitMigrationUpdate)),
  eviction,
  'vmirs-create': structured('VirtualMachineInstanceReplicaSet', replicaSet),
  'vmirs-update': structured('VirtualMachineInstanceReplicaSet', replicaSet),
  'pool-create': structured('VirtualMachinePool', pool),
  'pool-update': structured('VirtualMachinePool', pool),
  'preset-create': structured('VirtualMachineInstancePreset', (c, config) => admitPreset(c.object as VirtualMachineInstancePreset, config)),
  'migrationpolicy-create': structured('MigrationPolicy', policy),
  'migrationpolicy-update': structured('MigrationPolicy', policy),
  'snapshot-create': structured('VirtualMachineSnapshot', (c, config) => admitSnapshotCreate(c.object as VirtualMachineSnapshot, config)),
  'snapshot-update': structured('VirtualMachineSnapshot', update<VirtualMachineSnapshot>(admitSnapshotUpdate)),
  'restore-create': structured('VirtualMachineRestore', restoreCreate),
  'restore-update': structured('VirtualMachineRestore', update<VirtualMachineRestore>(admitRestoreUpdate)),
  'export-create': structured('VirtualMachineExport', (c, config) => admitExportCreate(c.object as VirtualMachineExport, config)),
  'export-update': structured('VirtualMachineExport', update<VirtualMachineExport>(admitExportUpdate)),
  'backup-create': structured('VirtualMachineBackup', (c, config) =>
    admitBackupCreate(c.object as VirtualMachineBackup, envOf<VirtualMachineBackup>(c, 'VirtualMachineBackup'), config),
  ),
  'backup-update': () => allow(),
  'backuptracker-create': structured('VirtualMachineBackupTracker', (_c, config) => admitBackupTrackerCreate(config)),
  'clone-create': structured('VirtualMachineClone', (c, config) => admitCloneCreate(c.object as VirtualMachineClone, config)),
  'plugin-create': structured('Plugin', (c, config) => admitPluginCreate(c.object as Plugin, config)),
  'instancetype-create': structured('VirtualMachineInstancetype', instancetype),
  'clusterinstancetype-create': structured('VirtualMachineClusterInstancetype', instancetype),
  'preference-create': structured('VirtualMachinePreference', preference),
  'clusterpreference-create': structured('VirtualMachineClusterPreference', preference),
};
