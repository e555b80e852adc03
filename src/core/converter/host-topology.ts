// The node's NUMA cells as virt-handler sends them with a sync.

export interface HostCpu {
  readonly id: number;
  /** Hardware threads of the same core, this one included; empty when the node tells none. */
  readonly siblings: readonly number[];
}

export interface HostCell {
  readonly id: number;
  readonly cpus: readonly HostCpu[];
  readonly distances: readonly { readonly id: number; readonly value: number }[];
}

export interface HostTopology {
  readonly cells: readonly HostCell[];
}
