// Kinds of the groups around kubevirt.io: pools, snapshots, exports, clones, instance types, migration policies, backups and plugins.
import { type KindRow, type KindVersion, NO_SUBRESOURCES, replicaColumns, SOURCE, STATUS, STATUS_AND_SCALE, text } from './row.js';

const ALPHA: readonly KindVersion[] = [{ name: 'v1alpha1', stored: true }];
const BETA: readonly KindVersion[] = [{ name: 'v1beta1', stored: true }];
const ALPHA_AND_BETA: readonly KindVersion[] = [
  { name: 'v1alpha1', stored: false },
  { name: 'v1beta1', stored: true },
];

const NAMESPACED = { inAll: true, namespaced: true } as const;
const CLUSTER = { inAll: false, namespaced: false } as const;
const SNAPSHOT = {
  ...NAMESPACED,
  group: 'snapshot.kubevirt.io',
  versions: ALPHA_AND_BETA,
  subresources: STATUS,
  sameSchema: true,
} as const;
const BACKUP = { ...NAMESPACED, group: 'backup.kubevirt.io', versions: ALPHA, subresources: STATUS, sameSchema: true } as const;
const TYPES = { group: 'instancetype.kubevirt.io', versions: BETA, subresources: NO_SUBRESOURCES, columns: [], sameSchema: true } as const;

const POOLS: readonly KindRow[] = [
  {
    ...NAMESPACED,
    kind: 'VirtualMachinePool',
    group: 'pool.kubevirt.io',
    plural: 'virtualmachinepools',
    shortNames: ['vmpool', 'vmpools'],
    versions: ALPHA_AND_BETA,
    subresources: STATUS_AND_SCALE,
    columns: replicaColumns('VirtualMachines'),
  },
];

const READY_TO_USE = { name: 'ReadyToUse', type: 'boolean', jsonPath: '.status.readyToUse' } as const;
const CREATION_TIME = { name: 'CreationTime', type: 'date', jsonPath: '.status.creationTime' } as const;
const ERROR = text('Error', '.status.error.message');

const SNAPSHOTS: readonly KindRow[] = [
  {
    ...SNAPSHOT,
    kind: 'VirtualMachineSnapshot',
    plural: 'virtualmachinesnapshots',
    shortNames: ['vmsnapshot', 'vmsnapshots'],
    columns: [...SOURCE, text('Phase', '.status.phase'), READY_TO_USE, CREATION_TIME, ERROR],
  },
  {
    ...SNAPSHOT,
    kind: 'VirtualMachineSnapshotContent',
    plural: 'virtualmachinesnapshotcontents',
    shortNames: ['vmsnapshotcontent', 'vmsnapshotcontents'],
    columns: [READY_TO_USE, CREATION_TIME, ERROR],
  },
  {
    ...SNAPSHOT,
    kind: 'VirtualMachineRestore',
    plural: 'virtualmachinerestores',
    shortNames: ['vmrestore', 'vmrestores'],
    columns: [
      text('TargetKind', '.spec.target.kind'),
      text('TargetName', '.spec.target.name'),
      { name: 'Complete', type: 'boolean', jsonPath: '.status.complete' },
      { name: 'RestoreTime', type: 'date', jsonPath: '.status.restoreTime' },
    ],
  },
];

const EXPORTS_AND_CLONES: readonly KindRow[] = [
  {
    ...NAMESPACED,
    kind: 'VirtualMachineExport',
    group: 'export.kubevirt.io',
    plural: 'virtualmachineexports',
    shortNames: ['vmexport', 'vmexports'],
    versions: [
      {
        name: 'v1beta1',
        stored: false,
        warning: 'export.kubevirt.io/v1beta1 VirtualMachineExport is now deprecated and will be removed in a future version.',
      },
      { name: 'v1', stored: true },
    ],
    subresources: STATUS,
    columns: [...SOURCE, text('Phase', '.status.phase')],
    sameSchema: true,
  },
  {
    ...NAMESPACED,
    kind: 'VirtualMachineClone',
    group: 'clone.kubevirt.io',
    plural: 'virtualmachineclones',
    shortNames: ['vmclone', 'vmclones'],
    versions: ALPHA_AND_BETA,
    subresources: STATUS,
    columns: [
      text('Phase', '.status.phase'),
      text('SourceVirtualMachine', '.spec.source.name'),
      text('TargetVirtualMachine', '.spec.target.name'),
    ],
  },
];

const INSTANCE_TYPES: readonly KindRow[] = [
  {
    ...NAMESPACED,
    ...TYPES,
    kind: 'VirtualMachineInstancetype',
    plural: 'virtualmachineinstancetypes',
    shortNames: ['vminstancetype', 'vminstancetypes', 'vmf', 'vmfs'],
  },
  {
    ...CLUSTER,
    ...TYPES,
    kind: 'VirtualMachineClusterInstancetype',
    plural: 'virtualmachineclusterinstancetypes',
    shortNames: ['vmclusterinstancetype', 'vmclusterinstancetypes', 'vmcf', 'vmcfs'],
  },
  {
    ...NAMESPACED,
    ...TYPES,
    kind: 'VirtualMachinePreference',
    plural: 'virtualmachinepreferences',
    shortNames: ['vmpref', 'vmprefs', 'vmp', 'vmps'],
  },
  {
    ...CLUSTER,
    ...TYPES,
    kind: 'VirtualMachineClusterPreference',
    plural: 'virtualmachineclusterpreferences',
    shortNames: ['vmcp', 'vmcps'],
  },
];

const POLICIES_AND_PLUGINS: readonly KindRow[] = [
  {
    ...CLUSTER,
    kind: 'MigrationPolicy',
    group: 'migrations.kubevirt.io',
    plural: 'migrationpolicies',
    shortNames: [],
    versions: ALPHA,
    subresources: STATUS,
    columns: [],
  },
  {
    ...CLUSTER,
    kind: 'Plugin',
    listKind: 'PluginList',
    group: 'plugin.kubevirt.io',
    plural: 'plugins',
    shortNames: [],
    versions: ALPHA,
    subresources: NO_SUBRESOURCES,
    columns: [],
  },
];

const BACKUPS: readonly KindRow[] = [
  {
    ...BACKUP,
    kind: 'VirtualMachineBackup',
    plural: 'virtualmachinebackups',
    shortNames: ['vmbackup', 'vmbackups'],
    columns: [...SOURCE, text('Type', '.status.type'), text('CheckpointName', '.status.checkpointName')],
  },
  {
    ...BACKUP,
    kind: 'VirtualMachineBackupTracker',
    plural: 'virtualmachinebackuptrackers',
    shortNames: ['vmbackuptracker', 'vmbackuptrackers'],
    columns: [
      ...SOURCE,
      text('LatestCheckpoint', '.status.latestCheckpoint.name'),
      { name: 'CheckpointTime', type: 'date', jsonPath: '.status.latestCheckpoint.creationTime' },
    ],
  },
];

export const SATELLITE_KINDS: readonly KindRow[] = [
  ...POOLS,
  ...SNAPSHOTS,
  ...EXPORTS_AND_CLONES,
  ...INSTANCE_TYPES,
  ...POLICIES_AND_PLUGINS,
  ...BACKUPS,
];
