// The claim that keeps what a VM's emulated hardware remembers across restarts: UEFI variables, TPM, changed blocks. Which claim that is, how it is
// made, and whether a pod can mount it. Pure; the reconciler creates it, the VM's end removes it through its owner.
import { createHash } from 'node:crypto';
import { isDeleting, LABEL, type PersistentVolumeClaim, type StorageClass, type VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import { controllerReference, tracksBlocks } from '../pod-template/index.js';
import { isClaimBound, isLate } from './attachments.js';
import type { Seen } from './seen.js';
import { text } from './text.js';

const DEFAULT_CLASS = ['storageclass.kubevirt.io/is-default-virt-class', 'storageclass.kubernetes.io/is-default-class'] as const;
/** Variables and a TPM fit into 10 MiB; bitmaps of changed blocks need more. */
const SIZE = { plain: '10Mi', withBlockTracking: '522Mi' } as const;

type Owners = NonNullable<VirtualMachineInstance['metadata']['ownerReferences']>;

/** The VM that outlives its VMIs; a VMI without one keeps its state only for itself. */
const ownersOf = (vmi: VirtualMachineInstance): Owners =>
  vmi.metadata.ownerReferences?.length ? vmi.metadata.ownerReferences : [controllerReference(vmi)];

/** The VMI's claim among those labelled with its name. One of an earlier VM of that name is not. */
export function stateClaimOf(vmi: VirtualMachineInstance, labelled: readonly PersistentVolumeClaim[]): PersistentVolumeClaim | undefined {
  const owners = new Set(ownersOf(vmi).map(({ uid }) => uid));
  const isOwn = ({ metadata }: PersistentVolumeClaim): boolean => (metadata.ownerReferences ?? []).every(({ uid }) => owners.has(uid));
  return labelled.find((claim) => !isDeleting(claim) && isOwn(claim));
}

function defaultClass(classes: readonly StorageClass[]): string | undefined {
  const newestFirst = [...classes].sort((a, b) => (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''));
  for (const mark of DEFAULT_CLASS) {
    const found = newestFirst.find(({ metadata }) => metadata.annotations?.[mark] === 'true');
    if (found?.metadata.name) return found.metadata.name;
  }
  return undefined;
}

/** Named after the VM, so that however often it is created there is one. */
export function renderStateClaim(
  vmi: VirtualMachineInstance,
  config: ClusterConfig,
  classes: readonly StorageClass[],
): PersistentVolumeClaim {
  const { name = '', namespace = '' } = vmi.metadata;
  const ownerReferences = ownersOf(vmi);
  const suffix = createHash('sha256')
    .update(ownerReferences[0]?.uid ?? '')
    .digest('hex')
    .slice(0, 5);
  const configured = config.spec.vmStateStorageClass;
  const storageClassName = configured || defaultClass(classes);
  if (storageClassName === undefined) throw new KvError('Invalid', text.noStateClass(`${namespace}/${name}`));
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: `${LABEL.stateOf}-${name}-${suffix}`, namespace, labels: { [LABEL.stateOf]: name }, ownerReferences },
    spec: {
      // A class chosen for this is chosen such that guests can move.
      accessModes: [configured ? 'ReadWriteMany' : 'ReadWriteOnce'],
      resources: { requests: { storage: tracksBlocks(vmi) ? SIZE.withBlockTracking : SIZE.plain } },
      storageClassName,
      volumeMode: 'Filesystem',
    },
  };
}

/** A pod may be made for it: it is bound, or will be by that pod. */
export const isStateClaimUsable = (seen: Pick<Seen, 'lateClasses'>, claim: PersistentVolumeClaim): boolean =>
  isClaimBound(claim) || isLate(seen, claim);
