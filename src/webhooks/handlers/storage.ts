// The handlers of what is done with a VM's disks as a whole: snapshots, restores, exports, backups and clones.
import type {
  KubeObject,
  VirtualMachineBackup,
  VirtualMachineClone,
  VirtualMachineExport,
  VirtualMachineRestore,
  VirtualMachineSnapshot,
} from '../../api/index.js';
import { VIRTUAL_MACHINES } from '../../runtime/resources.js';
import { mutateClone } from '../mutate/clone.js';
import { BACKUPS, foundIn, listed, RESTORES, SNAPSHOT_CONTENTS, SNAPSHOTS } from '../related.js';
import { type AdmissionRequest, mutationResponse, responseOf } from '../review.js';
import { admitCloneCreate, admitCloneUpdate } from '../validate/clone/admit.js';
import { admitBackupCreate, admitBackupTrackerCreate } from '../validate/storage/backup.js';
import { admitExportCreate, admitExportUpdate } from '../validate/storage/export.js';
import { admitRestoreCreate, admitRestoreUpdate, type RestoreRequest } from '../validate/storage/restore.js';
import { admitSnapshotCreate, admitSnapshotUpdate } from '../validate/storage/snapshot.js';
import { allow, type Verdict } from '../verdict.js';
import { type Admitter, about, type Context, type Kind, namespaceOf, oldOf } from './context.js';

const kind = (group: string, versions: readonly string[], resource: string, name: string): Kind => ({
  group,
  versions,
  resource,
  kind: name,
});
const BETA = ['v1alpha1', 'v1beta1'];
const SNAPSHOT = kind('snapshot.kubevirt.io', BETA, 'virtualmachinesnapshots', 'VirtualMachineSnapshot');
const RESTORE = kind('snapshot.kubevirt.io', BETA, 'virtualmachinerestores', 'VirtualMachineRestore');
const EXPORT = kind('export.kubevirt.io', ['v1beta1', 'v1'], 'virtualmachineexports', 'VirtualMachineExport');
const BACKUP = kind('backup.kubevirt.io', ['v1alpha1'], 'virtualmachinebackups', 'VirtualMachineBackup');
const TRACKER = kind('backup.kubevirt.io', ['v1alpha1'], 'virtualmachinebackuptrackers', 'VirtualMachineBackupTracker');
const CLONE = kind('clone.kubevirt.io', BETA, 'virtualmachineclones', 'VirtualMachineClone');
const SUFFIX_LENGTH = 5;

interface Rules<T extends KubeObject> {
  create(object: T, request: AdmissionRequest, context: Context): Verdict | Promise<Verdict>;
  update(next: T, old: T): Verdict;
}

const requests = <T extends KubeObject>(of: Kind, rules: Rules<T>): Admitter =>
  about(of, async (object, request, context) => {
    const old = oldOf<T>(request);
    return responseOf(old ? rules.update(object as T, old) : await rules.create(object as T, request, context));
  });

async function restoreRequest(restore: VirtualMachineRestore, namespace: string, { client }: Context): Promise<RestoreRequest> {
  const [snapshot, target, others] = await Promise.all([
    foundIn(client, SNAPSHOTS, namespace, restore.spec.virtualMachineSnapshotName),
    foundIn(client, VIRTUAL_MACHINES, namespace, restore.spec.target?.name),
    listed(client, RESTORES, { namespace }),
  ]);
  const content = await foundIn(client, SNAPSHOT_CONTENTS, namespace, snapshot?.status?.virtualMachineSnapshotContentName);
  return { restore, ...(snapshot ? { snapshot } : {}), ...(target ? { target } : {}), ...(content ? { content } : {}), others };
}

const mutateCloneCreate = about(CLONE, (object, request, { randomUuid }) =>
  mutationResponse(mutateClone(object as VirtualMachineClone, randomUuid().slice(0, SUFFIX_LENGTH)), request.object ?? object),
);

export const STORAGE: Readonly<Record<string, Admitter>> = {
  '/virtualmachinesnapshots-validate': requests<VirtualMachineSnapshot>(SNAPSHOT, {
    create: (snapshot, _request, { config }) => admitSnapshotCreate(snapshot, config()),
    update: admitSnapshotUpdate,
  }),
  '/virtualmachinerestores-validate': requests<VirtualMachineRestore>(RESTORE, {
    create: async (restore, request, context) =>
      admitRestoreCreate(await restoreRequest(restore, namespaceOf(restore, request), context), context.config()),
    update: admitRestoreUpdate,
  }),
  '/virtualmachineexports-validate': requests<VirtualMachineExport>(EXPORT, {
    create: (object, _request, { config }) => admitExportCreate(object, config()),
    update: admitExportUpdate,
  }),
  '/virtualmachinebackups-validate': requests<VirtualMachineBackup>(BACKUP, {
    create: async (backup, request, { client, config }) =>
      admitBackupCreate(backup, await listed(client, BACKUPS, { namespace: namespaceOf(backup, request) }), config()),
    update: () => allow(),
  }),
  '/virtualmachinebackuptrackers-validate': requests(TRACKER, {
    create: (_tracker, _request, { config }) => admitBackupTrackerCreate(config()),
    update: () => allow(),
  }),
  '/vm-clone-validate-create': requests<VirtualMachineClone>(CLONE, {
    create: (clone, _request, { config }) => admitCloneCreate(clone, config()),
    update: admitCloneUpdate,
  }),
  '/vm-clone-mutate-create': mutateCloneCreate,
};
