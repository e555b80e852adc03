// The objects around the one that is being admitted: migrations of a VMI, pods, snapshots, restores, backups. Each is read when a decision
// needs it; kinds whose CRDs are not installed count as having no objects. Writes nothing.
import type {
  KubeObject,
  VirtualMachineBackup,
  VirtualMachineInstanceMigration,
  VirtualMachineRestore,
  VirtualMachineSnapshot,
} from '../api/index.js';
import { hasCode } from '../base/errors.js';
import type { KubeClient, ListOptions, Resource } from '../runtime/types.js';

import type { VirtualMachineSnapshotContent } from './validate/storage/restore.js';

const namespaced = <T extends KubeObject>(group: string, version: string, plural: string, kind: string): Resource<T> => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});
const SNAPSHOT = ['snapshot.kubevirt.io', 'v1beta1'] as const;

export const MIGRATION_OBJECTS = namespaced<VirtualMachineInstanceMigration>(
  'kubevirt.io',
  'v1',
  'virtualmachineinstancemigrations',
  'VirtualMachineInstanceMigration',
);
export const SNAPSHOTS = namespaced<VirtualMachineSnapshot>(...SNAPSHOT, 'virtualmachinesnapshots', 'VirtualMachineSnapshot');
export const SNAPSHOT_CONTENTS = namespaced<VirtualMachineSnapshotContent>(
  ...SNAPSHOT,
  'virtualmachinesnapshotcontents',
  'VirtualMachineSnapshotContent',
);
export const RESTORES = namespaced<VirtualMachineRestore>(...SNAPSHOT, 'virtualmachinerestores', 'VirtualMachineRestore');
export const BACKUPS = namespaced<VirtualMachineBackup>('backup.kubevirt.io', 'v1alpha1', 'virtualmachinebackups', 'VirtualMachineBackup');

export async function listed<T extends KubeObject>(client: KubeClient, resource: Resource<T>, options: ListOptions): Promise<readonly T[]> {
  try {
    return (await client.list(resource, options)).items;
  } catch (err) {
    if (hasCode(err, 'NotFound')) return [];
    throw err;
  }
}

export const foundIn = async <T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  namespace: string,
  name: string | undefined,
): Promise<T | undefined> => (name ? await client.find(resource, `${namespace}/${name}`) : undefined);
