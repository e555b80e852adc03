// Everything that decides a pod's shape besides the VMI: configuration and what was looked up in the cluster, as plain data. Gathered by
// the VMI and migration controllers from their stores; the renderers never look anything up themselves.
import type { DeepReadonly, PersistentVolumeClaim } from '../../api/index.js';
import type { ClusterConfig } from '../../core/config/cluster-config.js';

export interface PodContext {
  readonly config: ClusterConfig;
  readonly launcherImage: string;
  /** Container disks as image volumes; else held open by side containers. Only where API server and runtime serve them. */
  readonly imageVolumes: boolean;
  /** How long the launcher waits for its domain; the caller adds the jitter that spreads time-outs. */
  readonly qemuTimeoutSeconds: number;
  /** Claims in the VMI's namespace, by name. */
  readonly pvcs: ReadonlyMap<string, DeepReadonly<PersistentVolumeClaim>>;
  /** Labels of the VMI's namespace. */
  readonly namespaceLabels?: Readonly<Record<string, string>>;
  /** Resources that any quota of the namespace puts a hard bound on (limits.cpu, limits.memory, …). */
  readonly quotaResources?: ReadonlySet<string>;
  /** Extended resource of a network attachment, by `namespace/name`; attachments without one are left out. */
  readonly networkResources?: ReadonlyMap<string, string>;
  /** Config maps of the namespace that hook sidecars name and that exist. */
  readonly configMaps?: ReadonlyMap<string, ReadonlySet<string>>;
  /** Claim that keeps TPM, UEFI variables and changed blocks across restarts, where the VMI needs one. */
  readonly backendStorageClaim?: string;
  /** Pull secret of the launcher image itself. */
  readonly imagePullSecret?: string;
  /** For clusters whose configuration names no profile; the runtime's own unless 'none'. */
  readonly defaultSeccomp?: 'RuntimeDefault' | 'none';
  readonly skipBackupHooks?: boolean;
}
