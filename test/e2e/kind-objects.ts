// The smallest useful object of every kind, in a namespace where the others are that it refers to. Nothing of it runs a guest.
import { NAMESPACE } from './harness.js';

const NAME = 'kinds';
/** Of no machine: the stopped one of the other name would end it. */
const INSTANCE = 'kinds-alone';
const VM = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: NAME };
const LABELS = { kinds: 'yes' };
/** No node has it: an instance stays where it is. */
const NOWHERE = { 'kinds.kubevirt-ts.test/none': 'yes' };

const instance = { nodeSelector: NOWHERE, domain: { memory: { guest: '64Mi' }, devices: {} } };
const machine = { runStrategy: 'Halted', template: { metadata: { labels: LABELS }, spec: instance } };

/** Kinds whose objects stand in no namespace. */
const CLUSTER_WIDE = new Set(['VirtualMachineClusterInstancetype', 'VirtualMachineClusterPreference', 'MigrationPolicy', 'Plugin']);

export interface KindObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: Record<string, unknown>;
}

const object = (apiVersion: string, kind: string, spec: Record<string, unknown>, name = NAME): KindObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(CLUSTER_WIDE.has(kind) ? {} : { namespace: NAMESPACE }) },
  spec,
});

const type = { cpu: { guest: 1 }, memory: { guest: '64Mi' } };
const preference = { machine: { preferredMachineType: 'q35' } };

/** In an order in which each finds what it refers to. The installation's own kind is left out: there is one already. */
export const KIND_OBJECTS: readonly KindObject[] = [
  object('kubevirt.io/v1', 'VirtualMachine', machine),
  object('kubevirt.io/v1', 'VirtualMachineInstance', instance, INSTANCE),
  object('kubevirt.io/v1', 'VirtualMachineInstanceReplicaSet', {
    replicas: 0,
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: instance },
  }),
  object('kubevirt.io/v1', 'VirtualMachineInstancePreset', { selector: { matchLabels: { presets: 'none' } }, domain: { devices: {} } }),
  object('kubevirt.io/v1', 'VirtualMachineInstanceMigration', { vmiName: INSTANCE }),
  object('pool.kubevirt.io/v1beta1', 'VirtualMachinePool', {
    replicas: 0,
    selector: { matchLabels: LABELS },
    virtualMachineTemplate: { metadata: { labels: LABELS }, spec: machine },
  }),
  object('snapshot.kubevirt.io/v1beta1', 'VirtualMachineSnapshot', { source: VM }),
  object('snapshot.kubevirt.io/v1beta1', 'VirtualMachineSnapshotContent', { source: {}, virtualMachineSnapshotName: 'none' }),
  object('snapshot.kubevirt.io/v1beta1', 'VirtualMachineRestore', { target: VM, virtualMachineSnapshotName: NAME }),
  object('export.kubevirt.io/v1', 'VirtualMachineExport', { source: { apiGroup: '', kind: 'PersistentVolumeClaim', name: 'none' } }),
  object('clone.kubevirt.io/v1beta1', 'VirtualMachineClone', { source: VM, target: { ...VM, name: 'cloned' } }),
  object('instancetype.kubevirt.io/v1beta1', 'VirtualMachineInstancetype', type),
  object('instancetype.kubevirt.io/v1beta1', 'VirtualMachineClusterInstancetype', type),
  object('instancetype.kubevirt.io/v1beta1', 'VirtualMachinePreference', preference),
  object('instancetype.kubevirt.io/v1beta1', 'VirtualMachineClusterPreference', preference),
  object('migrations.kubevirt.io/v1alpha1', 'MigrationPolicy', { selectors: { virtualMachineInstanceSelector: { policies: 'none' } } }),
  object('backup.kubevirt.io/v1alpha1', 'VirtualMachineBackupTracker', { source: VM }),
  object('backup.kubevirt.io/v1alpha1', 'VirtualMachineBackup', { source: VM, pvcName: 'none' }),
  object('plugin.kubevirt.io/v1alpha1', 'Plugin', { condition: 'false' }),
];
