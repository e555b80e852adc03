// SCSI persistent reservations: two guests that reserve the same LUN must not share a node, because a reservation counts for the node's
// whole initiator. Pods carry a label for each claim they reserve and keep away from pods with the same one.
import type { VirtualMachineInstance } from '../../api/index.js';
import type { PodContext } from './context.js';

const LABEL_PREFIX = 'pr.kubevirt.io/';
const HOSTNAME = 'kubernetes.io/hostname';

/** Labels by uid of the claims behind reserved LUNs; claims that do not exist are left to the volumes to refuse. */
export function reservationLabels({ spec }: VirtualMachineInstance, { pvcs }: PodContext): Record<string, string> {
  const reserved = (spec.domain.devices.disks ?? []).filter(({ lun }) => lun?.reservation === true).map(({ name }) => name);
  const claims = (spec.volumes ?? [])
    .filter(({ name }) => reserved.includes(name))
    .flatMap(({ persistentVolumeClaim, dataVolume }) => pvcs.get(persistentVolumeClaim?.claimName ?? dataVolume?.name ?? '') ?? []);
  return Object.fromEntries(claims.map(({ metadata }) => [`${LABEL_PREFIX}${metadata.uid ?? ''}`, '']));
}

export const reservationTerms = (labels: Readonly<Record<string, string>>) =>
  Object.keys(labels).map((key) => ({
    labelSelector: { matchExpressions: [{ key, operator: 'Exists' }] },
    topologyKey: HOSTNAME,
  }));
