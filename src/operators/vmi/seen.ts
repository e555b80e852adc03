// One snapshot of everything the VMI controller's decisions read.

import { isFinalPhase, type PersistentVolumeClaim, type Pod, type VirtualMachineInstance, type VmiPhase } from '../../api/index.js';
import type { DataVolume } from '../data-volumes.js';

export interface Seen {
  readonly vmi: VirtualMachineInstance;
  /** Launcher pods that the VMI controls, and pods like them that only make claims be bound. */
  readonly pods: readonly Pod[];
  /** Attachment and trigger pods that work for the VMI, also those of an earlier launcher. */
  readonly attachments: readonly Pod[];
  /** The pod that carries the guest. */
  readonly pod: Pod | undefined;
  /** Claims by name, in the VMI's namespace. */
  readonly pvcs: ReadonlyMap<string, PersistentVolumeClaim>;
  /** Claim that keeps firmware variables and TPM across restarts, where the VMI needs one and it is there. */
  readonly stateClaim?: PersistentVolumeClaim | undefined;
  /** Those that exist of the ones that hooks of the VMI name, with their keys; looked up when its pod is made. */
  readonly configMaps?: ReadonlyMap<string, ReadonlySet<string>>;
  /** VSOCK addresses of the other VMIs; for one that needs an address only. */
  readonly takenCids?: ReadonlySet<number>;
  /** CDI's DataVolumes by name, in the VMI's namespace. */
  readonly dataVolumes: ReadonlyMap<string, DataVolume>;
  /** Storage classes that bind a claim only when a pod asks for it. */
  readonly lateClasses: ReadonlySet<string>;
  /** A VM controls the VMI and still exists. */
  readonly hasOwner: boolean;
  /** Our own writes have come back through the watch. */
  readonly settled: boolean;
  readonly launcherImage: string;
}

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

export const phaseOf = (vmi: VirtualMachineInstance): VmiPhase => (vmi.status?.phase ?? '') as VmiPhase;

export const isFinal = (vmi: VirtualMachineInstance): boolean => isFinalPhase(phaseOf(vmi));

/** From Scheduled on the node agent owns the object: the controller only patches. */
export const isHandedOver = (vmi: VirtualMachineInstance): boolean => phaseOf(vmi) === 'Scheduled' || phaseOf(vmi) === 'Running';
