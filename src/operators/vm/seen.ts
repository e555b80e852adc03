// One snapshot of everything the VM controller's decisions read, and what each of them asks of it first. Pure.
import {
  type ControllerRevision,
  controllerOf,
  type PersistentVolumeClaim,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';
import type { Chosen } from '../../core/instancetype/index.js';
import type { DataVolume } from '../data-volumes.js';

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

export interface Seen {
  readonly vm: VirtualMachine;
  /** The instance of the same name, whoever owns it. */
  readonly vmi: VirtualMachineInstance | undefined;
  /** Start revisions of this VM. */
  readonly revisions: readonly ControllerRevision[];
  /** Of the templates and of the guest's volumes, by name. */
  readonly dataVolumes: ReadonlyMap<string, DataVolume>;
  /** Names of the templates whose claims exist. */
  readonly templateClaims: ReadonlySet<string>;
  /** The cluster serves DataVolumes. */
  readonly hasCdi: boolean;
  /** The claim of the VM's memory dump, while it has one. */
  readonly dumpClaim?: PersistentVolumeClaim;
  readonly config: ClusterConfig;
  /** Our own writes have come back through the watch. */
  readonly settled: boolean;
  /** The instance type and preference that the VM starts with. */
  readonly chosen?: Chosen;
  /** Why there are none although the VM refers to them: it must not start without. */
  readonly unfound?: Failure;
}

/** The VM's own instance; undefined when it belongs to somebody else. */
export function ownVmi({ vm, vmi }: Pick<Seen, 'vm' | 'vmi'>): VirtualMachineInstance | undefined {
  if (!vmi) return undefined;
  const owner = controllerOf(vmi);
  return owner === undefined || owner.uid === vm.metadata.uid ? vmi : undefined;
}

export const revisionOf = ({ vmi, revisions }: Seen): ControllerRevision | undefined =>
  revisions.find((r) => r.metadata.name === vmi?.status?.virtualMachineRevisionName);
