// What is fuzzed: every path of virt-api's and virt-operator's webhooks with the kind that it is about, and sound objects to begin with.
import { schemaOf } from '../../src/api/schema/crds.js';
import { valueFrom } from './from-schema.js';
import type { Random } from './random.js';

export interface Target {
  readonly path: string;
  readonly kind: string;
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}

const BOTH = ['CREATE', 'UPDATE'] as const;

const of =
  (group: string, version: string) =>
  (kind: string, path: string, operations: Target['operations'] = BOTH): Target => ({
    path,
    kind,
    resource: { group, version, resource: kind === 'Pod' ? 'pods' : `${kind.toLowerCase()}s` },
    operations,
  });

const core = of('kubevirt.io', 'v1');
const instancetype = of('instancetype.kubevirt.io', 'v1beta1');
const snapshot = of('snapshot.kubevirt.io', 'v1beta1');
const backup = of('backup.kubevirt.io', 'v1alpha1');

export const TARGETS: readonly Target[] = [
  core('VirtualMachine', '/virtualmachines-mutate'),
  core('VirtualMachine', '/virtualmachines-validate'),
  core('VirtualMachine', '/status-validate'),
  core('VirtualMachineInstance', '/virtualmachineinstances-mutate'),
  core('VirtualMachineInstance', '/virtualmachineinstances-validate-create', ['CREATE']),
  core('VirtualMachineInstance', '/virtualmachineinstances-validate-update', BOTH),
  core('VirtualMachineInstanceReplicaSet', '/virtualmachinereplicaset-validate'),
  core('VirtualMachineInstanceReplicaSet', '/status-validate'),
  core('VirtualMachineInstancePreset', '/vmipreset-validate'),
  core('VirtualMachineInstanceMigration', '/migration-mutate-create', ['CREATE']),
  core('VirtualMachineInstanceMigration', '/migration-validate-create', ['CREATE']),
  core('VirtualMachineInstanceMigration', '/migration-validate-update', BOTH),
  core('KubeVirt', '/kubevirt-validate-create', ['CREATE']),
  core('KubeVirt', '/kubevirt-validate-update', BOTH),
  core('KubeVirt', '/kubevirt-validate-delete', ['DELETE']),
  of('pool.kubevirt.io', 'v1beta1')('VirtualMachinePool', '/virtualmachinepool-validate'),
  instancetype('VirtualMachineInstancetype', '/virtualmachineinstancetypes-validate'),
  instancetype('VirtualMachineClusterInstancetype', '/virtualmachineclusterinstancetypes-validate'),
  instancetype('VirtualMachinePreference', '/virtualmachinepreferences-validate'),
  instancetype('VirtualMachineClusterPreference', '/virtualmachineclusterpreferences-validate'),
  snapshot('VirtualMachineSnapshot', '/virtualmachinesnapshots-validate'),
  snapshot('VirtualMachineRestore', '/virtualmachinerestores-validate'),
  of('export.kubevirt.io', 'v1')('VirtualMachineExport', '/virtualmachineexports-validate'),
  backup('VirtualMachineBackup', '/virtualmachinebackups-validate'),
  backup('VirtualMachineBackupTracker', '/virtualmachinebackuptrackers-validate'),
  of('clone.kubevirt.io', 'v1beta1')('VirtualMachineClone', '/vm-clone-mutate-create', ['CREATE']),
  of('clone.kubevirt.io', 'v1beta1')('VirtualMachineClone', '/vm-clone-validate-create'),
  {
    ...of('migrations.kubevirt.io', 'v1alpha1')('MigrationPolicy', '/migration-policy-validate-create'),
    resource: { group: 'migrations.kubevirt.io', version: 'v1alpha1', resource: 'migrationpolicies' },
  },
  of('plugin.kubevirt.io', 'v1alpha1')('Plugin', '/plugin-validate'),
  of('', 'v1')('Pod', '/virt-launcher-pod-mutate', ['CREATE']),
  of('', 'v1')('Pod', '/pod-eviction-validate', ['CREATE']),
];

export const guestSpec = (): object => ({
  architecture: 'amd64',
  domain: {
    cpu: { cores: 2 },
    devices: {
      disks: [{ name: 'root', disk: { bus: 'virtio' }, bootOrder: 1 }],
      filesystems: [{ name: 'shared', virtiofs: {} }],
      interfaces: [{ name: 'default', masquerade: {}, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
    },
    features: { hyperv: { synic: { enabled: true }, vpindex: { enabled: true } } },
    machine: { type: 'q35' },
    memory: { guest: '1Gi', maxGuest: '4Gi' },
    resources: { requests: { memory: '1Gi', cpu: '500m' }, limits: { cpu: 2 } },
  },
  networks: [{ name: 'default', pod: {} }],
  tolerations: [{ key: 'a', operator: 'Exists' }],
  volumes: [
    { name: 'root', containerDisk: { image: 'registry.example/disk:v1' } },
    { name: 'shared', containerPath: { path: '/data', readOnly: true } },
  ],
});

const vmSpec = (): object => ({
  runStrategy: 'Always',
  instancetype: { name: 'small' },
  preference: { name: 'linux' },
  dataVolumeTemplates: [
    { metadata: { name: 'dv' }, spec: { storage: { resources: { requests: { storage: '1Gi' } } }, source: { blank: {} } } },
  ],
  template: { metadata: { labels: { app: 'a' } }, spec: guestSpec() },
});

const reference = (kind: string, apiGroup: string): object => ({ apiGroup, kind, name: 'web' });
const vm = (): object => reference('VirtualMachine', 'kubevirt.io');
const selector = (): object => ({ matchLabels: { app: 'a' }, matchExpressions: [{ key: 'app', operator: 'In', values: ['a'] }] });

const SPECS: Readonly<Record<string, () => object>> = {
  VirtualMachine: vmSpec,
  VirtualMachineInstance: guestSpec,
  VirtualMachineInstanceReplicaSet: () => ({
    replicas: 1,
    selector: selector(),
    template: { metadata: { labels: { app: 'a' } }, spec: guestSpec() },
  }),
  VirtualMachineInstancePreset: () => ({ selector: selector(), domain: { devices: { disks: [{ name: 'root', disk: {} }] } } }),
  VirtualMachineInstanceMigration: () => ({ vmiName: 'web', sendTo: { migrationID: 'a', connectURL: 'b' }, receive: { migrationID: 'a' } }),
  VirtualMachinePool: () => ({
    selector: selector(),
    maxUnavailable: '50%',
    virtualMachineTemplate: { metadata: { labels: { app: 'a' } }, spec: vmSpec() },
  }),
  VirtualMachineRestore: () => ({
    target: vm(),
    virtualMachineSnapshotName: 'snap',
    patches: ['{"op":"replace","path":"/spec/running","value":true}'],
  }),
  VirtualMachineSnapshot: () => ({ source: vm() }),
  VirtualMachineExport: () => ({ source: vm() }),
  VirtualMachineBackup: () => ({ source: vm() }),
  VirtualMachineClone: () => ({
    source: vm(),
    target: { ...vm(), name: 'copy' },
    newMacAddresses: { default: '02:00:00:00:00:01' },
    labelFilters: ['a*', '!b'],
  }),
  MigrationPolicy: () => ({ selectors: {}, bandwidthPerMigration: '1Gi', experimental: { stallDetector: { ewmaAlpha: '0.5' } } }),
  Plugin: () => ({ condition: 'vmi.Name == "a"', nodeHooks: [{ condition: 'vmi.spec.domain.cpu.cores > 1', socket: '/a' }] }),
  KubeVirt: () => ({
    configuration: {
      developerConfiguration: { featureGates: ['Snapshot'] },
      additionalGuestMemoryOverheadRatio: '1.2',
      tlsConfiguration: { ciphers: ['a'], minTLSVersion: 'VersionTLS12' },
    },
    certificateRotateStrategy: { selfSigned: { ca: { duration: '48h', renewBefore: '12h' } } },
    infra: { replicas: 2, nodePlacement: { nodeSelector: { a: 'b' } } },
  }),
};

const pod = (): object => ({
  metadata: {
    name: 'virt-launcher-web',
    namespace: 'shop',
    labels: { 'kubevirt.io': 'virt-launcher' },
    annotations: { 'kubevirt.io/domain': 'web' },
    ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: 'web', uid: 'u' }],
  },
  spec: {
    nodeName: 'node01',
    containers: [{ name: 'compute', image: 'i', volumeMounts: [{ name: 'd', mountPath: '/data' }] }],
    volumes: [{ name: 'd', emptyDir: {} }],
  },
  deleteOptions: { dryRun: ['All'] },
});

const STATUS: Readonly<Record<string, () => object>> = {
  VirtualMachine: () => ({
    ready: true,
    snapshotInProgress: 'snap',
    volumeRequests: [
      { addVolumeOptions: { name: 'extra', disk: { disk: { bus: 'scsi' } }, volumeSource: { persistentVolumeClaim: { claimName: 'c' } } } },
    ],
  }),
  VirtualMachineInstance: () => ({
    nodeName: 'node01',
    phase: 'Running',
    volumeStatus: [{ name: 'root', target: 'vda' }],
    migrationState: { targetNode: 'node02' },
  }),
};

/** A sound object of the kind: written by hand, or as its schema describes it. */
export function seedOf(kind: string, random: Random): object {
  if (kind === 'Pod') return pod();
  const schema = schemaOf(kind).properties?.spec;
  const byHand = SPECS[kind];
  const spec = byHand && random.chance(0.5) ? byHand() : schema ? valueFrom('spec', schema, random) : {};
  const status = STATUS[kind];
  return {
    kind,
    metadata: { name: 'web', namespace: 'shop', labels: { app: 'a' } },
    spec,
    ...(status && random.chance(0.5) ? { status: status() } : {}),
  };
}
