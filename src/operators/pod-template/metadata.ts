// Name, labels, annotations and owner of a launcher pod. Other controllers, the node agent, backup tools and meshes find the pod by them.
import { createHash } from 'node:crypto';
import type { ObjectMeta, OwnerReference, VirtualMachineInstance } from '../../api/index.js';
import { ANNOTATION, API_VERSION, LABEL, LAUNCHER_POD } from '../../api/labels.js';
import type { Amount } from '../../api/quantity.js';
import { amountValue } from '../../api/quantity.js';
import { guestHostname } from '../../core/network/hostname.js';
import type { PodContext } from './context.js';
import { networkAnnotations } from './networks.js';
import { reservationLabels } from './reservations.js';

const ISTIO_INJECT = 'sidecar.istio.io/inject';
const SKIP_BACKUP_HOOKS = 'kubevirt.io/skip-backup-hooks';
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';
const EVICT_ONLY = 'descheduler.alpha.kubernetes.io/request-evict-only';
const LONGEST_LABEL = 63;
const CUT_LABEL = 54;
const HASH_LENGTH = 8;

/** Bookkeeping of kubectl and of API versions says nothing about the pod. */
const isCopied = (key: string): boolean =>
  !key.startsWith('kubectl.kubernetes.io') && key !== ANNOTATION.storageObservedApiVersion && key !== ANNOTATION.latestObservedApiVersion;

/** A VMI's name as a label value. */
function vmiId(name: string): string {
  if (name.length <= LONGEST_LABEL) return name;
  return `${name.slice(0, CUT_LABEL)}-${createHash('sha1').update(name).digest('hex').slice(0, HASH_LENGTH)}`;
}

export const controllerReference = (vmi: VirtualMachineInstance): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: 'VirtualMachineInstance',
  name: vmi.metadata.name ?? '',
  uid: vmi.metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

export const hasIstio = (vmi: VirtualMachineInstance): boolean => vmi.metadata.annotations?.[ISTIO_INJECT]?.toLowerCase() === 'true';

function labels(vmi: VirtualMachineInstance, ctx: PodContext): Record<string, string> {
  const inject = vmi.metadata.annotations?.[ISTIO_INJECT];
  return {
    ...vmi.metadata.labels,
    [LABEL.app]: LAUNCHER_POD,
    [LABEL.createdBy]: vmi.metadata.uid ?? '',
    [LABEL.vmName]: guestHostname(vmi),
    [LABEL.vmiId]: vmiId(vmi.metadata.name ?? ''),
    ...(inject === undefined ? {} : { [ISTIO_INJECT]: inject }),
    ...reservationLabels(vmi, ctx),
  };
}

/** The guest's file systems are frozen while a backup tool takes its snapshot. */
function backupHooks(vmi: VirtualMachineInstance, ctx: PodContext): Record<string, string> {
  if (ctx.skipBackupHooks || vmi.metadata.annotations?.[SKIP_BACKUP_HOOKS] === 'true') return {};
  const command = (verb: string): string =>
    `["/usr/bin/virt-freezer", "--${verb}", "--name", "${vmi.metadata.name}", "--namespace", "${vmi.metadata.namespace}"]`;
  return {
    'pre.hook.backup.velero.io/container': 'compute',
    'pre.hook.backup.velero.io/command': command('freeze'),
    'pre.hook.backup.velero.io/timeout': '60s',
    'post.hook.backup.velero.io/container': 'compute',
    'post.hook.backup.velero.io/command': command('unfreeze'),
  };
}

function annotations(vmi: VirtualMachineInstance, ctx: PodContext, overhead: Amount): Record<string, string> {
  return {
    [ANNOTATION.domain]: vmi.metadata.name ?? '',
    ...Object.fromEntries(Object.entries(vmi.metadata.annotations ?? {}).filter(([key]) => isCopied(key))),
    [DEFAULT_CONTAINER]: 'compute',
    [ANNOTATION.migrationTransportUnix]: 'true',
    [EVICT_ONLY]: '',
    [ANNOTATION.memoryOverheadBytes]: amountValue(overhead).toString(),
    ...backupHooks(vmi, ctx),
    ...networkAnnotations(vmi, ctx),
  };
}

export function launcherMetadata(vmi: VirtualMachineInstance, ctx: PodContext, overhead: Amount): ObjectMeta {
  return {
    generateName: `virt-launcher-${vmi.metadata.name}-`,
    ...(vmi.metadata.namespace === undefined ? {} : { namespace: vmi.metadata.namespace }),
    labels: labels(vmi, ctx),
    annotations: annotations(vmi, ctx, overhead),
    ownerReferences: [controllerReference(vmi)],
  };
}
