// One recorded case as it comes in: what was given to the reference, without what it answered.

export interface OracleCase {
  readonly id: string;
  readonly op?: string;
  /** The object under test (VMI, VM, …). */
  readonly object?: unknown;
  readonly old?: unknown;
  readonly params?: Record<string, unknown>;
  /** Surrounding objects: PVCs, namespaces, instancetypes, the KubeVirt configuration. */
  readonly env?: unknown;
  readonly config?: unknown;
  readonly [field: string]: unknown;
}
