// The VSOCK address of a VMI: given once, at the hand-over to its node, and its own in the whole cluster, so that it can keep it wherever it moves.
// Follows from the VMI, so that a repeated decision gives the same. Pure.
import { createHash } from 'node:crypto';
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { freeCid } from '../../core/devices/vsock.js';

export const wantsCid = ({ spec, status }: VirtualMachineInstance): boolean =>
  spec.domain.devices.autoattachVSOCK === true && status?.VSOCKCID === undefined;

export function takenCids(vmi: VirtualMachineInstance, all: readonly VirtualMachineInstance[]): Set<number> {
  const others = all.filter(({ metadata }) => metadata.uid !== vmi.metadata.uid);
  return new Set(others.flatMap(({ status }) => status?.VSOCKCID ?? []));
}

export function vsockCidOf({ metadata }: VirtualMachineInstance, taken: ReadonlySet<number>): number {
  const start = createHash('sha256')
    .update(metadata.uid ?? '')
    .digest()
    .readUInt32BE(0);
  const cid = freeCid(start, taken);
  if (cid === undefined) throw new KvError('Unavailable', 'every VSOCK address of the cluster is in use');
  return cid;
}
